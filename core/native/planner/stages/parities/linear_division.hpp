// The division of work into stages with far parities, and when one is looked for.
//
// A plan of far parities (far_parities.hpp, then on_bits.hpp) has other work than a plan of far bits: CX that the circuit
// does not have, and not those that it has. From then on it is a plan on bits.
#pragma once

#include "planner/choice/attempt.hpp"
#include "planner/stages/division.hpp"
#include "planner/stages/parities/on_bits.hpp"
#include "planner/stages/stage_cost.hpp"

namespace qx::plan {

// For each bit of the work the bit that it has become in the end; none for plans of bits. flip: those that are inverted
// then.
struct Renamed {
    std::vector<int> at;
    Mask flip = 0;
};

// Returns how many passes a division has, or one more than it has exchanges.
int motions(const Division& division, int num_bits, const Levels& levels, Mask fresh);

// Returns seconds that a division takes at least, in single precision: those of the copies of its passes.
double least_seconds(const Division& division, int num_bits, const Levels& levels, Mask fresh, const Rates& rates);

// Looks for a division with far parities that has at most so many passes, or fewer exchanges.
class LinearSearch {
  public:
    // stays: whether a full state in host memory ends in the layout in which it begins.
    LinearSearch(const CandidatePlan& candidate, int num_bits, const Levels& levels, Mask fresh, int most, bool stays);

    // Does a bounded amount of work; returns false when it is known whether there is one.
    bool advance();
    bool found() const { return found_; }
    // The candidate with the work of the division.
    CandidatePlan take_draft() { return std::move(*candidate_); }

    Division division;
    Renamed renamed;

  private:
    bool may_be(const CandidatePlan& candidate) const;
    void write();

    int num_bits_;
    const Levels& levels_;
    bool new_, stays_, found_ = false;
    int left_ = 0;  // how many stages there may be still
    std::unique_ptr<CandidatePlan> candidate_;
    std::unique_ptr<FramedWork> framed_;
    Vectors candidates_;
    std::unique_ptr<FarParities> search_;
};

}  // namespace qx::plan
