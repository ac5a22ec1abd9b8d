// Dense matrices on two or three bits each that follow each other on a bit, with nothing in between: what one needs done
// on a bit the one before it may do.
#pragma once

#include <algorithm>

#include "planner/tiles/sweep.hpp"

namespace qx::plan {

// Whether an item is a matrix on two or three bits that has a number for each entry, of which some are complex: then real
// ones take no less time, and all may be any.
bool is_block(const PlanContext& context, const Item& item);

// slot: where its numbers begin among the packed numbers of a plan. before, after: for each of its bits what it follows
// there and what follows it, as `most` * the number of the block + the number of the bit; -1 if that is no such block.
struct LinkedBlock {
    static constexpr Int most = 3;
    Int slot;
    int bits;
    Int before[most] = {-1, -1, -1}, after[most] = {-1, -1, -1};

    // Whether blocks before it may do something on all its bits.
    bool may_be_turned() const {
        return std::all_of(before, before + bits, [](Int end) { return end >= 0; });
    }
    // Whether it leaves all amplitudes as large as they should be.
    bool is_whole() const { return bits > 2 || after[0] < 0 || after[1] < 0; }
};

// What flips in memory with each of 64 index bits, as a sweep reads it and as it writes; see qsim_ex.steps.Sweep.
struct SweepMaps {
    SweepMaps(const PlanContext& context, const Step& sweep);
    Mask load[64], store[64];
};

// The blocks of a plan in the order in which they run. of_item: for each item the number of its block, or -1.
struct BlockLinks {
    BlockLinks() {}
    BlockLinks(const PlanContext& context, const StepArrays& steps);

    // Whether an item is a block: its numbers are written over, and may be any, whatever the classes of its entries are.
    bool has(std::size_t item) const { return item < of_item.size() && of_item[item] >= 0; }
    bool may_be_turned(std::size_t item) const { return has(item) && at(item).may_be_turned(); }
    // How many blocks may be.
    Int turnable() const;

    std::vector<LinkedBlock> blocks;
    std::vector<Int> of_item;

  private:
    const LinkedBlock& at(std::size_t item) const { return blocks[static_cast<std::size_t>(of_item[item])]; }
};

}  // namespace qx::plan
