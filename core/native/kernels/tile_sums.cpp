// Sums of many Pauli strings in few passes over a state, all in float64. States are real and imaginary parts in turn.
//
// A *tile* is the amplitudes of an index whose bits in a mask take all values. All strings that mix bits of the tile
// alone are summed while it is in cache. A string without signs, such as X or Y, is a dot product of the tile with itself,
// made in pieces that the first cache holds. For others the products of pairs are written, and halved bit by bit: added
// for strings without Z on the bit, subtracted for those with it. Strings share what they have in common, so that 1,000 of
// them take a Walsh-Hadamard transform, and each has the same sum in any company. As in sums.cpp a state is divided into
// units that depend on its size alone, and sums depend neither on threads nor on the width of vectors.

#include <bit>
#include <utility>

#include "base/array.hpp"
#include "base/export.hpp"
#include "base/index_bits.hpp"
#include "base/ranges.hpp"
#include "base/vector.hpp"
#include "kernels/sums.hpp"

namespace qx::QX_SET {
namespace {

using sums::Tiles;

constexpr Int group = 8;             // neighbours that are one vector; no tile has fewer
constexpr Int most = Int{1} << 10;  // amplitudes of a piece: 16 KiB
typedef double Eight __attribute__((vector_size(group * sizeof(double))));

template <int x, std::size_t... lane>
QX_INLINE Eight flipped(Eight value, std::index_sequence<lane...>) {
    return __builtin_shufflevector(value, value, (lane ^ x)...);
}

template <int x>
QX_INLINE Eight flipped(Eight value) {
    return flipped<x>(value, std::make_index_sequence<group>());
}

// Returns the sum of the lanes, the highest bit of a lane first.
double summed(Eight value) {
    value += flipped<4>(value);
    value += flipped<2>(value);
    return value[0] + value[1];
}

// The amplitudes of a tile, in vectors of neighbours, and room for the products of its pairs.
struct Tile {
    int low;
    Int size, piece;
    Array<Int> places;  // of the runs of neighbours in it
    Array<Eight> memory;
    Eight *reals, *imags, *products;

    explicit Tile(Int mask)
        : low(std::countr_one(static_cast<std::uint64_t>(mask))), size(Int{1} << ones(mask)),
          piece(size < most ? size : most), places(size >> low), memory(3 * size / group) {
        for (Int run = 0; run < places.size(); ++run) places[run] = placed(run << low, mask);
        reals = memory.begin(), imags = reals + size / group, products = imags + size / group;
    }

    template <class Real>
    void load(const Real* state, Int begin, Int end) {
        const Int length = Int{1} << low < end - begin ? Int{1} << low : end - begin;
        auto *real = reinterpret_cast<double*>(reals), *imag = reinterpret_cast<double*>(imags);
        for (Int first = begin; first < end; first += length) {
            const Real* from = state + 2 * (places[first >> low] + (first & ((Int{1} << low) - 1)));
            for (Int j = 0; j < length; ++j) real[first + j] = from[2 * j], imag[first + j] = from[2 * j + 1];
        }
    }
};

// The pairs of amplitudes i and i XOR x from `begin` to `end`, in vectors; `low` is x within a vector. Where x has bits
// above that, each pair comes once, and so counts twice.
struct Pairs {
    Int begin, end, half, high;

    Pairs(Int x, Int first, Int last)
        : begin(first / group), end(last / group),
          half(x < group ? end - begin : static_cast<Int>(std::bit_floor(static_cast<std::uint64_t>(x))) / group),
          high(x / group) {}
};

// Returns the sum of the real, or the imaginary, parts of conj(a[i XOR x])·a[i] over some pairs.
template <int low, bool imaginary>
double dot(const Tile& tile, const Pairs& pairs) {
    Eight one{}, other{};
    for (Int first = pairs.begin; first < pairs.end; first += 2 * pairs.half)
        for (Int j = first; j < first + pairs.half; ++j) {
            const Eight real = flipped<low>(tile.reals[j ^ pairs.high]), imag = flipped<low>(tile.imags[j ^ pairs.high]);
            one += real * (imaginary ? tile.imags[j] : tile.reals[j]);
            other += imag * (imaginary ? tile.reals[j] : tile.imags[j]);
        }
    return (pairs.high ? 2 : 1) * summed(imaginary ? one - other : one + other);
}

// Writes those parts, side by side, and returns how many vectors they are.
template <int low, bool imaginary>
Int write(const Tile& tile, const Pairs& pairs) {
    Eight* out = tile.products;
    const double times = pairs.high ? 2 : 1;
    for (Int first = pairs.begin; first < pairs.end; first += 2 * pairs.half)
        for (Int j = first; j < first + pairs.half; ++j) {
            const Eight real = flipped<low>(tile.reals[j ^ pairs.high]), imag = flipped<low>(tile.imags[j ^ pairs.high]);
            *out++ = times *
                     (imaginary ? real * tile.imags[j] - imag * tile.reals[j] : real * tile.reals[j] + imag * tile.imags[j]);
        }
    return out - tile.products;
}

struct Kind {
    double (*dot)(const Tile&, const Pairs&);
    Int (*write)(const Tile&, const Pairs&);
};

template <std::size_t... low>
const Kind* kinds(bool imaginary, std::index_sequence<low...>) {
    static constexpr Kind of[2][group]{{{dot<low, false>, write<low, false>}...}, {{dot<low, true>, write<low, true>}...}};
    return of[imaginary];
}

// Sums over one tile after the other, of the strings of a form.
struct Sums {
    const Tiles& of;
    Tile tile;
    Array<double> found;  // of each string
    Eight signs[group];   // (−1)^parity(lane & z)

    explicit Sums(const Tiles& form) : of(form), tile(form.mask), found(form.firsts[form.num_groups]) {
        for (Int z = 0; z < group; ++z)
            for (Int lane = 0; lane < group; ++lane) signs[z][lane] = odd(lane & z) ? -1.0 : 1.0;
    }

    const Kind& kind(Int k) const {
        return kinds(of.imaginary[k], std::make_index_sequence<group>())[of.xs[k] & (group - 1)];
    }

    // Whether the strings of a group are one, without signs.
    bool plain(Int k) const { return of.firsts[k + 1] - of.firsts[k] == 1 && !of.inside[of.firsts[k]]; }

    // Returns the first string that has Z on a bit, on which their order depends.
    Int divided(Int bit, Int first, Int last) const {
        while (first < last) {
            const Int middle = (first + last) / 2;
            if (of.inside[middle] & bit) last = middle;
            else first = middle + 1;
        }
        return first;
    }

    // Sums products with the signs of each string from `first` to `last`, which are in the order of their Z-parts.
    void halve(Eight* values, Int length, Int first, Int last) {
        for (; length > 1; length /= 2) {
            const Int half = length / 2, bit = half * group;
            const Int middle = divided(bit, first, last);
            Eight* high = values + half;
            if (middle == last)
                for (Int j = 0; j < half; ++j) values[j] += high[j];
            else if (middle == first)
                for (Int j = 0; j < half; ++j) values[j] -= high[j];
            else {
                for (Int j = 0; j < half; ++j) {
                    const Eight a = values[j], b = high[j];
                    values[j] = a + b, high[j] = a - b;
                }
                halve(high, half, middle, last);
                last = middle;
            }
        }
        for (Int k = first; k < last; ++k) found[k] = summed(*values * signs[of.inside[k] & (group - 1)]);
    }

    // Sums all strings over the tile at `state`.
    template <class Real>
    void sum(const Real* state) {
        for (Int k = 0; k < of.num_groups; ++k) found[of.firsts[k]] = 0.0;
        for (Int begin = 0; begin < tile.size; begin += tile.piece) {
            tile.load(state, begin, begin + tile.piece);
            for (Int k = 0; k < of.num_groups; ++k)
                if (plain(k) && of.xs[k] < tile.piece)
                    found[of.firsts[k]] += kind(k).dot(tile, {of.xs[k], begin, begin + tile.piece});
        }
        for (Int k = 0; k < of.num_groups; ++k) {
            const Pairs all(of.xs[k], 0, tile.size);
            if (!plain(k)) halve(tile.products, kind(k).write(tile, all), of.firsts[k], of.firsts[k + 1]);
            else if (of.xs[k] >= tile.piece) found[of.firsts[k]] = kind(k).dot(tile, all);
        }
    }
};

template <class Real>
void tile_paulis(const Real* state, const Tiles& of, Int first, Int last, double* out) {
    Sums sums(of);
    const Int size = Int{1} << of.num_bits, rest = (size - 1) & ~of.mask;
    const Int length = size / sums.tile.size / of.units, strings = of.firsts[of.num_groups];
    for (Int number = first; number < last; ++number) {
        const Int row = number / of.units, unit = number % of.units;
        double* to = out + number * strings;
        for (Int k = 0; k < strings; ++k) to[k] = 0.0;
        Int base = placed(unit * length, rest);
        for (Int tile = 0; tile < length; ++tile, base = next_placed(base, rest)) {
            sums.sum(state + 2 * (row * size + base));
            for (Int k = 0; k < strings; ++k) to[k] += odd(base & of.outside[k]) ? -sums.found[k] : sums.found[k];
        }
    }
}

}  // namespace
}  // namespace qx::QX_SET

// Items are units of rows. out: [units, strings], of each string the part that is not 0.
QX_EXPORT_SET(tile_paulis, (const void* state, qx::Int single, const qx::sums::Tiles* of, double* out, qx::Int size,
                            qx::Int each, qx::Int chunk, qx::Int threads, qx::Int slice)) {
    return qx::in_ranges({size, each, chunk, threads, slice}, [=](qx::Int first, qx::Int last) {
        if (single) qx::QX_SET::tile_paulis(static_cast<const float*>(state), *of, first, last, out);
        else qx::QX_SET::tile_paulis(static_cast<const double*>(state), *of, first, last, out);
    });
}
