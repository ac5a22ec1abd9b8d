// Low bits that change from sweep to sweep.
//
// Memory is touched in whole pieces, so the lowest index bits are in every tile. But a sweep may write its tile back with
// the bits permuted, and so leave on the lowest bits whatever the next sweep wants there: it is enough that two tiles that
// follow each other share as many bits as are low.
//
// Sweeps are planned in the bits that the work names; `Floating` knows where each of them is, and at the end all steps are
// put on the places of their bits.
#pragma once

#include "planner/circuit.hpp"
#include "planner/locality.hpp"

namespace qx::plan {

struct StepArrays;

using BitPlaces = std::vector<int>;  // for each bit that work names the index bit that it is on

// Where bits are while sweeps move them.
class Floating {
  public:
    // high: bits that never become lowest.
    Floating(int num_bits, const Shape& shape, Directions high = {});

    const Directions high;

    // Lets the bits of `low` change places with those that are lowest.
    void store(Directions low);
    // Notes that there are so many steps now.
    void follow(std::size_t steps) { trail_.resize(steps, at_); }
    // The bits that lie across the lanes of a thread block, see Shape.
    Directions edge() const { return on(shape_.edge); }
    const BitPlaces& at() const { return at_; }
    // Where bits may begin, in a new state, so that they are in order in the end.
    BitPlaces beginning() const;
    // Puts all steps on the places of their bits, given where bits begin. Of the words of the context only theirs are left.
    void settle(const BitPlaces& begin, StepArrays& steps, PlanContext& context) const;
    // Puts steps from a number on onto the places of their bits, which begin in order; work keeps its words.
    void settle_from(std::size_t first, StepArrays& steps, PlanContext& context) const;

  private:
    Directions on(int count) const;
    std::vector<Mask> settled(const BitPlaces& begin, std::size_t first, Int offset, StepArrays& steps,
                              const PlanContext& context) const;

    const Shape& shape_;
    BitPlaces at_;
    Directions low_;
    std::vector<BitPlaces> trail_;  // the places after each step
};

// Finds the bits that a sweep leaves on the lowest places: bits of its tile, with which the next tile does most. ready: the
// work of the sweep. left: the work behind it. low: the bits that are lowest now, and then. reach, every: see Growth.
// Returns whether `reasons` are those of the work behind it with no bit near; else nothing changes.
bool next_low(const std::vector<Index>& ready, const Pending& left, Directions tile, Directions& low, Directions reach,
              Directions every, const Shape& shape, Reasons& reasons);

}  // namespace qx::plan
