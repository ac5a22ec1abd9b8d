// Dense blocks on two row bits that are given as turns and phases; see planner/blocks/turned.hpp.
#pragma once

#include <cmath>

#include "kernels/rows/rows.hpp"

namespace qx::QX_SET {

// Applies a block but for its scale to the real and imaginary parts of four rows: numbers or vectors of them. number(k):
// one of `TurnedBlock`.
template <class Value, class Number>
QX_INLINE void apply_turned(Value* x, Value* y, const Number& number) {
    const auto turn = [](Value& a, Value& b, Value s, Value t) __attribute__((always_inline)) {
        const Value was = a;
        a = a - s * b;
        b = b + t * was;
    };
    for (Value* part : {x, y}) {
        turn(part[0], part[1], number(0), number(1)), turn(part[2], part[3], number(0), number(1));
        turn(part[0], part[2], number(2), number(3)), turn(part[1], part[3], number(2), number(3));
    }
#pragma clang loop unroll(full)
    for (int row = 1; row < 4; ++row) turn(x[row], y[row], number(3 + row), number(3 + row));
    turn(x[0], y[3], number(7), number(8)), turn(x[3], y[0], number(8), number(7));
    turn(x[1], y[2], number(9), number(10)), turn(x[2], y[1], number(10), number(9));
#pragma clang loop unroll(full)
    for (int row = 1; row < 3; ++row) turn(x[row], y[row], number(10 + row), number(10 + row));
    const Value re = number(13) * x[3], im = number(13) * y[3];
    const Value real = re - number(14) * y[3];
    y[3] = im + number(14) * x[3];
    x[3] = real;
}

// Runs a block over rows. table: vectors of its numbers, and then of its flips.
template <class Real>
inline void turned_block(Rows<Real> rows, const Half* offsets, const char* table) {
    constexpr int imag = sizeof(Vector<Real>), count = TurnedBlock::numbers;
    const int flips = static_cast<int>(at<Real>(table + count * imag)[0]);
    Int to[4];
#pragma clang loop unroll(full)
    for (int k = 0; k < 4; ++k) to[k] = offsets[k ^ flips];
    Vector<Real> numbers[count];
#pragma clang loop unroll(full)
    for (int k = 0; k < count; ++k) numbers[k] = at<Real>(table + k * imag);
    rows.each([&](auto row) __attribute__((always_inline)) {
        Vector<Real> x[4], y[4];
#pragma clang loop unroll(full)
        for (int k = 0; k < 4; ++k) x[k] = at<Real>(row.at(to[k])), y[k] = at<Real>(row.at(to[k]) + imag);
        apply_turned(x, y, [&](int k) __attribute__((always_inline)) { return numbers[k]; });
#pragma clang loop unroll(full)
        for (int k = 0; k < 4; ++k) at<Real>(row.at(to[k])) = x[k], at<Real>(row.at(to[k]) + imag) = y[k];
    });
}

// Writes the coefficients of a block: its numbers, or, as a matrix, what it does with its scale.
template <class Real>
void write_turned(const TurnedBlock& block, bool as_matrix, Real* to) {
    const auto splat = [&](int k, double value) {
        for (int lane = 0; lane < lanes<Real>; ++lane) to[k * lanes<Real> + lane] = static_cast<Real>(value);
    };
    if (!as_matrix) {
        for (int k = 0; k < TurnedBlock::numbers; ++k) splat(k, block.number[k]);
        return splat(TurnedBlock::numbers, block.flips);
    }
    const int flips = static_cast<int>(block.flips);
    for (int column = 0; column < 4; ++column) {
        double x[4] = {}, y[4] = {};
        x[column ^ flips] = block.real, y[column ^ flips] = block.imag;
        apply_turned(x, y, [&](int k) { return block.number[k]; });
        for (int row = 0; row < 4; ++row) {
            splat(2 * (4 * row + column), x[row ^ flips]);
            splat(2 * (4 * row + column) + 1, y[row ^ flips]);
        }
    }
}

}  // namespace qx::QX_SET
