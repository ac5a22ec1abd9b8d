// Bits by which a sweep lets a state grow although no work mixes them: kernels that are compiled store zeros there, and
// compute nothing of them. steps/unmixed.py has the rule in full.
#pragma once

#include "planner/tiles/sweep.hpp"

namespace qx::plan {

// Returns how many index bits of a sweep's tile are unmixed, for kernels that make use of it; else 0.
int count_unmixed(const Step& sweep, const StepArrays& steps, const PlanContext& context, const Shape& shape);

}  // namespace qx::plan
