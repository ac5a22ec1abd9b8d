// Dense blocks on two or three row bits that are given as rotations and phases; see planner/blocks/turned.hpp.
#pragma once

#include <cmath>

#include "kernels/rows/rows.hpp"

namespace qx::QX_SET {

// Applies a block but for its flips and its scale to the real and imaginary parts of its rows: numbers or vectors of them.
// number(k): one of `TurnedBlock`.
template <int bits, bool whole, class Value, class Number>
QX_INLINE void apply_turned(Value* x, Value* y, const Number& number) {
    using Block = TurnedBlock<bits>;
    const auto turn = [](Value& a, Value& b, Value s, Value t) __attribute__((always_inline)) {
        const Value was = a;
        a = a - s * b;
        b = b + t * was;
    };
    int next = 0;
#pragma clang loop unroll(full)
    for (int k = 0; k < Block::rotations; ++k) {
        const RowRotation it = Block::order.at[k];
        if (it.phase) turn(x[it.b], y[it.b], number(next), number(next)), ++next;
        turn(x[it.a], x[it.b], number(next), number(next + 1)), turn(y[it.a], y[it.b], number(next), number(next + 1));
        next += 2;
    }
#pragma clang loop unroll(full)
    for (int row = 1; row < Block::size; ++row, next += 2) {
        if (!Block::is_scaled(row, whole)) {
            turn(x[row], y[row], number(next + 1), number(next + 1));
            continue;
        }
        const Value re = number(next) * x[row], im = number(next) * y[row];
        const Value real = re - number(next + 1) * y[row];
        y[row] = im + number(next + 1) * x[row];
        x[row] = real;
    }
}

// Runs a block over rows. number(k): a vector of one of its numbers.
template <class Real, int bits, bool whole, class Offset, class Number>
QX_INLINE void run_turned_rows(Rows<Real> rows, const Offset* offsets, int flips, const Number& number) {
    constexpr int imag = sizeof(Vector<Real>), size = 1 << bits;
    Int from[size], to[size];
#pragma clang loop unroll(full)
    for (int k = 0; k < size; ++k) from[k] = offsets[k], to[k] = offsets[k ^ flips];
    rows.each([&](auto row) __attribute__((always_inline)) {
        Vector<Real> x[size], y[size];
#pragma clang loop unroll(full)
        for (int k = 0; k < size; ++k) x[k] = at<Real>(row.at(from[k])), y[k] = at<Real>(row.at(from[k]) + imag);
        apply_turned<bits, whole>(x, y, number);
#pragma clang loop unroll(full)
        for (int k = 0; k < size; ++k) at<Real>(row.at(to[k])) = x[k], at<Real>(row.at(to[k]) + imag) = y[k];
    });
}

// Runs a block on two bits over rows. table: vectors of its numbers, and then of its flips and whether it is whole.
template <class Real>
inline void turned_pair(Rows<Real> rows, const Half* offsets, const char* table) {
    constexpr int vector = sizeof(Vector<Real>), count = TurnedBlock<2>::numbers;
    Vector<Real> numbers[count];
#pragma clang loop unroll(full)
    for (int k = 0; k < count; ++k) numbers[k] = at<Real>(table + k * vector);
    const auto number = [&](int k) __attribute__((always_inline)) { return numbers[k]; };
    const int flips = static_cast<int>(at<Real>(table + count * vector)[0]);
    if (at<Real>(table + (count + 1) * vector)[0] != 0) run_turned_rows<Real, 2, true>(rows, offsets, flips, number);
    else run_turned_rows<Real, 2, false>(rows, offsets, flips, number);
}

// Runs a block on three bits over rows. table: its numbers, and then its flips.
template <class Real>
inline void turned_triple(Rows<Real> rows, const Int* offsets, const Real* table) {
    const auto number = [&](int k) __attribute__((always_inline)) { return splat<Real>(table[k]); };
    run_turned_rows<Real, 3, true>(rows, offsets, static_cast<int>(table[TurnedBlock<3>::numbers]), number);
}

// Writes the coefficients of a block: its numbers, or, as a matrix, what it does with its scale. On two bits each is a
// vector, and a matrix is written row by row; on three bits they are scalars, and four rows of a matrix column by column.
template <class Real, int bits>
void write_turned(const TurnedBlock<bits>& block, bool as_matrix, Real* to) {
    constexpr int size = 1 << bits, wide = bits == 2 ? lanes<Real> : 1;
    const auto write = [&](int k, double value) {
        for (int lane = 0; lane < wide; ++lane) to[k * wide + lane] = static_cast<Real>(value);
    };
    if (!as_matrix) {
        for (int k = 0; k < block.numbers; ++k) write(k, block.number[k]);
        write(block.numbers, block.flips), write(block.numbers + 1, block.whole);
        return;
    }
    const auto number = [&](int k) { return block.number[k]; };
    for (int column = 0; column < size; ++column) {
        double x[size] = {}, y[size] = {};
        x[column] = block.real, y[column] = block.imag;
        if (block.whole != 0) apply_turned<bits, true>(x, y, number);
        else apply_turned<bits, false>(x, y, number);
        for (int k = 0; k < size; ++k) {
            const int row = k ^ static_cast<int>(block.flips);
            const int at = bits == 2 ? size * row + column : (row / 4 * size + column) * 4 + row % 4;
            write(2 * at, x[k]), write(2 * at + 1, y[k]);
        }
    }
}

}  // namespace qx::QX_SET
