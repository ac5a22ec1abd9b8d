// The steps of a plan, and what their numbers refer to: all that encoders read. A planner makes them; sweeps that Python
// made are read from arrays (`qx_sweeps_read`).
#pragma once

#include <memory>

#include "planner/tiles/sweep.hpp"

namespace qx::plan {

struct PlanSteps {
    StepArrays steps;
    std::unique_ptr<PlanContext> context;
};

}  // namespace qx::plan
