// One sweep over a subspace, from its tile and its work.
#pragma once

#include "planner/linear/backward.hpp"
#include "planner/tiles/sweep.hpp"

namespace qx::plan {

// Writes sweeps in a CNOT frame, one after another.
class LinearSweeps {
  public:
    LinearSweeps(const FramedWork& work, const Shape& shape, PlanContext& context, CoefficientProgram& program,
                 StepArrays& out)
        : work_(work), shape_(shape), context_(context), blocks_(shape, context, program, out) {}

    // Appends a sweep; false if register blocks do not hold all of its work.
    bool write(const TileVisit& visit, const Around& around);

  private:
    const FramedWork& work_;
    const Shape& shape_;
    PlanContext& context_;
    RegisterBlockWriter blocks_;
};

}  // namespace qx::plan
