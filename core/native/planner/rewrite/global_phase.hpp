// The global phase: all factors that touch no bit become one number.
//
// A gate in rz, sx and cz is a cheaper matrix times a phase, so half of such a circuit's operations are phases of the whole
// state. They commute with all work, so none of the steps that look at pieces and their neighbours needs to see them.
#pragma once

#include "planner/coefficients/program.hpp"

namespace qx::plan {

class GlobalPhase {
  public:
    // Its late products have levels up to this one; those of other late products, which may take it, are above.
    static constexpr Index most_levels = 32;

    // Takes a piece that touches no bit; returns false for any other.
    bool takes(const Piece& piece, PlanContext& context);
    // Takes a phase that is made beside the numbers of Euler angles, by its place.
    void take_late(Index place, Index label);
    // Puts the product of all into some work, as one piece, unless it is 1: before what runs in the first sweep, so that it
    // needs none of its own.
    void join(std::vector<Piece>& work, PlanContext& context, CoefficientProgram& program);

  private:
    Places product(PlanContext& context, CoefficientProgram& program) const;

    std::vector<Index> places_;
    std::vector<Index> labels_;  // each once
    char class_ = one;           // of the product
    Index pattern_ = ~Index{0};  // of the piece that came last, and its class
    char last_ = one;
    Index level_ = 0;  // the highest among early products
    bool unitary_ = true, late_ = false;
};

}  // namespace qx::plan
