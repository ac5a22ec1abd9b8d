// Dense blocks as rotations of two amplitudes and phases of one, behind a unitary matrix on each bit.
#pragma once

#include <complex>

#include "kernels/encoding.hpp"

namespace qx::plan {

using Complex = std::complex<double>;

constexpr double steepest = 1024;  // the largest tangent

// A matrix on one bit.
struct Small {
    Complex at[2][2] = {{1, 0}, {0, 1}};

    Small adjoint() const;
};

// Multiplies a matrix [size, size] by one of a bit, before it or behind it.
void multiply(Complex* matrix, int size, const Small& by, int bit, bool before);

// Whether a matrix [size, size] is unitary.
bool is_unitary(const Complex* matrix, int size);

// A unitary block as the rotations and phases of `TurnedBlock`, behind matrices on its bits. good: whether it is one.
template <int bits>
struct Factors {
    using Form = TurnedBlock<bits>;

    Factors() {}
    // flips: what number of row each row has.
    Factors(const Complex* matrix, int flips);

    // log2 of how much larger a bit's 1 gets unless the block is whole.
    double larger(int bit) const;

    bool good = false;
    int flips = 0;
    double phase[Form::rotations] = {}, tangent[Form::rotations] = {};
    Complex ends[Form::size];
    Small before[bits];
};

}  // namespace qx::plan
