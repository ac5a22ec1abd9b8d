// H|psi> for sums H of Pauli strings, on one state or on every row of a batch, with <psi|H|psi> on the way.
//
// All strings with one X-part move amplitudes alike: (H psi)[i ^ x] = w_x(i) psi[i]. The weights w_x of a block of
// neighbours are a Walsh-Hadamard transform: a string adds its coefficient, with the sign of its bits above the block, at
// its bits inside.

#include "base/export.hpp"
#include "base/index_bits.hpp"
#include "base/ranges.hpp"
#include "base/vector.hpp"

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

constexpr Int group = 8;  // neighbours that are one vector
typedef double Eight __attribute__((vector_size(group * sizeof(double))));

// (-1)^parity(z & lane) for each lane and each z below 8.
Eight signs(Int z) {
    Eight out;
    for (Int lane = 0; lane < group; ++lane) out[lane] = odd(z & lane) ? -1.0 : 1.0;
    return out;
}

// The memory of one thread: the weights of an X-part, and the results of a block. Blocks of fewer than 8 amplitudes fill one
// vector in part.
struct Aside {
    Eight *reals, *imags, *out_reals, *out_imags;
};

Int vectors(Int block) { return block < group ? 1 : block / group; }

std::size_t aside_bytes(Int block) { return static_cast<std::size_t>(vectors(block)) * 4 * sizeof(Eight); }

// Replaces values[z] by the sum over z of (-1)^parity(z & i) values[z] for each i.
void transform(Eight* values, Int size) {
    for (Int half = 1; half < size; half *= 2) {
        for (Int first = 0; first < size; first += 2 * half) {
            for (Int j = first; j < first + half; ++j) {
                const Eight a = values[j], b = values[j + half];
                values[j] = a + b;
                values[j + half] = a - b;
            }
        }
    }
}

// What the weights of an X-part are at a block: all real, and the same for all vectors.
struct Weights {
    bool real, alike;
};

// Makes the weights of an X-part at the block from `from` on.
Weights weights(const PauliProducts& of, Int number, Int from, const Aside& to) {
    const Int inside = of.block - 1, count = vectors(of.block);
    Weights found{true, true};
    for (Int j = 0; j < 2 * count; ++j) to.reals[j] = Eight{};  // both parts, one behind the other
    for (Int k = number ? of.zs_end[number - 1] : 0; k < of.zs_end[number]; ++k) {
        const Int z = of.zs[k] & inside;
        const double sign = odd(from & of.zs[k] & ~inside) ? -1.0 : 1.0;
        const Eight pattern = signs(z & (group - 1)) * sign;
        to.reals[z / group] += pattern * of.coefficients[2 * k];
        to.imags[z / group] += pattern * of.coefficients[2 * k + 1];
        found.alike = found.alike && z < group;
        found.real = found.real && of.coefficients[2 * k + 1] == 0;
    }
    if (found.alike) return found;
    transform(to.reals, count);
    if (!found.real) transform(to.imags, count);
    return found;
}

template <class Real, int x, std::size_t... lane>
QX_INLINE void deinterleaved(const Real* from, Eight& real, Eight& imag, std::index_sequence<lane...>) {
    typedef Real Own __attribute__((vector_size(group * sizeof(Real))));
    Own low, high;
    std::memcpy(&low, from, sizeof(low));
    std::memcpy(&high, from + group, sizeof(high));
    real = __builtin_convertvector(__builtin_shufflevector(low, high, (2 * (lane ^ x))...), Eight);
    imag = __builtin_convertvector(__builtin_shufflevector(low, high, (2 * (lane ^ x) + 1)...), Eight);
}

template <int x, std::size_t... lane>
QX_INLINE Eight flipped(Eight value, std::index_sequence<lane...>) {
    return __builtin_shufflevector(value, value, (lane ^ x)...);
}

// Adds w_x psi to a block; from: the block that it comes from. x: the lowest three bits of the X-part, high: its other bits
// within a block, in vectors.
template <class Real, int x>
void add_block(const Real* from, Int high, Int count, Weights known, const Aside& aside) {
    constexpr auto lanes = std::make_index_sequence<group>();
    for (Int j = 0; j < count; ++j) {
        const Int k = j ^ high, w = known.alike ? 0 : k;
        Eight a, b;
        deinterleaved<Real, x>(from + 2 * group * k, a, b, lanes);
        const Eight real = flipped<x>(aside.reals[w], lanes);
        aside.out_reals[j] += real * a;
        aside.out_imags[j] += real * b;
        if (known.real) continue;
        const Eight imag = flipped<x>(aside.imags[w], lanes);
        aside.out_reals[j] -= imag * b;
        aside.out_imags[j] += imag * a;
    }
}

template <class Real, std::size_t... x>
void add_whole(Int low, const Real* from, Int high, Int count, Weights known, const Aside& aside,
               std::index_sequence<x...>) {
    ((low == Int{x} ? add_block<Real, x>(from, high, count, known, aside) : void()), ...);
}

// Adds w_x psi to the only block of a state of fewer than 8 amplitudes.
template <class Real>
void add_small(const Real* from, Int x, Int size, const Aside& aside) {
    for (Int j = 0; j < size; ++j) {
        const Int k = j ^ x;
        const double a = from[2 * k], b = from[2 * k + 1], real = aside.reals[0][k], imag = aside.imags[0][k];
        aside.out_reals[0][j] += real * a - imag * b;
        aside.out_imags[0][j] += real * b + imag * a;
    }
}

// What becomes of H|psi>: it is multiplied by a weight, and added to what is there or written.
struct Use {
    double weight;
    bool adds;
};

// Writes or adds one block of H|psi>, and returns its share of <psi|H|psi>.
template <class Real>
double product(const PauliProducts& of, Int sum, const Real* state, Int block, Real* out, Use use, const Aside& aside) {
    const Int inside = of.block - 1, count = vectors(of.block);
    for (Int j = 0; j < count; ++j) aside.out_reals[j] = aside.out_imags[j] = Eight{};
    for (Int number = sum ? of.xs_end[sum - 1] : 0; number < of.xs_end[sum]; ++number) {
        const Int x = of.xs[number], from = block ^ (x & ~inside);
        const Weights known = weights(of, number, from, aside);
        if (of.block < group) add_small(state + 2 * from, x & inside, of.block, aside);
        else
            add_whole(x & (group - 1), state + 2 * from, (x & inside) / group, count, known, aside,
                      std::make_index_sequence<group>());
    }
    double value = 0;
    for (Int j = 0; j < of.block; ++j) {
        const double real = aside.out_reals[j / group][j % group], imag = aside.out_imags[j / group][j % group];
        const Real* at = state + 2 * (block + j);
        Real* to = out + 2 * (block + j);
        value += real * static_cast<double>(at[0]) + imag * static_cast<double>(at[1]);
        to[0] = static_cast<Real>((use.adds ? static_cast<double>(to[0]) : 0.0) + use.weight * real);
        to[1] = static_cast<Real>((use.adds ? static_cast<double>(to[1]) : 0.0) + use.weight * imag);
    }
    return value;
}

// Works on items: blocks of rows. weights: null, or [rows, sums]. values: [items, sums].
template <class Real>
Int products(const PauliProducts& of, const Real* states, Real* out, const double* weights, bool adds, double* values,
             const Ranges& ranges) {
    const Int blocks = of.size / of.block;
    return in_ranges(ranges, [=, &of](Int first, Int last) {
        char* memory = scratch(aside_bytes(of.block));
        const Int count = vectors(of.block);
        auto* at = reinterpret_cast<Eight*>(memory);
        const Aside aside{at, at + count, at + 2 * count, at + 3 * count};
        for (Int item = first; item < last; ++item) {
            const Int row = item / blocks, block = item % blocks * of.block;
            for (Int sum = 0; sum < of.num_sums; ++sum) {
                const Int number = row * of.num_sums + sum;
                Real* to = out + 2 * (weights ? row : number) * of.size;
                const Use use{weights ? weights[number] : 1.0, adds || (weights && sum > 0)};
                values[item * of.num_sums + sum] = product(of, sum, states + 2 * row * of.size, block, to, use, aside);
            }
        }
    });
}

}  // namespace
}  // namespace qx::QX_SET

// Writes H|psi> for each row and sum, [rows, sums, size], and the shares of all blocks of <psi|H|psi>. weights: null, or
// [rows, sums], with which sums are added up to [rows, size]. adds: whether results are added to what is there.
QX_EXPORT_SET(pauli_products,
              (const void* states, qx::Int single, const qx::sums::PauliProducts* of, void* out, const double* weights,
               qx::Int adds, double* values, qx::Int size, qx::Int each, qx::Int chunk, qx::Int threads, qx::Int slice)) {
    const qx::Ranges ranges{size, each, chunk, threads, slice, qx::QX_SET::aside_bytes(of->block)};
    if (single)
        return qx::QX_SET::products(*of, static_cast<const float*>(states), static_cast<float*>(out), weights, adds != 0,
                                    values, ranges);
    return qx::QX_SET::products(*of, static_cast<const double*>(states), static_cast<double*>(out), weights, adds != 0,
                                values, ranges);
}
