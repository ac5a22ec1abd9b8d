// The bits that a state has while its plan is made, and the order of the bits of a new state.
//
// As long as nothing has mixed a bit, the state is as large as if the bit did not exist. So the bits that the state has
// are one more near set, a level above the tiles.
#pragma once

#include "plan_floating.hpp"

namespace qx::plan {

class Growth {
  public:
    // fresh: bits that no sweep has added yet. low: bits that are in the next tile.
    Growth(int num_bits, const Shape& shape, Mask fresh, Mask low)
        : fresh{fresh}, num_bits_(num_bits), shape_(shape), low_{low}, every_{below(num_bits)} {
        reach_ = every_.without(this->fresh) | low_;
    }

    Directions fresh;

    // Returns the next tile: the low bits, bits that let work run, and the lowest of the others. `reasons` are set to
    // those of the pending work.
    Directions tile(const Pending& pending, std::vector<Directions>& reasons);
    // Lets a sweep leave on the lowest places what the next tile wants; returns whether bits change.
    bool float_low(const std::vector<Index>& ready, const Pending& left, Directions tile) {
        Directions before = low_;
        low_ = next_low(ready, left, tile, low_, reach_, every_, shape_);
        return !(low_ == before);
    }
    // The bits that are in the next tile.
    Directions low() const { return low_; }
    // Records that all bits are there: the zeros of fresh bits have been written.
    void complete() { fresh = {}, reach_ = every_; }
    // The number of bits that the state has.
    int size() const { return num_bits_ - fresh.size(); }

  private:
    bool worth_a_sweep(const Pending& pending, const std::vector<Directions>& reasons, Directions& out) const;
    Directions larger(const Pending& pending) const;

    int num_bits_;
    const Shape& shape_;
    Directions low_, every_;
    Directions reach_;  // bits that sweeps may have now
};

// Returns the time of a plan for a state with the bits of `low` lowest, in passes over one amplitude; a time that is
// sure to be `most` or longer is not computed to the end. seen: the share of the shorter time, of memory and arithmetic,
// that the longer one does not hide. floats: whether the lowest bits may change.
double foresee(const std::vector<Outline>& work, int num_bits, const Shape& shape, Mask fresh, Mask low, double most,
               double seen = 0, bool floats = false);

}  // namespace qx::plan
