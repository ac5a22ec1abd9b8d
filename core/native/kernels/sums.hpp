// What sums over amplitudes are asked for; qsim_ex.devices.cpu.sums hands it over.
#pragma once

#include "base/int.hpp"

namespace qx::sums {

// Which marginal is asked for: that of `bits`, over the indices whose bits in `mask` are `value`. A state of 2^num_bits
// amplitudes is read in blocks of 2^width; a unit of 2^share for each group adds up some of its blocks.
struct Marginal {
    Int num_bits, width, share, mask, value, count;
    const Int* bits;
};

// Which Pauli strings with the X-part x are summed: those with the Z-parts `zs`, each of which is above a block the part
// `above[of[k]]`. A row has `size` amplitudes.
struct Paulis {
    Int size, x, num_zs, num_above, width, units;
    const Int *zs, *above, *of;
};

// Which Pauli strings are summed tile by tile: those whose X-parts are in the bits of `mask`. A state has 2^num_bits
// amplitudes. The strings of a group have one X-part, xs[k], as a number whose bits are those of the mask, side by side; all
// of their sums are real, or all are imaginary. They are those from firsts[k] to firsts[k + 1] − 1, in the order of their
// Z-parts `inside` of a tile, without the highest bit of an X-part that is 8 or more: of each pair one amplitude is there.
// `outside` are their Z-parts on the bits that are not in the mask.
struct Tiles {
    Int num_bits, mask, units, num_groups;
    const Int *xs, *imaginary, *firsts, *inside, *outside;
};

// What is searched: the values of `bits` behind each base, whose targets are those of its run.
struct Search {
    const Int *bits, *bases, *runs;
    const double* targets;
    Int num_bits;
};

}
