// What steps take, by which plans are compared: one rule for all who ask, `explain` too.
#pragma once

#include "planner/tiles/sweep.hpp"

namespace qx::plan {

// Multiply-adds for each amplitude that a sweep computes: of its matrices and phases alone, and as how many all of it
// counts, with lookups, exchanges and permutations in a tile.
struct SweepWork {
    double arithmetic = 0, counted = 0;
};

SweepWork sweep_work(const Step& sweep, const StepArrays& steps, PlanContext& context, const Shape& shape);

// Returns the multiply-adds of an item's numbers for each amplitude of a thread, whatever other bits than `registers` say:
// that many stand in the code of a kernel.
double work_of_code(const Item& item, Mask registers, const Shape& shape, PlanContext& context);

// Returns the time of one of some steps, or of all, in passes over a full state.
double time_of(const StepArrays& steps, const Step& step, int num_bits, const Shape& shape, PlanContext& context);
double time_of(const StepArrays& steps, int num_bits, const Shape& shape, PlanContext& context);

}  // namespace qx::plan
