// Operations on one narrow state, as two planes: the real and the imaginary parts of its 2^n amplitudes.
//
// A plane is whole vectors of 8 numbers; what is behind the amplitudes of 1 and 2 wires is never mixed with them. Wires
// are given by the value of their index bit. A bit below 8 is a *lane bit*: its two amplitudes stand in one vector, and
// meet by a shuffle. All other pairs are the same lane of two vectors.
#pragma once

#include "base/index_bits.hpp"

#pragma clang diagnostic ignored "-Wpsabi"  // no vector is passed to another source

namespace qx::narrow {
namespace {

constexpr Int LANES = 8;

using Vector = double __attribute__((vector_size(64)));
using Lanes = long long __attribute__((vector_size(64)));

// Real and imaginary parts of complex numbers.
struct Complexes {
    Vector re, im;
};

inline Vector all(double value) { return Vector{} + value; }

inline Lanes numbered() { return Lanes{0, 1, 2, 3, 4, 5, 6, 7}; }

inline Vector chosen(Lanes where, Vector yes, Vector no) { return where ? yes : no; }

inline Complexes chosen(Lanes where, Complexes yes, Complexes no) {
    return {chosen(where, yes.re, no.re), chosen(where, yes.im, no.im)};
}

inline Complexes times(Complexes a, Complexes b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

inline Complexes operator+(Complexes a, Complexes b) { return {a.re + b.re, a.im + b.im}; }

inline double sum(Vector v) { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }

// Returns lane XOR `by` in each lane.
template <int by>
inline Vector swapped(Vector v) {
    return __builtin_shufflevector(v, v, 0 ^ by, 1 ^ by, 2 ^ by, 3 ^ by, 4 ^ by, 5 ^ by, 6 ^ by, 7 ^ by);
}

inline Complexes swapped(Complexes v, Int by) {
    switch (by) {
        case 1: return {swapped<1>(v.re), swapped<1>(v.im)};
        case 2: return {swapped<2>(v.re), swapped<2>(v.im)};
        case 3: return {swapped<3>(v.re), swapped<3>(v.im)};
        case 4: return {swapped<4>(v.re), swapped<4>(v.im)};
        case 5: return {swapped<5>(v.re), swapped<5>(v.im)};
        case 6: return {swapped<6>(v.re), swapped<6>(v.im)};
        case 7: return {swapped<7>(v.re), swapped<7>(v.im)};
        default: return v;
    }
}

// A state of 2^n amplitudes; re and im are on a cache line.
struct State {
    double *re, *im;
    Int size;

    Int vectors() const { return size < LANES ? 1 : size / LANES; }
    Complexes at(Int vector) const { return {*whole(re, vector), *whole(im, vector)}; }
    void set(Int vector, Complexes to) const {
        *whole(re, vector) = to.re;
        *whole(im, vector) = to.im;
    }

  private:
    // Planes are read and written as vectors and as numbers.
    using Aliased __attribute__((may_alias)) = Vector;
    static Aliased* whole(double* plane, Int vector) { return reinterpret_cast<Aliased*>(plane) + vector; }
};

// A complex matrix in C order, real and imaginary parts in turn, all multiplied by a real number.
struct Matrix {
    const double* entries;
    double scale;

    Complexes operator[](Int k) const { return {all(entries[2 * k] * scale), all(entries[2 * k + 1] * scale)}; }
};

// Where an operation acts: the bits under `mask` have `value`.
struct Where {
    Int mask, value;

    Lanes lanes() const { return (numbered() & (mask & (LANES - 1))) == (Lanes{} + (value & (LANES - 1))); }
    bool holds(Int vector) const { return ((vector * LANES) & mask) == (value & ~(LANES - 1)); }
};

constexpr double IDENTITY[] = {1, 0, 0, 0, 0, 0, 1, 0};

// Applies a 2×2 matrix to a lane bit.
template <int bit>
inline void pair_lanes(const State& state, Where where, const Matrix& m) {
    const Lanes high = (numbered() & bit) != 0;
    Complexes own = chosen(high, m[3], m[0]), other = chosen(high, m[2], m[1]);
    const Lanes here = where.lanes();
    own = chosen(here, own, {all(1), all(0)});
    other = chosen(here, other, {all(0), all(0)});
    for (Int k = 0; k < state.vectors(); ++k) {
        if (!where.holds(k)) continue;
        const Complexes x = state.at(k), y = {swapped<bit>(x.re), swapped<bit>(x.im)};
        state.set(k, times(own, x) + times(other, y));
    }
}

// Applies a 2×2 matrix to an index bit, where `where` holds.
inline void pairs(const State& state, Int bit, Where where, const Matrix& m) {
    if (bit == 1) return pair_lanes<1>(state, where, m);
    if (bit == 2) return pair_lanes<2>(state, where, m);
    if (bit == 4) return pair_lanes<4>(state, where, m);
    const Int step = bit / LANES;
    const bool whole = !(where.mask & (LANES - 1));
    const Lanes here = where.lanes();
    const Complexes a = m[0], b = m[1], c = m[2], d = m[3];
    for (Int low = 0; low < state.vectors(); low += 2 * step)
        for (Int k = low; k < low + step; ++k) {
            if (!where.holds(k)) continue;
            const Complexes x = state.at(k), y = state.at(k + step);
            Complexes to = times(a, x) + times(b, y), then = times(c, x) + times(d, y);
            if (!whole) {
                to = chosen(here, to, x);
                then = chosen(here, then, y);
            }
            state.set(k, to);
            state.set(k + step, then);
        }
}

constexpr Int MOST_READS = 4;  // of a diagonal

// Multiplies by a diagonal: entry number k, whose bit j is the parity of the index under `reads[j]`. The state is the part
// of a larger one at the indices from `base` on.
inline void diagonal(const State& state, Int base, const Int* reads, Int count, Where where, const Matrix& m) {
    Complexes by[1 << MOST_READS];  // for each value of the parities of the higher bits, the numbers of all lanes
    const Lanes here = where.lanes();
    for (Int block = 0; block < Int{1} << count; ++block) {
        Complexes lanes{};
        for (Int lane = 0; lane < LANES; ++lane) {
            Int k = block;
            for (Int j = 0; j < count; ++j) k ^= static_cast<Int>(odd(lane & reads[j])) << j;
            lanes.re[lane] = m.entries[2 * k] * m.scale;
            lanes.im[lane] = m.entries[2 * k + 1] * m.scale;
        }
        by[block] = chosen(here, lanes, {all(1), all(0)});
    }
    for (Int v = 0; v < state.vectors(); ++v) {
        if (!where.holds(v)) continue;
        Int block = 0;
        for (Int j = 0; j < count; ++j) block |= static_cast<Int>(odd((base | v * LANES) & reads[j])) << j;
        state.set(v, times(by[block], state.at(v)));
    }
}

// Multiplies a state of one vector by a matrix on all wires, whose entry [row, row XOR d] stands in lane row of `m[d]`.
inline void whole(const State& state, const Complexes* m) {
    const Complexes x = state.at(0);
    Complexes to = times(m[0], x);
    for (Int d = 1; d < state.size; ++d) to = to + times(m[d], swapped(x, d));
    state.set(0, to);
}

// Applies a 4×4 matrix to two index bits; bit 0 of its rows is `low`.
inline void quadruples(const State& state, Int low, Int high, Where where, const Matrix& m) {
    const Int in_lanes = (low | high) & (LANES - 1);
    const Int up[2] = {low < LANES ? 0 : low / LANES, high < LANES ? 0 : high / LANES};
    const bool split[2] = {up[0] != 0, up[1] != 0};
    // For vectors of the values r and c of the bits above the lanes, and lanes that differ in d: a coefficient a lane.
    Int differ[4], vectors[4], num_differ = 0, num_vectors = 0;
    for (Int v = 0; v < 4; ++v) {
        const bool above = (!(v & 1) || split[0]) && (!(v & 2) || split[1]);
        const bool below = (!(v & 1) || !split[0]) && (!(v & 2) || !split[1]);
        if (above) vectors[num_vectors++] = v;
        if (below) differ[num_differ++] = v;
    }
    Complexes by[4][4][4];
    const Lanes here = where.lanes();
    for (Int r = 0; r < num_vectors; ++r)
        for (Int c = 0; c < num_vectors; ++c)
            for (Int d = 0; d < num_differ; ++d) {
                Complexes lanes{};
                for (Int in = 0; in < num_differ; ++in) {  // the row's value of the lane bits
                    const Int row = vectors[r] | differ[in], column = vectors[c] | (differ[in] ^ differ[d]);
                    const Int lane = (differ[in] & 1 ? low : 0) | (differ[in] & 2 ? high : 0);
                    lanes = chosen((numbered() & in_lanes) == (Lanes{} + lane), m[4 * row + column], lanes);
                }
                const double kept = r == c && d == 0 ? 1 : 0;
                by[r][c][d] = chosen(here, lanes, {all(kept), all(0)});
            }
    for (Int k = 0; k < state.vectors(); ++k) {
        if (k & (up[0] | up[1]) || !where.holds(k)) continue;
        Complexes x[4];
        Int place[4];
        for (Int c = 0; c < num_vectors; ++c) {
            place[c] = k | (vectors[c] & 1 ? up[0] : 0) | (vectors[c] & 2 ? up[1] : 0);
            x[c] = state.at(place[c]);
        }
        Complexes to[4] = {};
        for (Int d = 0; d < num_differ; ++d) {
            const Int lanes = (differ[d] & 1 ? low : 0) | (differ[d] & 2 ? high : 0);
            for (Int c = 0; c < num_vectors; ++c) {
                const Complexes moved = swapped(x[c], lanes);
                for (Int r = 0; r < num_vectors; ++r) to[r] = to[r] + times(by[r][c][d], moved);
            }
        }
        for (Int r = 0; r < num_vectors; ++r) state.set(place[r], to[r]);
    }
}

constexpr Int MOST_SIZE = 256;  // amplitudes of a state

// Applies any operation: dense on some wires, diagonal in some masks. `m` has a matrix for each value of their parities.
inline void dense(const State& state, const Int* bits, Int wires, const Int* reads, Int count, Where where,
                  const Matrix& m) {
    const Int size = Int{1} << wires;
    Int places[MOST_SIZE] = {};
    double old[2 * MOST_SIZE];
    for (Int v = 0; v < size; ++v)
        for (Int k = 0; k < wires; ++k) places[v] |= v >> k & 1 ? bits[k] : 0;
    for (Int base = 0; base < state.size; ++base) {
        if (base & places[size - 1] || (base & where.mask) != where.value) continue;
        Int block = 0;
        for (Int k = 0; k < count; ++k) block |= static_cast<Int>(odd(base & reads[k])) << k;
        const double* here = m.entries + 2 * block * size * size;
        for (Int column = 0; column < size; ++column) {
            old[2 * column] = state.re[base | places[column]] * m.scale;
            old[2 * column + 1] = state.im[base | places[column]] * m.scale;
        }
        for (Int row = 0; row < size; ++row, here += 2 * size) {
            double real = 0, imag = 0;
            for (Int column = 0; column < size; ++column) {
                const double a = here[2 * column], b = here[2 * column + 1], c = old[2 * column], d = old[2 * column + 1];
                real += a * c - b * d;
                imag += a * d + b * c;
            }
            state.re[base | places[row]] = real;
            state.im[base | places[row]] = imag;
        }
    }
}

}  // namespace
}  // namespace qx::narrow
