// Amplitudes in and out of matrices: rows are values of some bits, columns are all other bits.
//
// Columns are named by *bases*, the indices at which all row bits are 0; row r is `offsets[r]` further on. `single`
// says whether amplitudes are complex64 or complex128.

#include "base/export.hpp"
#include "base/index_bits.hpp"
#include "base/ranges.hpp"

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

// Calls `work` with an address of amplitudes of their type, for ranges of items.
template <class Work>
Int shared(void* state, Int single, const qx::Ranges& ranges, const Work& work) {
    return qx::in_ranges(ranges, [=](Int first, Int last) {
        if (single) work(static_cast<Single*>(state), first, last);
        else work(static_cast<Double*>(state), first, last);
    });
}

// The scratch memory of `permute_tiles`.
std::size_t permutation_bytes(Int bits) { return (sizeof(Double) + 2 * sizeof(Int)) << bits; }

template <class Number>
void permute_tiles(Number* state, const Int* tile, const Int* sources, Int bits, Int flip, Int free, Int first, Int last) {
    const Int size = Int{1} << bits;
    auto* aside = reinterpret_cast<Number*>(qx::scratch(permutation_bytes(bits)));
    auto* places = reinterpret_cast<Int*>(aside + size);
    Int *origin = places + size, shift = 0;
    places[0] = origin[0] = 0;
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
}

}  // namespace

// Writes to `out` indices number `first`, `first` + 1, … that are `fixed` plus any value of the bits in `free`.
QX_EXPORT(bases, (Int free, Int fixed, Int first, Int* out, Int count)) {
    Int x = qx::placed(first, free);
    for (Int k = 0; k < count; ++k, x = qx::next_placed(x, free)) out[k] = x | fixed;
    return 0;
}

// out[r, c] = state[offsets[r] + columns[c]], [rows, size].
QX_EXPORT(gather, (void* state, Int single, const Int* offsets, Int rows, const Int* columns, void* out, Int size, Int each,
                   Int chunk, Int threads, Int slice)) {
    return shared(state, single, {size, each, chunk, threads, slice}, [=](auto* from, Int first, Int last) {
        auto* to = static_cast<decltype(from)>(out);
        for (Int r = 0; r < rows; ++r)
            for (Int c = first; c < last; ++c) to[r * size + c] = from[offsets[r] + columns[c]];
    });
}

// state[offsets[r] + columns[c]] = values[r, c], [rows, size].
QX_EXPORT(scatter, (void* state, Int single, const Int* offsets, Int rows, const Int* columns, void* values, Int size,
                    Int each, Int chunk, Int threads, Int slice)) {
    return shared(state, single, {size, each, chunk, threads, slice}, [=](auto* to, Int first, Int last) {
        auto* from = static_cast<decltype(to)>(values);
        for (Int r = 0; r < rows; ++r)
            for (Int c = first; c < last; ++c) to[offsets[r] + columns[c]] = from[r * size + c];
    });
}

// Sets every row to its amplitude times the row that begins at `held`.
//
// Neighbours among the columns are written together, as many as stay in the first cache.
QX_EXPORT(spread, (void* state, Int single, const Int* offsets, Int rows, Int held, const Int* columns, void* amplitudes,
                   Int size, Int each, Int chunk, Int threads, Int slice)) {
    constexpr Int together = 256;
    return shared(state, single, {size, each, chunk, threads, slice}, [=](auto* of, Int first, Int last) {
        using Amplitude = std::remove_pointer_t<decltype(of)>;
        auto* by = static_cast<Amplitude*>(amplitudes);
        const Int width = last - first > 1 && columns[first + 1] == columns[first] + 1 ? together : 1;
        for (; first < last; first += width) {
            const Int count = last - first < width ? last - first : width;
            Amplitude values[together];
            for (Int c = 0; c < count; ++c) values[c] = of[held + columns[first + c]];
            const bool neighbours = columns[first + count - 1] - columns[first] == count - 1;
            for (Int r = 0; r < rows; ++r) {
                const auto amplitude = by[r];
                auto* row = of + offsets[r];
                if (neighbours)
                    for (Int c = 0; c < count; ++c) row[columns[first] + c] = amplitude * values[c];
                else
                    for (Int c = 0; c < count; ++c) row[columns[first + c]] = amplitude * values[c];
            }
        }
    });
}

// Multiplies amplitudes by `inside` where the bits under `mask` are `value`, else by `outside`.
QX_EXPORT(scale, (void* state, Int single, Int mask, Int value, double inside, double outside, Int size, Int each, Int chunk,
                  Int threads, Int slice)) {
    return shared(state, single, {size, each, chunk, threads, slice}, [=](auto* of, Int first, Int last) {
        using Real = decltype(of->real);
        const Real factors[] = {static_cast<Real>(outside), static_cast<Real>(inside)};
        for (Int i = first; i < last; ++i) {
            const Real factor = factors[(i & mask) == value];
            of[i] = {of[i].real * factor, of[i].imag * factor};
        }
    });
}

// Writes zeros to the amplitudes at which a bit under `mask` is 1.
QX_EXPORT(clear_bits, (void* state, Int single, Int mask, Int size, Int each, Int chunk, Int threads, Int slice)) {
    return shared(state, single, {size, each, chunk, threads, slice}, [=](auto* of, Int first, Int last) {
        for (Int i = first; i < last; ++i)
            if (i & mask) of[i] = {0, 0};
    });
}

// Exchanges the amplitudes at column + `here` and at column + `there`.
QX_EXPORT(exchange, (void* state, Int single, const Int* columns, Int here, Int there, Int size, Int each, Int chunk,
                     Int threads, Int slice)) {
    return shared(state, single, {size, each, chunk, threads, slice}, [=](auto* of, Int first, Int last) {
        for (Int c = first; c < last; ++c) {
            const auto value = of[columns[c] + here];
            of[columns[c] + here] = of[columns[c] + there];
            of[columns[c] + there] = value;
        }
    });
}

// Moves bits inside tiles: in tile coordinates new bit k is old bit sources[k], XOR bit k of `flip`.
// tile: the `bits` index bits of a tile, ascending; free: mask of all others. `refused` before anything is changed.
QX_EXPORT(permute_tiles, (void* state, Int single, const Int* tile, const Int* sources, Int bits, Int flip, Int free,
                          Int size, Int each, Int chunk, Int threads, Int slice)) {
    return shared(state, single, {size, each, chunk, threads, slice, permutation_bytes(bits)},
                  [=](auto* of, Int first, Int last) { permute_tiles(of, tile, sources, bits, flip, free, first, last); });
}
