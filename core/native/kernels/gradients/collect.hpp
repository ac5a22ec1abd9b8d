// The derivatives of a sum over rows with respect to the coefficients of an instruction: for each coefficient the products
// of what it multiplies, in one state, and of the cotangent of what it is added to, in another.
//
// For outputs y = C x, whose cotangents are l, the cotangent of C is the sum of l x^T over all rows. Rows, offsets and
// tables are those of the operation itself (rows.hpp); sums stand where that has its coefficients.
#pragma once

#include "kernels/rows/rows.hpp"

namespace qx::QX_SET {

// What is read: rows of a state before an instruction, the rows of cotangents after it in the tile at `other`, and the sums,
// where a table of coefficients would be.
template <class Real>
struct Collected {
    Rows<Real> rows;
    char* other;
    Table sums;
};

// Adds a vector to sum `k`, which has a number for each lane, or one for all of them.
template <class Real, bool per_lane>
QX_INLINE void add_to(char* sums, int k, Vector<Real> value) {
    if constexpr (per_lane) {
        at<Real>(sums + static_cast<std::size_t>(k) * sizeof(value)) += value;
    } else {
        Real total = 0;
        for (int lane = 0; lane < lanes<Real>; ++lane) total += value[lane];
        reinterpret_cast<Real*>(sums)[k] += total;
    }
}

// Calls `operation(row, cotangents, add)` for all rows, where add(k, vector) adds to sum `k` of the row. Sums that rows
// share are in registers until the end.
template <class Real, int count, bool per_lane, class Operation>
QX_INLINE void collect(Collected<Real> of, const Operation& operation) {
    auto beside = [&](auto place) __attribute__((always_inline)) { return place.base = of.other, place; };
    if (of.sums.low != nullptr) {
        return of.rows.each([&](auto place) __attribute__((always_inline)) {
            char* own = const_cast<char*>(of.sums.template of<Real>(place.row));
            operation(place, beside(place), [=](int k, Vector<Real> value) __attribute__((always_inline)) {
                add_to<Real, per_lane>(own, k, value);
            });
        });
    }
    Vector<Real> shared[count] = {};
    of.rows.each([&](auto place) __attribute__((always_inline)) {
        operation(place, beside(place),
                  [&](int k, Vector<Real> value) __attribute__((always_inline)) { shared[k] += value; });
    });
#pragma clang loop unroll(full)
    for (int k = 0; k < count; ++k) add_to<Real, per_lane>(const_cast<char*>(of.sums.at), k, shared[k]);
}

// Of a complex matrix, output by output, so that all sums are in registers; see `complex_matrix`.
template <class Real, int size>
inline void collect_complex(Collected<Real> of, const Half* offsets) {
    constexpr int imag = sizeof(Vector<Real>);
    Int to[size];
#pragma clang loop unroll(full)
    for (int k = 0; k < size; ++k) to[k] = offsets[k];
    for (int r = 0; r < size; ++r, of.sums.at += 2 * size * imag) {
        const Int from = offsets[r];
        collect<Real, 2 * size, true>(of, [&](auto row, auto other, auto add) __attribute__((always_inline)) {
            Vector<Real> p = at<Real>(other.at(from)), q = at<Real>(other.at(from) + imag);
#pragma clang loop unroll(full)
            for (int k = 0; k < size; ++k) {
                Vector<Real> x = at<Real>(row.at(to[k])), y = at<Real>(row.at(to[k]) + imag);
                add(2 * k, p * x + q * y);
                add(2 * k + 1, q * x - p * y);
            }
        });
    }
}

// Of real matrices on planes; see `real_matrix`.
template <class Real, int size, int matrices>
inline void collect_real(Collected<Real> of, const Half* offsets) {
    Int to[size * matrices];
#pragma clang loop unroll(full)
    for (int k = 0; k < size * matrices; ++k) to[k] = offsets[k];
    collect<Real, size * size * matrices, true>(of, [&](auto row, auto other, auto add) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
        for (int m = 0; m < matrices; ++m) {
#pragma clang loop unroll(full)
            for (int r = 0; r < size; ++r) {
                Vector<Real> cotangent = at<Real>(other.at(to[m * size + r]));
#pragma clang loop unroll(full)
                for (int k = 0; k < size; ++k)
                    add((m * size + r) * size + k, cotangent * at<Real>(row.at(to[m * size + k])));
            }
        }
    });
}

// Of real numbers that scale rows.
template <class Real, bool per_lane>
inline void collect_scale(Collected<Real> of) {
    constexpr int imag = sizeof(Vector<Real>);
    collect<Real, 1, per_lane>(of, [](auto row, auto other, auto add) __attribute__((always_inline)) {
        add(0, at<Real>(other.at(0)) * at<Real>(row.at(0)) + at<Real>(other.at(0) + imag) * at<Real>(row.at(0) + imag));
    });
}

// Of a larger matrix, whose coefficients are column by column for four outputs at a time; see `dense`.
template <class Real, bool per_lane>
inline void collect_dense(Collected<Real> of, const Int* offsets, Int size) {
    constexpr int number = per_lane ? sizeof(Vector<Real>) : sizeof(Real), imag = sizeof(Vector<Real>);
    of.rows.each([&](auto place) {
        auto other = place;
        other.base = of.other;
        char* sums = const_cast<char*>(of.sums.low ? of.sums.template of<Real>(place.row) : of.sums.at);
        for (Int group = 0; group < size; group += 4) {
            for (Int column = 0; column < size; ++column, sums += 8 * number) {
                Vector<Real> x = at<Real>(place.at(offsets[column])), y = at<Real>(place.at(offsets[column]) + imag);
                for (int k = 0; k < 4; ++k) {
                    const char* output = other.at(offsets[group + k]);
                    Vector<Real> p = at<Real>(output), q = at<Real>(output + imag);
                    add_to<Real, per_lane>(sums, 2 * k, p * x + q * y);
                    add_to<Real, per_lane>(sums, 2 * k + 1, q * x - p * y);
                }
            }
        }
    });
}

// Multiplies `size` rows of a cotangent by a complex matrix, adds to its sums if they are wanted, and for the last cotangent
// multiplies the rows of the state, too: all while these are in registers, since in a tile loads and stores take the time.
// table: the coefficients, of which rows select blocks as they do of sums.
template <class Real, int size, bool per_lane, bool wanted, bool last>
inline void pass_complex(Collected<Real> of, const Half* offsets, const char* table) {
    constexpr int imag = sizeof(Vector<Real>), count = 2 * size * size;
    Int to[size];
#pragma clang loop unroll(full)
    for (int k = 0; k < size; ++k) to[k] = offsets[k];
    auto multiplied = [&](auto place, auto c, const Vector<Real>* x, const Vector<Real>* y, Vector<Real>* re,
                          Vector<Real>* im) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
        for (int r = 0; r < size; ++r) {
            re[r] = im[r] = Vector<Real>{};
#pragma clang loop unroll(full)
            for (int k = 0; k < size; ++k) {
                Vector<Real> p = c(2 * (r * size + k)), q = c(2 * (r * size + k) + 1);
                re[r] += p * x[k];
                im[r] += p * y[k];
                re[r] -= q * y[k];
                im[r] += q * x[k];
            }
            at<Real>(place.at(to[r])) = re[r];
            at<Real>(place.at(to[r]) + imag) = im[r];
        }
    };
    auto load = [&](auto place, Vector<Real>* x, Vector<Real>* y) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
        for (int k = 0; k < size; ++k) x[k] = at<Real>(place.at(to[k])), y[k] = at<Real>(place.at(to[k]) + imag);
    };
    auto pass = [&](auto place, auto c, [[maybe_unused]] auto add) __attribute__((always_inline)) {
        auto other = place;
        other.base = of.other;
        Vector<Real> x[size], y[size], p[size], q[size], re[size], im[size];
        load(other, p, q);
        multiplied(other, c, p, q, re, im);
        if constexpr (wanted || last) load(place, x, y);
        if constexpr (wanted) {
#pragma clang loop unroll(full)
            for (int r = 0; r < size; ++r) {
#pragma clang loop unroll(full)
                for (int k = 0; k < size; ++k) {
                    add(2 * (r * size + k), re[r] * x[k] + im[r] * y[k]);
                    add(2 * (r * size + k) + 1, im[r] * x[k] - re[r] * y[k]);
                }
            }
        }
        if constexpr (last) multiplied(place, c, x, y, re, im);
    };
    if (of.sums.low != nullptr) {
        return of.rows.each([&](auto place) __attribute__((always_inline)) {
            const char* own = of.sums.template of<Real>(place.row);
            const char* numbers = table + (own - of.sums.at);
            pass(
                place, [=](int k) __attribute__((always_inline)) { return coefficient<Real, per_lane>(numbers, k); },
                [=](int k, Vector<Real> value)
                    __attribute__((always_inline)) { add_to<Real, per_lane>(const_cast<char*>(own), k, value); });
        });
    }
    Vector<Real> numbers[count], sums[count] = {};
#pragma clang loop unroll(full)
    for (int k = 0; k < count; ++k) numbers[k] = coefficient<Real, per_lane>(table, k);
    of.rows.each([&](auto place) __attribute__((always_inline)) {
        pass(
            place, [&](int k) __attribute__((always_inline)) { return numbers[k]; },
            [&](int k, Vector<Real> value) __attribute__((always_inline)) { sums[k] += value; });
    });
    if constexpr (!wanted) return;
#pragma clang loop unroll(full)
    for (int k = 0; k < count; ++k) add_to<Real, per_lane>(const_cast<char*>(of.sums.at), k, sums[k]);
}

// The same, chosen when it runs.
template <class Real, int size, bool per_lane>
inline void pass_complex(Collected<Real> of, const Half* offsets, const char* table, bool wanted, bool last) {
    if (wanted && last) return pass_complex<Real, size, per_lane, true, true>(of, offsets, table);
    if (wanted) return pass_complex<Real, size, per_lane, true, false>(of, offsets, table);
    if (last) return pass_complex<Real, size, per_lane, false, true>(of, offsets, table);
    return pass_complex<Real, size, per_lane, false, false>(of, offsets, table);
}

}  // namespace qx::QX_SET
