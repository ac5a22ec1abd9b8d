// A candidate plan for one device (`PlanChoice`), and the time by which plans are compared (`time_of`).
#pragma once

#include <memory>

#include "planner/choice/candidates.hpp"
#include "planner/rewrite/absorb.hpp"
#include "planner/tiles/sweep.hpp"

namespace qx::plan {

// What a plan is made from, and what all steps refer to.
struct CandidatePlan {
    std::unique_ptr<PlanContext> context;
    CoefficientProgram program;
    std::vector<Piece> work;
    Layout start, end;

    CandidatePlan copy() const { return {std::make_unique<PlanContext>(*context), program, work, start, end}; }
};

class Attempt {
  public:
    // places: whether a new state may begin with its bits on any places.
    Attempt(CandidatePlan given, PlanChoice choice, int num_bits, const Shape& shape, Mask fresh, bool places);

    // Does a bounded amount of work; returns false if a sweep would run no work.
    bool advance();
    bool done() const { return !scheduler_; }
    // The time of the steps so far, in passes over a full state. Until all are made it leaves out that tiles are written
    // back permuted.
    double time();

    CandidatePlan candidate;
    StepArrays steps;
    bool reordered = false, floats = false;
    int lows;  // how many bits are lowest

  private:
    void move(const std::vector<int>& to);
    void settle();

    int num_bits_;
    const Shape shape_;
    bool places_;
    std::vector<WorkOutline> outlines_;
    std::unique_ptr<Floating> floating_;  // before the scheduler, which uses it
    std::unique_ptr<Scheduler> scheduler_;
    std::size_t timed_ = 0;  // so many steps are in the time
    double time_ = 0;
};

// Returns a layout after bit b has become bit to[b].
Layout moved(const Layout& layout, const std::vector<int>& to);

}  // namespace qx::plan
