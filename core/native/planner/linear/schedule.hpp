// From work to sweeps in a CNOT frame that end in a plain layout, for a new state and for one that is there.
//
// Layouts are linear maps over GF(2), so CX moves nothing, and a tile is a subspace, spanned by directions.
//
// Tiles are chosen forwards (growth.hpp). The layouts between them are found backwards for a new state, whose first layout
// may be any (backward.hpp), and forwards for a state that is there, which begins in a plain one (forward.hpp). Then each
// sweep is written. A new state may grow for several amounts of arithmetic: some are tried, and the best plan is kept.
#pragma once

#include "planner/linear/attempt.hpp"

namespace qx::plan {

// The thresholds above which a plan in a CNOT frame is taken; `Promise` of Python says what each number means.
struct Promise {
    double cx_ratio, piece, gain;
};

// Whether work is so full of CX, and fits so well into tiles, that a plan in a CNOT frame may take less time. Toffolis do
// not count against it: ladders of them and of CX gain as ladders of CX do.
bool is_worth_trying(const std::vector<Piece>& work, int num_bits, const Shape& shape, const Promise& promise,
                     const PlanContext& context);

// Makes plans in a CNOT frame of work that has a plan on bits, too, a step at a time, and keeps the best.
class LinearPlanner {
  public:
    // grows: whether the work begins in |0...0>; else all amplitudes are there.
    LinearPlanner(CandidatePlan candidate, int num_bits, const Shape& shape, const Promise& promise, bool grows);

    // Compares the time of a plan on bits with what may be saved; returns whether a plan is to be made. most: one that takes
    // as long, or longer, is not; both in passes over the full state.
    bool pays(double on_bits, double most);
    // Does a bounded amount of work; returns false when all plans are made.
    bool advance();
    // The best plan, null if none takes clearly less time than the one on bits.
    LinearAttempt* better() { return best_ && best_->time() < most_ ? best_.get() : nullptr; }
    Mask flip() const { return work_.frame.flip; }

    CandidatePlan candidate;  // what plans are made from

  private:
    int num_bits_;
    bool grows_;
    const Shape& shape_;
    Promise promise_;
    FramedWork work_;
    double most_ = 0;  // a plan is better if it takes less
    std::unique_ptr<Order> order_;
    std::vector<double> worths_;  // the amounts of arithmetic for which the state grows that are tried
    std::size_t tried_ = 0;
    std::unique_ptr<LinearAttempt> attempt_, best_;
};

}  // namespace qx::plan
