// Sweeps whose kernels a GPU's instruction caches do not hold, as several.
//
// A kernel is straight code. Circuits with kernels of more than 170 KB took 0.83 to 1.05 of the time when these were cut,
// and what compiled for 10 to 20 s compiles in 3 to 5 (H200, decision 0008). Each part reads and writes the state once more,
// most of which its arithmetic hides.
#pragma once

#include "planner/tiles/sweep.hpp"

namespace qx::plan {

// Cuts long sweeps of a state of 2^num_bits amplitudes, on places that do not change any more; returns for each step behind
// how many steps it ends now, and nothing if all are as they were.
std::vector<std::size_t> cut_long_sweeps(StepArrays& steps, int num_bits, const Shape& shape, PlanContext& context);

}  // namespace qx::plan
