// The bits that a state has while its plan is made, and the prediction of a plan's time.
//
// States grow. As long as nothing has mixed a bit, the state is as large as if the bit did not exist. So the bits that the
// state has are one more near set, a level above the tiles, to which `grow` of locality.hpp adds as it does to a tile: all
// work within the light cone of few bits runs while the state is small, and less work is left for larger states.
//
// A prediction is a schedule that leaves out register blocks and coefficients. Candidate plans differ in the wires on the
// lowest index bits of a new state, whether the lowest bits change from sweep to sweep, and how the state
// grows. The lowest bits are in every tile, and in a growing state from its first sweep on. Nothing else about the order of
// the wires makes a difference to a plan: which wires are the lowest changes its predicted time by a factor of 0.67 to 1.35
// (decision 0006), and no simple rule finds good ones. So some choices are tried; see candidates.hpp.
#pragma once

#include <limits>

#include "planner/tiles/floating.hpp"

namespace qx::plan {

// Amounts of arithmetic, `above` left out.
struct Between {
    double above = 0, most = std::numeric_limits<double>::infinity();

    bool has(double amount) const { return above < amount && amount <= most; }
};

class Growth {
  public:
    // The arithmetic for which a state grows; see below.
    static double least(double worth, const Shape& shape) { return (worth != 0 ? worth : 1) * shape.balance; }

    // fresh: bits that no sweep has added yet. low: bits that are in the next tile. worth: the share of a pass's arithmetic
    // for which the state grows, where a diagonal costs its share of a table (`weighed`); 0 for a whole pass. last: bits
    // that join when no other work is left, however little that is.
    Growth(int num_bits, const Shape& shape, Mask fresh, Mask low, double worth, Mask last)
        : fresh{fresh}, num_bits_(num_bits), shape_(shape), least_(least(worth, shape)), low_{low}, every_{below(num_bits)},
          last_{last & fresh & ~low} {
        reach_ = every_.without(this->fresh) | low_;
    }

    Directions fresh;

    // Returns the next tile: the low bits, bits that let work run, and the lowest of the others. `reasons` are set to
    // those of the pending work.
    Directions tile(const Pending& pending, Reasons& reasons);
    // Lets a sweep leave on the lowest places what the next tile wants; returns whether bits change.
    bool float_low(const std::vector<Index>& ready, const Pending& left, Directions tile) {
        Directions before = low_;
        known_ = next_low(ready, left, tile, low_, reach_, every_, shape_, beyond_);
        return !(low_ == before);
    }
    // The bits that are in the next tile.
    Directions low() const { return low_; }
    // Tells that other work is pending than `float_low` was given.
    void change() { known_ = false; }
    // Records that all bits are there: the zeros of fresh bits have been written.
    void complete() { fresh = {}, reach_ = every_; }
    // The number of bits that the state has.
    int size() const { return num_bits_ - fresh.size(); }
    // The amounts of arithmetic for which the state would have grown as it did.
    Between same() const { return same_; }

  private:
    bool worth_a_sweep(const Reasons& reasons, Directions& out);
    Directions larger(const Pending& pending);
    bool enough(double arithmetic);

    int num_bits_;
    const Shape& shape_;
    double least_;  // the arithmetic for which the state grows
    Between same_;
    Directions low_, every_, last_;
    Directions reach_;  // bits that sweeps may have now
    Reasons beyond_;  // what work waits for beyond the next tile
    bool known_ = false;  // whether that is what work waits for with no bit near
};

// Returns pieces as scans see them, those that run in sweeps or all. weighed: whether a diagonal costs its share of a
// table.
std::vector<WorkOutline> outlines(const std::vector<Piece>& work, std::size_t most, bool weighed, bool in_sweeps);

// Returns work in which each diagonal is counted with the piece that was the last to mix all of its bits, if one was: it
// waits for the same, whatever bits are near, and nothing waits for it that does not wait for that piece.
std::vector<WorkOutline> with_diagonals(std::vector<WorkOutline> work);

// Returns the bits that are mixed, and for which only such work waits as mixes them alone.
Mask waited_for_last(const std::vector<WorkOutline>& work);

// Predicts plans of some work: schedules without register blocks and coefficients.
class CostEstimate {
  public:
    CostEstimate(const std::vector<Piece>& work, std::size_t looked_at, int num_bits, const Shape& shape, Mask fresh,
                 bool weighed);

    // The time of a plan, in passes over one amplitude, and the amounts of arithmetic for which the state grows like this.
    struct Prediction {
        double time;
        Between same;
    };

    // Predicts a plan for a state with the bits of `low` lowest; a time that is sure to be `most` or longer is not computed
    // to the end. floats: whether the lowest bits may change. worth: see Growth; 0 only where diagonals cost what they cost
    // alone. waits: whether bits join last for which hardly any work waits; no time is predicted if there are none.
    Prediction predict(Mask low, bool floats, double worth, double most, bool waits);

  private:
    double least_left(const Growth& growth, double work) const;

    const Shape& shape_;
    int num_bits_;
    Mask fresh_;
    std::vector<WorkOutline> work_;  // what runs in sweeps
    Mask last_;  // the fresh bits for which hardly any of it waits
    Pending pending_;  // all of it
    double sum_ = 0;  // its multiply-adds per amplitude
    Index mixing_[64] = {};  // how much of it mixes each bit
    Index mix_left_[64];     // and how much of what has not run
    Reasons reasons_;
    std::vector<Index> ready_;
};

}  // namespace qx::plan
