// The position of each bit of the work while a plan is made, and the motions that bring bits near.
//
// Work is written in the bits of the plan's start. A bit's *position* is the index bit that a step sees; its *home* is the
// index bit at rest: the position itself, or in a migrated state the index bit in host memory.
#pragma once

#include "planner/choice/candidates.hpp"
#include "planner/stages/division.hpp"

namespace qx::plan {

// What candidate plans with stages differ in; staging.hpp says which are tried.
struct StageChoice {
    PlanChoice plan;
    int most = 0;
    bool steadily = true, nested = false, together = false, shares = false;

    bool operator==(const StageChoice& other) const {
        return plan.low == other.plan.low && plan.floats == other.plan.floats && plan.worth == other.plan.worth &&
               most == other.most && steadily == other.steadily && nested == other.nested && together == other.together &&
               shares == other.shares;
    }
};

// The bits that some portions or passes need, one after another.
using Needs = std::vector<Mask>;

class Positions {
  public:
    Positions(int num_bits, const Levels& levels, Mask fresh, const Division& division, const StageChoice& choice);

    Mask fresh;           // bits that nothing has mixed
    Mask low;             // bits that lie below the slice, which no motion takes
    std::vector<int> at;  // the position of each bit
    bool migrated;

    // The positions of a mask of bits, and the bits on a mask of positions.
    Mask places(Mask bits) const;
    Mask bits(Mask places) const;
    Mask local() const { return bits(below(levels_.local)); }
    // The bits that are near during a pass.
    Mask window() const { return bits(below(levels_.local + levels_.peers)); }
    Mask local_fresh() const { return places(fresh) & below(levels_.local); }
    // The index bit of each bit at rest, and at the start.
    std::vector<int> homes() const;
    std::vector<int> starts() const;

    // Marks the bits on these positions as no longer fresh.
    void written(Mask places) { fresh &= ~bits(places); }
    // Records that bits have changed places in device memory; the second of each pair was below the slice.
    void swap(const Pairs& pairs);
    // Records that sweeps have moved amplitudes: what was on position p is on to[p].
    void moved(const std::vector<int>& to);
    // Finds the exchange that makes the bits of later[0] local, of kind `none` if they are; false if too few can leave.
    bool exchange(const Needs& later, Motion& out);
    // Finds the exchange between ranks, at home, that gets the bits of turns[0] into the part of each rank.
    bool exchange_homes(const Needs& turns, Pairs& out);
    // Begins a pass, and returns its migration; `swaps` are those of `exchange_homes` before it.
    Motion migrate(Mask needed, const Needs& later, const Needs& passes, Pairs swaps);

  private:
    // The bits whose values are parts of different ranks.
    Mask away() const { return bits(below(num_bits_) & ~below(num_bits_ - levels_.ranks)); }
    void rest();
    void swap_places(int one, int other);
    void more(std::vector<int> leaving, std::size_t taken, const std::vector<int>& others, const Needs& later, bool equal,
              Pairs& pairs) const;
    Mask renamed(Mask coming, Mask needed, Mask near);
    std::vector<int> to_give_away(const Needs& later, Mask bits) const;

    int num_bits_;
    const Levels& levels_;
    bool together_, shares_;
    std::vector<int> home_;    // of each position
    std::vector<int> source_;  // for each position, where its amplitudes were at the start
};

}  // namespace qx::plan
