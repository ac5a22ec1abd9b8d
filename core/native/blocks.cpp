// Amplitudes in and out of matrices: rows are values of some bits, columns are all other bits.
//
// Columns are named by *bases*, the indices at which all row bits are 0; row r is `offsets[r]` further on. `single`
// says whether amplitudes are complex64 or complex128.

#include "index_bits.hpp"
#include "array.hpp"

namespace {

using qx::Int;

template <class Real>
struct Amplitude {
    Real real, imag;
};

using Single = Amplitude<float>;
using Double = Amplitude<double>;

template <class Real>
Amplitude<Real> operator*(Amplitude<Real> a, Amplitude<Real> b) {
    return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}

template <class Number>
Int gather(const Number* state, const Int* offsets, Int rows, const Int* columns, Int count, Number* out, Int stride) {
    for (Int r = 0; r < rows; ++r)
        for (Int c = 0; c < count; ++c) out[r * stride + c] = state[offsets[r] + columns[c]];
    return 0;
}

template <class Number>
Int scatter(Number* state, const Int* offsets, Int rows, const Int* columns, Int count, const Number* from, Int stride) {
    for (Int r = 0; r < rows; ++r)
        for (Int c = 0; c < count; ++c) state[offsets[r] + columns[c]] = from[r * stride + c];
    return 0;
}

template <class Number>
Int spread(Number* state, const Int* offsets, Int rows, Int held, const Int* columns, Int count, const Number* by) {
    for (Int c = 0; c < count; ++c) {
        const Number value = state[held + columns[c]];
        for (Int r = 0; r < rows; ++r) state[offsets[r] + columns[c]] = by[r] * value;
    }
    return 0;
}

template <class Real>
Int scale(Real* state, Int mask, Int value, Real inside, Real outside, Int first, Int last) {
    for (Int i = first; i < last; ++i) {
        const Real factor = (i & mask) == value ? inside : outside;
        state[2 * i] *= factor;
        state[2 * i + 1] *= factor;
    }
    return 0;
}

template <class Number>
Int clear(Number* state, Int mask, Int first, Int last) {
    for (Int i = first; i < last; ++i)
        if (i & mask) state[i] = {0, 0};
    return 0;
}

template <class Number>
Int exchange(Number* state, const Int* columns, Int count, Int here, Int there) {
    for (Int c = 0; c < count; ++c) {
        const Number value = state[columns[c] + here];
        state[columns[c] + here] = state[columns[c] + there];
        state[columns[c] + there] = value;
    }
    return 0;
}

template <class Number>
Int permute_tiles(
    Number* state, const Int* tile, const Int* sources, Int bits, Int flip, Int free, Int first, Int last
) {
    const Int size = Int{1} << bits;
    qx::Array<Int> places(size, 0), origin(size, 0);
    qx::Array<Number> aside(size);
    Int shift = 0;
    for (Int k = 0; k < bits; ++k) {
        shift |= (flip >> k & 1) << sources[k];
        for (Int x = 0; x < Int{1} << k; ++x) {
            places[(Int{1} << k) + x] = places[x] | Int{1} << tile[k];
            origin[(Int{1} << k) + x] = origin[x] | Int{1} << sources[k];
        }
    }
    Int base = qx::placed(first, free);
    for (Int number = first; number < last; ++number, base = qx::next_placed(base, free)) {
        for (Int x = 0; x < size; ++x) aside[x] = state[base + places[x]];
        for (Int x = 0; x < size; ++x) state[base + places[x]] = aside[origin[x] ^ shift];
    }
    return 0;
}

}  // namespace

// Writes to `out` indices number `first`, `first` + 1, … that are `fixed` plus any value of the bits in `free`.
QX_EXPORT(bases)(Int free, Int fixed, Int first, Int* out, Int count) {
    Int x = qx::placed(first, free);
    for (Int k = 0; k < count; ++k, x = qx::next_placed(x, free)) out[k] = x | fixed;
    return 0;
}

// out[r, c] = state[offsets[r] + columns[c]]; stride: numbers from one row of `out` to the next.
QX_EXPORT(gather)
(const void* state, Int single, const Int* offsets, Int rows, const Int* columns, Int count, void* out, Int stride) {
    return single ? gather(static_cast<const Single*>(state), offsets, rows, columns, count, static_cast<Single*>(out), stride)
                  : gather(static_cast<const Double*>(state), offsets, rows, columns, count, static_cast<Double*>(out), stride);
}

// state[offsets[r] + columns[c]] = from[r, c].
QX_EXPORT(scatter)
(void* state, Int single, const Int* offsets, Int rows, const Int* columns, Int count, const void* from, Int stride) {
    return single ? scatter(static_cast<Single*>(state), offsets, rows, columns, count, static_cast<const Single*>(from), stride)
                  : scatter(static_cast<Double*>(state), offsets, rows, columns, count, static_cast<const Double*>(from), stride);
}

// Sets every row to its amplitude times the row that begins at `held`.
QX_EXPORT(spread)
(void* state, Int single, const Int* offsets, Int rows, Int held, const Int* columns, Int count, const void* by) {
    return single ? spread(static_cast<Single*>(state), offsets, rows, held, columns, count, static_cast<const Single*>(by))
                  : spread(static_cast<Double*>(state), offsets, rows, held, columns, count, static_cast<const Double*>(by));
}

// Multiplies amplitudes `first` … `last` − 1 by `inside` where the bits under `mask` are `value`, else by `outside`.
QX_EXPORT(scale)
(void* state, Int single, Int mask, Int value, double inside, double outside, Int first, Int last) {
    return single ? scale(static_cast<float*>(state), mask, value, float(inside), float(outside), first, last)
                  : scale(static_cast<double*>(state), mask, value, inside, outside, first, last);
}

// Writes zeros to the amplitudes `first` … `last` − 1 at which a bit under `mask` is 1.
QX_EXPORT(clear)(void* state, Int single, Int mask, Int first, Int last) {
    return single ? clear(static_cast<Single*>(state), mask, first, last)
                  : clear(static_cast<Double*>(state), mask, first, last);
}

// Exchanges the amplitudes at column + `here` and at column + `there`.
QX_EXPORT(exchange)(void* state, Int single, const Int* columns, Int count, Int here, Int there) {
    return single ? exchange(static_cast<Single*>(state), columns, count, here, there)
                  : exchange(static_cast<Double*>(state), columns, count, here, there);
}

// Moves bits inside tiles: in tile coordinates new bit k is old bit sources[k], XOR bit k of `flip`.
// tile: the `bits` index bits of a tile, ascending; free: mask of all others. Tiles `first` … `last` − 1 of them.
QX_EXPORT(permute_tiles)
(void* state, Int single, const Int* tile, const Int* sources, Int bits, Int flip, Int free, Int first, Int last) {
    return single ? permute_tiles(static_cast<Single*>(state), tile, sources, bits, flip, free, first, last)
                  : permute_tiles(static_cast<Double*>(state), tile, sources, bits, flip, free, first, last);
}
