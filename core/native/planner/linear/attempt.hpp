// A candidate plan in a CNOT frame: for one amount of arithmetic for which a new state grows.
#pragma once

#include <memory>

#include "planner/choice/attempt.hpp"
#include "planner/linear/sweep.hpp"

namespace qx::plan {

class LinearAttempt {
  public:
    // grows, worth: see GrowingSpace. most: a plan that takes as long, or longer, is not made to the end.
    LinearAttempt(const CandidatePlan& candidate, const FramedWork& work, const Order& order, int num_bits,
                  const Shape& shape, bool grows, double worth, double most)
        : program(candidate.program), candidate_(candidate), work_(work), num_bits_(num_bits), grows_(grows), shape_(shape),
          most_(most), growth_(work, order, shape, grows, worth) {}

    // Does a bounded amount of work; returns false when the plan is done.
    bool advance();
    // Whether it was made to the end: register blocks hold all work.
    bool fits() const { return fits_; }
    // In passes over a full state.
    double time() const { return time_; }

    StepArrays steps;
    std::unique_ptr<PlanContext> context;
    CoefficientProgram program;
    std::vector<int> at;  // for each bit that the work names the index bit that it is on in the end

  private:
    void place();
    void place_new();
    void place_there();
    void finish();
    Mask zeros() const;

    const CandidatePlan& candidate_;
    const FramedWork& work_;
    int num_bits_;
    bool grows_;
    const Shape& shape_;
    double most_;
    GrowingSpace growth_;
    std::vector<TileVisit> visits_;  // all sweeps, once they were chosen
    std::vector<Around> around_;     // and the layouts around them
    std::unique_ptr<LinearSweeps> sweeps_;
    std::size_t written_ = 0;
    bool fits_ = false;
    double time_ = 0;
};

}  // namespace qx::plan
