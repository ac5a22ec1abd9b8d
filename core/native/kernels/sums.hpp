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
// amplitudes. The strings of part k have the X-part xs[k], and are those from firsts[k] to firsts[k + 1] − 1; the Z-part
// of each is `inside` on the bits of a tile, as X-parts are, counted from its lowest bit, and `outside` on the others.
struct Tiles {
    Int num_bits, mask, units, num_parts;
    const Int *xs, *firsts, *inside, *outside;
};

// What is searched: the values of `bits` behind each base, whose targets are those of its run.
struct Search {
    const Int *bits, *bases, *runs;
    const double* targets;
    Int num_bits;
};

}
