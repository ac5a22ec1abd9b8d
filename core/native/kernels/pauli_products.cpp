// H|psi> for sums H of Pauli strings, on one state or on every row of a batch, with <psi|H|psi> on the way.
//
// All strings with one X-part move amplitudes alike: (H psi)[i ^ x] = w_x(i) psi[i]. The weights w_x of a block of
// neighbours are a Walsh-Hadamard transform: a string adds its coefficient, with the sign of its bits above the block, at
// its bits inside.

#include "base/export.hpp"
#include "base/index_bits.hpp"
#include "base/ranges.hpp"

namespace qx::sums {

// The strings of some sums, in three levels of arrays: sum k has the X-parts xs[xs_end[k - 1]] up to xs_end[k], and X-part x
// the strings from zs_end[x - 1] up to zs_end[x], each with a Z-part and a coefficient, real and imaginary part. block: the
// amplitudes of a block, a power of two. A row has `size` amplitudes.
struct PauliProducts {
    Int size, block, num_sums;
    const Int *xs_end, *xs, *zs_end, *zs;
    const double* coefficients;
};

}  // namespace qx::sums

namespace qx::QX_SET {
namespace {

using sums::PauliProducts;

// Replaces values[z] by the sum over z of (-1)^parity(z & i) values[z] for each i.
void transform(double* values, Int size) {
    for (Int half = 1; half < size; half *= 2) {
        for (Int first = 0; first < size; first += 2 * half) {
            for (Int j = first; j < first + half; ++j) {
                const double a = values[j], b = values[j + half];
                values[j] = a + b;
                values[j + half] = a - b;
            }
        }
    }
}

// The memory of one thread: the weights of an X-part, and the results of a block.
struct Aside {
    double *reals, *imags, *out_reals, *out_imags;
};

std::size_t aside_bytes(Int block) { return static_cast<std::size_t>(block) * 4 * sizeof(double); }

// Makes the weights of an X-part at the block from `from` on; returns whether they are real.
bool weights(const PauliProducts& of, Int number, Int from, const Aside& to) {
    const Int inside = of.block - 1;
    for (Int j = 0; j < 2 * of.block; ++j) to.reals[j] = 0;  // both parts, one behind the other
    bool real = true;
    for (Int k = number ? of.zs_end[number - 1] : 0; k < of.zs_end[number]; ++k) {
        const double sign = odd(from & of.zs[k] & ~inside) ? -1.0 : 1.0;
        to.reals[of.zs[k] & inside] += sign * of.coefficients[2 * k];
        to.imags[of.zs[k] & inside] += sign * of.coefficients[2 * k + 1];
        real = real && of.coefficients[2 * k + 1] == 0;
    }
    transform(to.reals, of.block);
    if (!real) transform(to.imags, of.block);
    return real;
}

// Writes one block of H|psi>, and returns its share of <psi|H|psi>.
template <class Real>
double product(const PauliProducts& of, Int sum, const Real* state, Int block, Real* out, const Aside& aside) {
    const Int inside = of.block - 1;
    for (Int j = 0; j < of.block; ++j) aside.out_reals[j] = aside.out_imags[j] = 0;
    for (Int number = sum ? of.xs_end[sum - 1] : 0; number < of.xs_end[sum]; ++number) {
        const Int x = of.xs[number], from = block ^ (x & ~inside);
        const bool real = weights(of, number, from, aside);
        const Real* source = state + 2 * from;
        for (Int j = 0; j < of.block; ++j) {
            const Int k = j ^ (x & inside);
            const double a = source[2 * k], b = source[2 * k + 1];
            aside.out_reals[j] += aside.reals[k] * a;
            aside.out_imags[j] += aside.reals[k] * b;
            if (real) continue;
            aside.out_reals[j] -= aside.imags[k] * b;
            aside.out_imags[j] += aside.imags[k] * a;
        }
    }
    double value = 0;
    for (Int j = 0; j < of.block; ++j) {
        value += aside.out_reals[j] * static_cast<double>(state[2 * (block + j)]) +
                 aside.out_imags[j] * static_cast<double>(state[2 * (block + j) + 1]);
        out[2 * (block + j)] = static_cast<Real>(aside.out_reals[j]);
        out[2 * (block + j) + 1] = static_cast<Real>(aside.out_imags[j]);
    }
    return value;
}

// Works on items: blocks of rows. values: [items, sums].
template <class Real>
Int products(const PauliProducts& of, const Real* states, Real* out, double* values, const Ranges& ranges) {
    const Int blocks = of.size / of.block;
    return in_ranges(ranges, [=, &of](Int first, Int last) {
        char* memory = scratch(aside_bytes(of.block));
        double* at = reinterpret_cast<double*>(memory);
        const Aside aside{at, at + of.block, at + 2 * of.block, at + 3 * of.block};
        for (Int item = first; item < last; ++item) {
            const Int row = item / blocks, block = item % blocks * of.block;
            for (Int sum = 0; sum < of.num_sums; ++sum) {
                Real* to = out + 2 * (row * of.num_sums + sum) * of.size;
                values[item * of.num_sums + sum] = product(of, sum, states + 2 * row * of.size, block, to, aside);
            }
        }
    });
}

}  // namespace
}  // namespace qx::QX_SET

// Writes H|psi> for each row and sum, [rows, sums, size], and the shares of all blocks of <psi|H|psi>.
QX_EXPORT_SET(pauli_products, (const void* states, qx::Int single, const qx::sums::PauliProducts* of, void* out,
                               double* values, qx::Int size, qx::Int each, qx::Int chunk, qx::Int threads, qx::Int slice)) {
    const qx::Ranges ranges{size, each, chunk, threads, slice, qx::QX_SET::aside_bytes(of->block)};
    if (single)
        return qx::QX_SET::products(*of, static_cast<const float*>(states), static_cast<float*>(out), values, ranges);
    return qx::QX_SET::products(*of, static_cast<const double*>(states), static_cast<double*>(out), values, ranges);
}
