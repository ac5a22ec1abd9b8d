// Products with matrices whose rows are 16 numbers: those of dense blocks.
//
// A dense block is the product of a few gates, each of which mixes some of its 16 rows. Real and imaginary parts stand apart
// while they are multiplied, so that a compiler makes vectors of them.
#pragma once

#include <cstdint>

namespace qx {

constexpr int row_size = 16, most_rows = 16;

// Writes the products of a matrix of `size` x `size` and `size` rows, `rest` times.
//
// load(k, r, re, im): writes row `k` of the r-th. entry(i, k, re, im): writes an entry of the matrix, unless it is 0, and
// returns whether it is not. out: rows of real and imaginary parts in turn, first all of the first row of the result.
template <class Integer, class Load, class Entry>
void multiply_rows(Integer size, Integer rest, const Load& load, const Entry& entry, double* out) {
    double re[most_rows][row_size], im[most_rows][row_size];
    for (Integer r = 0; r < rest; ++r) {
        for (Integer k = 0; k < size; ++k) load(k, r, re[k], im[k]);
        for (Integer i = 0; i < size; ++i) {
            double sum_re[row_size] = {}, sum_im[row_size] = {};
            for (Integer k = 0; k < size; ++k) {
                double a = 0, b = 0;
                if (!entry(i, k, a, b)) continue;
                for (int j = 0; j < row_size; ++j) {
                    sum_re[j] += a * re[k][j] - b * im[k][j];
                    sum_im[j] += a * im[k][j] + b * re[k][j];
                }
            }
            double* to = out + 2 * row_size * (i * rest + r);
            for (int j = 0; j < row_size; ++j) to[2 * j] = sum_re[j], to[2 * j + 1] = sum_im[j];
        }
    }
}

}  // namespace qx
