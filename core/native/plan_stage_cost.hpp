// The cost of stages between memories; see qsim_ex.planning.cost.stage_cost, which this file reads like.
#pragma once

#include "plan_levels.hpp"
#include "plan_sweep.hpp"

namespace qx::plan {

// The rates of each device of a machine, per second, and what single precision takes within tiles: `Rates` and `Precision`.
struct Rates {
    double memory, fma, seen, peer, host, host_both, host_all, homes, launch, trade;
    double phase_work, permuted_work;
};

// Bytes of an amplitude in single precision, by which plans are compared.
constexpr double single = 8;

struct StageCost {
    double windows = 1, devices = 1, memory = 0, fma = 0, sent = 0, work = 0, moving = 0, copying = 0, ends = 0;
};

// Returns the cost of every stage of a state of `num_bits` index bits.
std::vector<StageCost> stage_costs(const std::vector<StageRow>& stages, const StepArrays& steps, Book& book, int num_bits,
                                   const Levels& levels, const Shape& shape, const Rates& rates);

// Returns the time of a plan: for each pass the longer of work and copies, and the ends that do not overlap.
double seconds(const std::vector<StageRow>& stages, const std::vector<StageCost>& costs);

}  // namespace qx::plan
