// Sweeps whose kernels a GPU's instruction caches do not hold, as several.
//
// A kernel is straight code, and one of more than about 170 KB takes 1.5 to 4 times as long as its arithmetic (H200). The
// same work in several sweeps reads and writes the state once more each, most of which its arithmetic hides.
#pragma once

#include "planner/tiles/sweep.hpp"

namespace qx::plan {

// Cuts long sweeps of a state of 2^num_bits amplitudes, on places that do not change any more; returns for each step behind
// how many steps it ends now, and nothing if all are as they were.
std::vector<std::size_t> cut_long_sweeps(StepArrays& steps, int num_bits, const Shape& shape, PlanContext& context);

}  // namespace qx::plan
