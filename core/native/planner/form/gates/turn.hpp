// Turns of one qubit, which may be a virtual one: two Pauli strings that anticommute, and -i times their product, are its X,
// Y and Z.
//
// A turn is w - i (x X + y Y + z Z), a unit quaternion, so nothing is lost of small angles. Any turn is three rotations
// about two axes in turn, then a Clifford operator, and of some choice of axes fewer rotations may do.
#pragma once

#include <array>

#include "base/int.hpp"
#include "planner/form/complex.hpp"

namespace qx::form {

// An angle as a multiple of π/2 and a rest above -π/4 and up to π/4; a rest up to `tolerance` is 0, and then what is off.
struct SplitAngle {
    int quarters = 0;  // modulo 8: exp(-iθ/2 P) has the period 4π
    double rest = 0;
    double off = 0;
};
SplitAngle split_angle(double angle, double tolerance);

struct Turn {
    double w = 1;
    std::array<double, 3> v{};  // of X, Y and Z

    // exp(-i angle/2 A) for axis 0, 1 or 2.
    static Turn about(int axis, double angle);
    // A unitary matrix [2, 2], times e^{-i phase}, which is written.
    static Turn of(const Complex* matrix, double& phase);

    // The product: `other` acts first.
    Turn operator*(const Turn& other) const;
    Turn inverse() const { return {w, {-v[0], -v[1], -v[2]}}; }
    // How far it is from another one, in the norm of operators, up to a factor.
    double distance(const Turn& other) const;
};

// A rotation about one of the axes.
struct AxisRotation {
    int axis = 0;
    double angle = 0;
};

// Returns rotations that make up a turn, in the order in which they act: about `axis`, the next one, and `axis` again.
std::array<AxisRotation, 3> whole_rotations(const Turn& turn, int axis);

// Rotations, of angles above -π/4 and up to π/4 that are not 0, and then quarter turns, in the order in which they act.
struct Rotations {
    struct Quarters {
        int axis, quarters;
    };
    std::array<AxisRotation, 3> generic;
    std::array<Quarters, 2> clifford;
    int num_generic = 0, num_clifford = 0;
    double off = 0;  // about how far they are from the turn that they were made for
};

// Returns the turn that some rotations make up.
Turn product(const Rotations& of);

// Returns rotations that make up a turn to within `tolerance`, which the turn is judged by and not its angles: the outer
// angles of a small turn about an axis between are nobody's business. The first of them is about `axis`.
Rotations rotations_from(const Turn& turn, int axis, double tolerance);

// Returns the fewest, of equal choices the one whose first axis comes first in `order`.
Rotations fewest_rotations(const Turn& turn, const std::array<int, 3>& order, double tolerance);

}  // namespace qx::form
