// The places of a tile's bits while a sweep runs on a CPU, and the order in which its items run.
//
// A bit is in the lanes of a vector or in the number of a row, and only row bits can be mixed. So items are scheduled as
// sweeps are: all items run that can, lanes and rows are exchanged, and the items run that can then.
#pragma once

#include "planner/tiles/sweep.hpp"

namespace qx::plan {

constexpr int pad = 1 << 10;  // bits from here up are padding: only their value 0 is real

// An item, and the masks of index bits that it mixes, and that it mixes or reads.
struct TouchedBits {
    const Item* item;
    Mask mix;
    Mask all;
};

// Pairs of a lane bit and a row bit that are exchanged.
using Swaps = std::vector<std::pair<int, int>>;

// Moves the items that can run while the bits in `lanes` are lanes from `pending` to `ready`; both in order.
void take_runnable(std::vector<TouchedBits>& pending, Mask lanes, std::vector<TouchedBits>& ready);

// lanes[l] is the index bit on lane bit l, rows[p] that on row bit p.
struct TileLayout {
    std::vector<int> lanes, rows;

    // Lays out the tile as it is read; returns whether rows are whole vectors in memory.
    bool first(Mask tile, const std::vector<TouchedBits>& work, int lane_bits);
    Mask lane_mask() const;
    void exchange(const Swaps& swaps);
    // The exchanges that let the first item run, and as many items after it as possible.
    Swaps swaps_for(const std::vector<TouchedBits>& work) const;
    // The swaps, group after group, that move index bit home[l] to lane l.
    std::vector<Swaps> swaps_home(const int* home) const;
};

}  // namespace qx::plan
