// Axes of wires, in a frame in which turns of single wires are gone.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

// A unit vector: X, Y and Z of an operator of one wire whose square is 1.
using Axis = std::array<double, 3>;

inline double dot(const Axis& a, const Axis& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline Axis operator-(const Axis& a) { return {-a[0], -a[1], -a[2]}; }

// Returns 1 for an axis that is another one, -1 for its opposite, and 0 for all others. angle: of what is about it, of
// which a small one does not tell its axis as well. rounding: the square of what they may be apart.
inline int along(const Axis& a, const Axis& b, double angle = 1, double rounding = 1e-22) {
    constexpr double most = 1e-14;  // squares of what is but rounding
    const double sign = dot(a, b) < 0 ? -1 : 1;
    double off = 0;
    for (std::size_t k = 0; k < 3; ++k) off += (a[k] - sign * b[k]) * (a[k] - sign * b[k]);
    return off * std::min(1.0, angle * angle) < rounding && off < most ? static_cast<int>(sign) : 0;
}

// Whether a number is but rounding, and whether two turns are the same but for that.
inline bool is_none(Complex of) { return std::norm(of) < 1e-22; }
inline bool is_same(const Matrix2& a, const Matrix2& b) {
    for (std::size_t k = 0; k < 4; ++k)
        if (!is_none(a[k] - b[k])) return false;
    return true;
}

inline Matrix2 operator_about(const Axis& a) { return {a[2], {a[0], -a[1]}, {a[0], a[1]}, -a[2]}; }
// Returns the axis of U† A U, for the operator A of an axis.
Axis pulled(const Axis& axis, const Matrix2& turn);
// Returns a turn U with U† Z U the operator of an axis, whose rows begin with positive numbers where they are not 0.
Matrix2 to_z(const Axis& axis);
// Returns e^{i angle} where an operator is -1.
Matrix2 phase_about(const Axis& axis, double angle);

// A turn as e^{i phase} and a phase about an axis, so that the first is 1 where that can be.
struct AxisPhase {
    double phase = 0, angle = 0;
    Axis axis{0, 0, 1};
};
AxisPhase axis_phase(const Matrix2& turn);

// Axes of pieces: a phase e^{i angle} where the operators of all its wires are -1; or, of a parity, exp(-i angle/2 A…A).
struct AxisPiece {
    Mask wires = 0;
    std::vector<Axis> axes{};  // of the wires, the lowest one first
    double angle = 0;
    bool is_parity = false;
    std::size_t parts = 1;  // how much of what was read it is
    const Axis& axis_of(int wire) const { return axes[static_cast<std::size_t>(count(wires & below(wire)))]; }
};

}  // namespace qx::form
