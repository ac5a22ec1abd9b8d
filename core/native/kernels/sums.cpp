// Sums over amplitudes, all in float64. States are real and imaginary parts in turn.
//
// A state is divided into *units* that depend on its size alone; threads share the units, those of all rows of a batch,
// and the results of a row's units are added in order. Within a unit, blocks of 2^w neighbouring amplitudes are added up
// lane by lane before anything is summed across them: that is fast, and it rounds little. So a sum depends neither on
// the number of threads or rows nor on the width of vectors; no product is fused with an addition here either.

#include "kernels/sums.hpp"

#include <cmath>

#include "base/array.hpp"
#include "base/export.hpp"
#include "base/index_bits.hpp"
#include "base/ranges.hpp"

namespace {

using qx::Int;
using qx::sums::Marginal;
using qx::sums::Paulis;
using qx::sums::Search;

// Adds up neighbours in `total` whose places differ in one bit, of value `half`; returns the new length of `total`.
Int folded(double* total, Int length, Int half) {
    Int to = 0;
    for (Int begin = 0; begin < length; begin += 2 * half, to += half)
        for (Int j = 0; j < half; ++j) total[to + j] = total[begin + j] + total[begin + half + j];
    return to;
}

// How the amplitudes of a state are added up. folded: the bits of a place in a block that are summed over, descending.
// bins: for each value of its other bits the bin, or -1 to skip it; group_bin: for each value of the bits above a block
// that name bins (`chosen`), its part of the bin. rest: the bits above a block that are summed over.
struct Bins {
    Int width, chosen = 0, rest, fixed, num_folded = 0, left = 1, num_bins;
    Int folded[64];
    qx::Array<Int> bins, group_bin;

    explicit Bins(const Marginal& of) : width(Int{1} << of.width), num_bins(Int{1} << of.count) {
        Int weight[64] = {};  // what each bit adds to the number of a bin
        for (Int k = 0; k < of.count; ++k) weight[of.bits[k]] = Int{1} << k;
        for (Int bit = of.width; bit-- > 0;)
            if (!weight[bit] && !(of.mask >> bit & 1)) folded[num_folded++] = bit;
        for (Int bit = of.width; bit < of.num_bits; ++bit)
            if (weight[bit]) chosen |= Int{1} << bit;
        rest = ((Int{1} << of.num_bits) - width) & ~chosen & ~of.mask;
        fixed = of.value & -width;
        bins.grow(Int{1} << (of.width - num_folded));
        group_bin.grow(Int{1} << qx::ones(chosen));
        bins[0] = group_bin[0] = 0;
        for (Int bit = 0; bit < of.width; ++bit) {
            if (!weight[bit] && !(of.mask >> bit & 1)) continue;
            const bool held = of.mask >> bit & 1, one = of.value >> bit & 1;
            for (Int x = 0; x < left; ++x) {
                bins[left + x] = bins[x] < 0 || (held && !one) ? -1 : bins[x] | weight[bit];
                if (held && one) bins[x] = -1;
            }
            left *= 2;
        }
        Int groups = 1;
        for (Int above = chosen; above; above &= above - 1, groups *= 2) {
            const Int own = weight[std::countr_zero(static_cast<std::uint64_t>(above))];
            for (Int x = 0; x < groups; ++x) group_bin[groups + x] = group_bin[x] | own;
        }
    }
};

template <class Real>
void marginals(const Real* state, const Marginal& of, const Bins& to, Int first, Int last, double* out) {
    const Int shares = Int{1} << of.share, units = to.group_bin.size() * shares;
    const int shifted = qx::ones(to.rest) - static_cast<int>(of.share);
    const Int blocks = Int{1} << (shifted > 0 ? shifted : 0);
    qx::Array<double> totals(to.width);
    double* total = totals.begin();
    for (Int number = first; number < last; ++number) {
        const Int row = number / units, unit = number % units;
        const Int group = unit >> of.share, piece = unit & (shares - 1);
        const Int base = (row << of.num_bits) + (qx::placed(group, to.chosen) | to.fixed);
        Int x = qx::placed(piece * blocks, to.rest);
        for (Int j = 0; j < to.width; ++j) total[j] = 0.0;
        for (Int block = 0; block < blocks; ++block, x = qx::next_placed(x, to.rest)) {
            const Real* at = state + 2 * (base + x);
            for (Int j = 0; j < to.width; ++j) {
                const double real = at[2 * j], imag = at[2 * j + 1];
                total[j] += real * real + imag * imag;
            }
        }
        Int left = to.width;
        for (Int k = 0; k < to.num_folded; ++k) left = folded(total, left, Int{1} << to.folded[k]);
        double* sums = out + ((row << of.share) + piece) * to.num_bins + to.group_bin[group];
        for (Int j = 0; j < left; ++j)
            if (to.bins[j] >= 0) sums[to.bins[j]] += total[j];
    }
}

template <class Real>
void inner(const Real* left, const Real* right, Int width, Int first, Int last, double* out) {
    qx::Array<double> totals(2 * width, 0.0);
    double *reals = totals.begin(), *imags = reals + width;
    for (Int block = first; block < last; block += width) {
        const Real *at = left + 2 * block, *to = right + 2 * block;
        for (Int j = 0; j < width; ++j) {
            const double a = at[2 * j], b = at[2 * j + 1], c = to[2 * j], d = to[2 * j + 1];
            reals[j] += a * c + b * d;
            imags[j] += a * d - b * c;
        }
    }
    out[0] = out[1] = 0.0;
    for (Int j = 0; j < width; ++j) {
        out[0] += reals[j];
        out[1] += imags[j];
    }
}

// Returns Σ_j (−1)^parity(j & z) · values[j] over a power of two of values, the highest bit of j first.
double signed_sum(const double* values, Int length, Int z, double* aside) {
    Int half = length >> 1;
    if (!half) return values[0];
    double sign = z & half ? -1.0 : 1.0;
    for (Int j = 0; j < half; ++j) aside[j] = values[j] + sign * values[half + j];
    while (half > 1) {
        half >>= 1;
        sign = z & half ? -1.0 : 1.0;
        for (Int j = 0; j < half; ++j) aside[j] += sign * aside[half + j];
    }
    return aside[0];
}

template <class Real>
void paulis(const Real* state, const Paulis& of, Int first, Int last, double* out) {
    const Int width = of.width, inside = width - 1, length = of.size / of.units;
    qx::Array<double> memory(width * (2 * of.num_above + 3));
    double *totals = memory.begin(), *reals = totals + 2 * of.num_above * width, *imags = reals + width;
    double* aside = imags + width;
    for (Int number = first; number < last; ++number) {
        const Int row = number / of.units, unit = number % of.units;
        for (Int k = 0; k < 2 * of.num_above * width; ++k) totals[k] = 0.0;
        for (Int block = unit * length; block < unit * length + length; block += width) {
            const Real* here = state + 2 * (row * of.size + block);
            const Real* there = state + 2 * (row * of.size + (block ^ (of.x & ~inside)));
            for (Int j = 0; j < width; ++j) {
                const Int to = 2 * (j ^ (of.x & inside));
                const double a = there[to], b = there[to + 1], c = here[2 * j], d = here[2 * j + 1];
                reals[j] = a * c + b * d;
                imags[j] = a * d - b * c;
            }
            for (Int k = 0; k < of.num_above; ++k) {
                const double sign = qx::odd(block & of.above[k]) ? -1.0 : 1.0;
                double *real_total = totals + 2 * k * width, *imag_total = real_total + width;
                for (Int j = 0; j < width; ++j) {
                    real_total[j] += sign * reals[j];
                    imag_total[j] += sign * imags[j];
                }
            }
        }
        for (Int k = 0; k < of.num_zs; ++k)
            for (Int half = 0; half < 2; ++half)
                out[2 * (number * of.num_zs + k) + half] =
                    signed_sum(totals + (2 * of.of[k] + half) * width, width, of.zs[k], aside);
    }
}

template <class Real>
void search(const Real* state, const Search& of, Int first, Int last, Int* found) {
    const Int count = Int{1} << of.num_bits;
    qx::Array<Int> places(count);  // for each value of the bits, the index that has it
    places[0] = 0;
    for (Int k = 0, size = 1; k < of.num_bits; ++k, size *= 2)
        for (Int x = 0; x < size; ++x) places[size + x] = places[x] | Int{1} << of.bits[k];
    qx::Array<double> memory(count);
    double* sums = memory.begin();
    for (Int run = first; run < last; ++run) {
        if (of.runs[run] == of.runs[run + 1]) continue;
        double total = 0.0;
        for (Int v = 0; v < count; ++v) {
            const Real* at = state + 2 * (of.bases[run] ^ places[v]);
            const double real = at[0], imag = at[1];
            total += real * real + imag * imag;
            sums[v] = total;
        }
        const double most = std::nextafter(total, -1.0);
        for (Int k = of.runs[run]; k < of.runs[run + 1]; ++k) {
            const double target = of.targets[k] < most ? of.targets[k] : most;
            Int value = 0;
            for (Int step = count >> 1; step; step >>= 1)
                if (sums[value + step - 1] <= target) value += step;
            found[k] = value;
        }
    }
}

}  // namespace

// Each function exists for complex64 and for complex128; `single` says which one a state has. Items are units.

QX_EXPORT_SET(marginals, (const void* state, Int single, const Marginal* of, double* out, Int size, Int each, Int chunk,
                          Int threads, Int slice)) {
    return qx::guarded([&] {
        const Bins bins(*of);
        return qx::in_ranges({size, each, chunk, threads, slice}, [=, &bins](Int first, Int last) {
            if (single) marginals(static_cast<const float*>(state), *of, bins, first, last, out);
            else marginals(static_cast<const double*>(state), *of, bins, first, last, out);
        });
    });
}

// length: amplitudes of a unit, whole blocks of `width`. out: [units, 2].
QX_EXPORT_SET(inner, (const void* left, const void* right, Int single, Int width, Int length, double* out, Int size,
                      Int each, Int chunk, Int threads, Int slice)) {
    return qx::in_ranges({size, each, chunk, threads, slice}, [=](Int first, Int last) {
        for (Int unit = first; unit < last; ++unit) {
            const Int begin = unit * length, end = begin + length;
            if (single)
                inner(static_cast<const float*>(left), static_cast<const float*>(right), width, begin, end, out + 2 * unit);
            else
                inner(static_cast<const double*>(left), static_cast<const double*>(right), width, begin, end,
                      out + 2 * unit);
        }
    });
}

QX_EXPORT_SET(paulis, (const void* state, Int single, const Paulis* of, double* out, Int size, Int each, Int chunk,
                       Int threads, Int slice)) {
    return qx::in_ranges({size, each, chunk, threads, slice}, [=](Int first, Int last) {
        if (single) paulis(static_cast<const float*>(state), *of, first, last, out);
        else paulis(static_cast<const double*>(state), *of, first, last, out);
    });
}

// The sums of one small state, which is one unit, for some X-parts. out: [all z of all parts].
QX_EXPORT_SET(small_paulis, (const void* state, Int single, const Paulis* const* parts, Int count, double* out)) {
    return qx::guarded([&] {
        for (Int k = 0; k < count; out += 2 * parts[k++]->num_zs) {
            if (single) paulis(static_cast<const float*>(state), *parts[k], 0, 1, out);
            else paulis(static_cast<const double*>(state), *parts[k], 0, 1, out);
        }
        return 0;
    });
}

// Items are runs of targets.
QX_EXPORT_SET(search, (const void* state, Int single, const Search* of, Int* found, Int size, Int each, Int chunk,
                       Int threads, Int slice)) {
    return qx::in_ranges({size, each, chunk, threads, slice}, [=](Int first, Int last) {
        if (single) search(static_cast<const float*>(state), *of, first, last, found);
        else search(static_cast<const double*>(state), *of, first, last, found);
    });
}
