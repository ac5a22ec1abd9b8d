// The cost of stages between memories, by which candidate plans are compared; the formulas of Python's `cost`, which
// has them for `explain`.
#pragma once

#include "planner/stages/levels.hpp"
#include "planner/tiles/sweep.hpp"

namespace qx::plan {

// The rates of each device of a machine, per second: `Rates`.
struct Rates {
    double memory, fma, seen, peer, host, host_both, host_all, homes, launch, exchange;
};

// Bytes of an amplitude in single precision, by which plans are compared.
constexpr double single = 8;

struct StageCost {
    double windows = 1, devices = 1, memory = 0, fma = 0, sent = 0, work = 0, moving = 0, copying = 0, ends = 0;
};

// The seconds of the work of stages so far, at least: those of their steps on all windows. It is never more than `seconds`.
class LeastWork {
  public:
    LeastWork(int num_bits, const Levels& levels, const Shape& shape, const Rates& rates)
        : num_bits_(num_bits), levels_(levels), shape_(shape), rates_(rates) {}

    // Adds the steps that are new; fresh: the positions that are fresh at the beginning of their stage.
    double upto(const StepArrays& steps, PlanContext& context, Mask fresh);

  private:
    int num_bits_;
    const Levels& levels_;
    const Shape& shape_;
    const Rates& rates_;
    std::size_t timed_ = 0;
    double time_ = 0;
};

// Returns the cost of every stage of a state of `num_bits` index bits.
std::vector<StageCost> stage_costs(const std::vector<StageRow>& stages, const StepArrays& steps, PlanContext& context,
                                   int num_bits, const Levels& levels, const Shape& shape, const Rates& rates);

// Returns the time of a plan: for each pass the longer of work and copies, and the ends that do not overlap.
double seconds(const std::vector<StageRow>& stages, const std::vector<StageCost>& costs);

}  // namespace qx::plan
