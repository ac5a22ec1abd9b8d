// The best plan for one device: candidates are made one after another, and of several the fastest is kept.
//
// choose the default by predictions -> make it -> in a CNOT frame, where that may pay -> choose others -> make them -> cut
// long sweeps.
#pragma once

#include "planner/choice/attempt.hpp"
#include "planner/linear/schedule.hpp"

namespace qx::plan {

class BestPlan {
  public:
    // lows: as `CandidateSearch` takes them. most: a plan is wanted if it takes less, in passes over the full state.
    BestPlan(CandidatePlan given, int num_bits, const Shape& shape, Mask fresh, std::vector<Mask> lows,
             const Promise& promise, double most);

    enum class State { choose, attempt, linear, others, done, longer, stuck };

    // Does a bounded amount of work; the last state is `done`, `longer` if the plan takes as long as nobody wants, or
    // `stuck` if a sweep would run no work.
    State advance();
    // The candidate whose plan is in the making or is made; null between them.
    const CandidatePlan* current() const;

    CandidatePlan candidate{{}, CoefficientProgram(0), {}, {}, {}};  // of the best plan, once it is done
    StepArrays steps;
    bool reordered = false, floats = false, linear = false;
    int lows = 0;  // how many bits are lowest

  private:
    State choose();
    State attempt();
    State next_attempt();
    State try_linear();
    State on_bits();
    State finish();
    void begin_attempt(PlanChoice choice, bool is_last);
    bool has(Rule rule) const { return shape_.rules.has(rule); }
    Shape final_shape() const { return shape_.with(lows); }

    const int num_bits_;
    const Shape shape_;
    const Mask fresh_;
    const std::vector<Mask> lows_;
    const Promise promise_;
    const double most_;
    State state_ = State::choose;
    CandidatePlan left_;  // for the next candidates
    CandidateSearch search_;
    std::size_t attempts_ = 0;  // at other candidates than the default
    std::unique_ptr<Attempt> attempt_, made_;  // the plan in the making, and the best that is made
    std::unique_ptr<LinearPlanner> linear_;
};

}  // namespace qx::plan
