// Operations on rows: each is written for one place and runs over all rows of an instruction.
#pragma once

#include "base/vector.hpp"
#include "kernels/encoding.hpp"

namespace qx::QX_SET {

// One row of an instruction, and those at an offset from it. `moved` rows may have bits of the offset themselves.
template <bool moved>
struct Place {
    char* base;
    Int row;

    QX_INLINE char* at(Int offset) const {
        if constexpr (moved) return base + (row ^ offset);
        return base + row + offset;
    }
};

// The rows that an instruction runs over: `first`, and all values of the bits in `free` or, where a CX was before, what
// some columns add to it. All of it is in bytes. An offset is XORed to a row, since positions may be any directions. It
// and `Table` are passed by value, so that they stay in registers while rows are written.
template <class Real>
struct Rows {
    static constexpr Int bytes = 2 * sizeof(Vector<Real>);
    char* base;
    const Int* steps;  // sums of the first columns, one more in each: what changes in counting up; nullptr for `free`
    Int free, first, count;

    template <class Function>
    QX_INLINE void each(const Function& function) const {
        if (steps == nullptr) {
            Int x = 0;
            for (Int k = 0; k < count; ++k) {
                function(Place<false>{base, x | first});
                x = (x | ~free) + 1 & free;
            }
            return;
        }
        Int row = first;
        for (auto k = static_cast<unsigned long long>(count - 1);; --k) {  // lowest bits change as in counting up
            function(Place<true>{base, row});
            if (!k) return;
            row ^= steps[__builtin_ctzll(k)];
        }
    }
};

// The coefficients of an instruction. If rows select theirs, the two tables give the offset in bytes of a row's block:
// low[its lowest bits] XOR high[the others].
struct Table {
    const char* at;
    const Int* low;  // nullptr: all rows have the same
    const Int* high;

    // row: in bytes.
    template <class Real>
    QX_INLINE const char* of(Int row) const {
        constexpr Int size = Rows<Real>::bytes;
        return at + (low[row / size & low_mask] ^ high[row / size >> low_rows]);
    }
};

// Coefficient `k`: a vector with a number for each lane, or one number for all lanes.
template <class Real, bool per_lane>
QX_INLINE Vector<Real> coefficient(const char* table, int k) {
    if constexpr (per_lane) return at<Real>(table + k * sizeof(Vector<Real>));
    return splat<Real>(reinterpret_cast<const Real*>(table)[k]);
}

// Calls `operation(place, c)` for all rows, where c(k) is coefficient `k` of the row. Those that rows share are loaded
// once, to stay in registers.
template <class Real, int count, bool per_lane, class Operation>
QX_INLINE void with_coefficients(Rows<Real> rows, Table table, const Operation& operation) {
    if (table.low != nullptr) {
        return rows.each([&](auto place) __attribute__((always_inline)) {
            const char* own = table.of<Real>(place.row);
            operation(place, [=](int k) { return coefficient<Real, per_lane>(own, k); });
        });
    }
    Vector<Real> shared[count];
#pragma clang loop unroll(full)
    for (int k = 0; k < count; ++k) shared[k] = coefficient<Real, per_lane>(table.at, k);
    rows.each([&](auto place) __attribute__((always_inline)) { operation(place, [&](int k) { return shared[k]; }); });
}

// Multiplies `size` rows by a complex matrix: coefficients are real and imaginary parts in turn, row by row.
template <class Real, int size, bool per_lane = true>
inline void complex_matrix(Rows<Real> rows, const Half* offsets, Table table) {
    constexpr int imag = sizeof(Vector<Real>);
    Int to[size];
#pragma clang loop unroll(full)
    for (int k = 0; k < size; ++k) to[k] = offsets[k];
    with_coefficients<Real, 2 * size * size, per_lane>(rows, table, [&](auto row, auto c) __attribute__((always_inline)) {
        Vector<Real> x[size], y[size];
#pragma clang loop unroll(full)
        for (int k = 0; k < size; ++k) {
            x[k] = at<Real>(row.at(to[k]));
            y[k] = at<Real>(row.at(to[k]) + imag);
        }
#pragma clang loop unroll(full)
        for (int r = 0; r < size; ++r) {
            Vector<Real> re{}, im{};
#pragma clang loop unroll(full)
            for (int k = 0; k < size; ++k) {
                Vector<Real> p = c(2 * (r * size + k)), q = c(2 * (r * size + k) + 1);
                re = k ? re + p * x[k] : p * x[k];
                im = k ? im + p * y[k] : p * y[k];
                re -= q * y[k];
                im += q * x[k];
            }
            at<Real>(row.at(to[r])) = re;
            at<Real>(row.at(to[r]) + imag) = im;
        }
    });
}

// Multiplies `size` planes by a real matrix, `matrices` times for different planes.
template <class Real, int size, int matrices>
inline void real_matrix(Rows<Real> rows, const Half* offsets, Table table) {
    Int to[size * matrices];
#pragma clang loop unroll(full)
    for (int k = 0; k < size * matrices; ++k) to[k] = offsets[k];
    with_coefficients<Real, size * size * matrices, true>(rows, table, [&](auto row, auto c) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
        for (int m = 0; m < matrices; ++m) {
            Vector<Real> x[size];
#pragma clang loop unroll(full)
            for (int k = 0; k < size; ++k) x[k] = at<Real>(row.at(to[m * size + k]));
#pragma clang loop unroll(full)
            for (int r = 0; r < size; ++r) {
                int first = (m * size + r) * size;
                Vector<Real> sum = c(first) * x[0];
#pragma clang loop unroll(full)
                for (int k = 1; k < size; ++k) sum += c(first + k) * x[k];
                at<Real>(row.at(to[m * size + r])) = sum;
            }
        }
    });
}

// Multiplies rows by real numbers.
template <class Real, bool per_lane>
inline void scale_real(Rows<Real> rows, Table table) {
    with_coefficients<Real, 1, per_lane>(rows, table, [](auto row, auto c) __attribute__((always_inline)) {
        at<Real>(row.at(0)) *= c(0);
        at<Real>(row.at(0) + sizeof(Vector<Real>)) *= c(0);
    });
}

// Exchanges the rows at two offsets.
template <class Real>
inline void exchange_rows(Rows<Real> rows, Int first, Int second) {
    rows.each([&](auto place) {
        char *one = place.at(first), *other = place.at(second);
        for (std::size_t plane = 0; plane < 2 * sizeof(Vector<Real>); plane += sizeof(Vector<Real>)) {
            Vector<Real> kept = at<Real>(one + plane);
            at<Real>(one + plane) = at<Real>(other + plane);
            at<Real>(other + plane) = kept;
        }
    });
}

template <class Real>
inline void copy_row(const char* from, char* to) {
    at<Real>(to) = at<Real>(from);
    at<Real>(to + sizeof(Vector<Real>)) = at<Real>(from + sizeof(Vector<Real>));
}

// Computes four rows of a complex matrix times `size` rows that follow each other; coefficients are column by column.
template <class Real, bool per_lane>
inline void four_outputs(const char* inputs, Int size, const char* matrix, char* const* outputs) {
    constexpr Int stride = 8 * (per_lane ? sizeof(Vector<Real>) : sizeof(Real));
    Vector<Real> re[4] = {}, im[4] = {};
    for (Int column = 0; column < size; ++column, inputs += Rows<Real>::bytes, matrix += stride) {
        Vector<Real> x = at<Real>(inputs), y = at<Real>(inputs + sizeof(x));
        for (int k = 0; k < 4; ++k) {
            Vector<Real> p = coefficient<Real, per_lane>(matrix, 2 * k), q = coefficient<Real, per_lane>(matrix, 2 * k + 1);
            re[k] += p * x;
            re[k] -= q * y;
            im[k] += p * y;
            im[k] += q * x;
        }
    }
    for (int k = 0; k < 4; ++k) {
        at<Real>(outputs[k]) = re[k];
        at<Real>(outputs[k] + sizeof(re[k])) = im[k];
    }
}

// Multiplies `size` rows by a larger matrix: they are copied aside, then four outputs at a time are summed up.
template <class Real, bool per_lane>
inline void dense(Rows<Real> rows, const Int* offsets, Int size, Table table, char* aside) {
    constexpr Int number = per_lane ? sizeof(Vector<Real>) : sizeof(Real);
    rows.each([&](auto place) {
        const char* matrix = table.low ? table.of<Real>(place.row) : table.at;
        for (Int k = 0; k < size; ++k) copy_row<Real>(place.at(offsets[k]), aside + k * Rows<Real>::bytes);
        for (Int group = 0; group < size; group += 4, matrix += 8 * size * number) {
            char* outputs[4];
            for (int k = 0; k < 4; ++k) outputs[k] = place.at(offsets[group + k]);
            four_outputs<Real, per_lane>(aside, size, matrix, outputs);
        }
    });
}

}  // namespace qx::QX_SET
