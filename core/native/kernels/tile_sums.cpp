// Sums of many Pauli strings in few passes over a state, all in float64. States are real and imaginary parts in turn.
//
// A *tile* is the amplitudes of an index whose bits in a mask take all values. All strings that mix bits of the tile
// alone are summed while it is in cache. Products of pairs of amplitudes are summed over a tile with signs: for a few
// strings one after the other, and for many all at once, by a Walsh-Hadamard transform. As in sums.cpp a state is divided
// into units that depend on its size alone, and sums depend neither on threads nor on the width of vectors.

#include <bit>

#include "base/array.hpp"
#include "base/export.hpp"
#include "base/index_bits.hpp"
#include "base/ranges.hpp"
#include "kernels/sums.hpp"

namespace {

using qx::Int;
using qx::sums::Tiles;

constexpr Int few = 4;  // strings with one X-part that are summed one after the other

// The amplitudes of a tile, and room for the products of its pairs.
struct Tile {
    int bits, low;
    Int size;
    qx::Array<Int> places;  // of the runs of neighbours in it
    qx::Array<double> memory;
    double *reals, *imags, *products, *aside;

    explicit Tile(Int mask)
        : bits(qx::ones(mask)), low(std::countr_one(static_cast<std::uint64_t>(mask))), size(Int{1} << bits),
          places(size >> low), memory(4 * size) {
        for (Int run = 0; run < places.size(); ++run) places[run] = qx::placed(run << low, mask);
        reals = memory.begin(), imags = reals + size, products = imags + size, aside = products + size;
    }

    template <class Real>
    void load(const Real* state) {
        const Int length = Int{1} << low;
        for (Int run = 0; run < places.size(); ++run) {
            const Real* from = state + 2 * places[run];
            double *real = reals + run * length, *imag = imags + run * length;
            for (Int j = 0; j < length; ++j) real[j] = from[2 * j], imag[j] = from[2 * j + 1];
        }
    }

    void squares() {
        for (Int j = 0; j < size; ++j) products[j] = reals[j] * reals[j] + imags[j] * imags[j];
    }

    // Twice the real, or the imaginary, parts of conj(a[j XOR x])·a[j] for all j whose highest bit of x is 0.
    void pairs(Int x, bool imaginary) {
        const Int half = static_cast<Int>(std::bit_floor(static_cast<std::uint64_t>(x))), across = x & (half - 1);
        for (Int begin = 0, to = 0; begin < size; begin += 2 * half, to += half) {
            const double *real = reals + begin, *imag = imags + begin;
            const double *other_real = real + half, *other_imag = imag + half;
            double* out = products + to;
            if (imaginary)
                for (Int j = 0; j < half; ++j)
                    out[j] = 2 * (other_real[j ^ across] * imag[j] - other_imag[j ^ across] * real[j]);
            else
                for (Int j = 0; j < half; ++j)
                    out[j] = 2 * (other_real[j ^ across] * real[j] + other_imag[j ^ across] * imag[j]);
        }
    }
};

// Replaces values[z] by Σ_j (−1)^parity(j & z) · values[j], for all z.
void transform(double* values, Int length) {
    for (Int half = 1; half < length; half *= 2)
        for (Int begin = 0; begin < length; begin += 2 * half) {
            double *low = values + begin, *high = low + half;
            for (Int j = 0; j < half; ++j) {
                const double a = low[j], b = high[j];
                low[j] = a + b, high[j] = a - b;
            }
        }
}

// Returns Σ_j (−1)^parity(j & z) · values[j], the highest bit of j first.
double signed_sum(const double* values, Int length, Int z, double* aside) {
    for (Int half = length >> 1; half; half >>= 1, values = aside) {
        const double sign = z & half ? -1.0 : 1.0;
        for (Int j = 0; j < half; ++j) aside[j] = values[j] + sign * values[half + j];
    }
    return values[0];
}

// Adds to the sums of the strings with one X-part those whose sum is imaginary, or those whose sum is real.
void add(Tile& tile, const Tiles& of, Int part, Int base, bool imaginary, double* sums) {
    const Int x = of.xs[part], first = of.firsts[part], last = of.firsts[part + 1];
    const Int half = static_cast<Int>(std::bit_floor(static_cast<std::uint64_t>(x)));
    Int count = 0;
    for (Int k = first; k < last; ++k) count += qx::odd(x & of.inside[k]) == imaginary;
    if (!count) return;
    if (x) tile.pairs(x, imaginary);
    else tile.squares();
    const Int length = x ? tile.size / 2 : tile.size;
    if (count > few) transform(tile.products, length);
    for (Int k = first; k < last; ++k) {
        if (qx::odd(x & of.inside[k]) != imaginary) continue;
        Int z = of.inside[k];
        if (x) z = (z & (half - 1)) | (z >> 1 & -half);  // the pairs have no highest bit of x
        const double sum = count > few ? tile.products[z] : signed_sum(tile.products, length, z, tile.aside);
        sums[2 * k + imaginary] += qx::odd(base & of.outside[k]) ? -sum : sum;
    }
}

template <class Real>
void tile_paulis(const Real* state, const Tiles& of, Int first, Int last, double* out) {
    Tile tile(of.mask);
    const Int size = Int{1} << of.num_bits, rest = (size - 1) & ~of.mask;
    const Int length = size / tile.size / of.units, strings = of.firsts[of.num_parts];
    for (Int number = first; number < last; ++number) {
        const Int row = number / of.units, unit = number % of.units;
        double* sums = out + 2 * number * strings;
        for (Int k = 0; k < 2 * strings; ++k) sums[k] = 0.0;
        Int base = qx::placed(unit * length, rest);
        for (Int k = 0; k < length; ++k, base = qx::next_placed(base, rest)) {
            tile.load(state + 2 * (row * size + base));
            for (Int part = 0; part < of.num_parts; ++part)
                for (int imaginary = 0; imaginary < 2; ++imaginary) add(tile, of, part, base, imaginary, sums);
        }
    }
}

}  // namespace

// Items are units of rows. out: [units, strings, 2].
QX_EXPORT_SET(tile_paulis, (const void* state, Int single, const Tiles* of, double* out, Int size, Int each, Int chunk,
                            Int threads, Int slice)) {
    return qx::in_ranges({size, each, chunk, threads, slice}, [=](Int first, Int last) {
        if (single) tile_paulis(static_cast<const float*>(state), *of, first, last, out);
        else tile_paulis(static_cast<const double*>(state), *of, first, last, out);
    });
}
