// Dense matrices on two bits each that follow each other on a bit, with nothing in between: what one leaves on a bit the
// next one may take.
#pragma once

#include "planner/tiles/sweep.hpp"

namespace qx::plan {

// slot: where its 16 numbers begin among the packed numbers of a plan. before, after: for each of its bits what it follows
// there and what follows it, as 2 * the number of the block + the number of the bit; -1 if that is no such block.
struct LinkedBlock {
    Int slot;
    Int before[2] = {-1, -1}, after[2] = {-1, -1};

    bool is_between() const { return before[0] >= 0 && before[1] >= 0 && after[0] >= 0 && after[1] >= 0; }
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

    bool is_between(std::size_t item) const { return item < of_item.size() && of_item[item] >= 0 && at(item).is_between(); }
    // How many blocks are between others on both bits.
    Int between() const;

    std::vector<LinkedBlock> blocks;
    std::vector<Int> of_item;

  private:
    const LinkedBlock& at(std::size_t item) const { return blocks[static_cast<std::size_t>(of_item[item])]; }
};

}  // namespace qx::plan
