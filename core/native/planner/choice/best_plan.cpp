// The best plan for one device: candidates are made one after another, and of several the fastest is kept.

#include "planner/choice/best_plan.hpp"

#include <cmath>

#include "planner/tiles/long_sweeps.hpp"
#include "planner/tiles/step_time.hpp"

namespace qx::plan {

namespace {

// A plan on bits may be predicted to take so many times what is wanted, and the default may take so many times that: of 555
// that were made six took less than a third of what had been predicted, and two less than 0.53 of the default.
constexpr double doubt = 3, doubt_of_default = 1.5;

}  // namespace

BestPlan::BestPlan(CandidatePlan given, int num_bits, const Shape& shape, Mask fresh, std::vector<Mask> lows,
                   const Promise& promise, double most)
    : num_bits_(num_bits), shape_(shape), fresh_(fresh), lows_(std::move(lows)), promise_(promise), most_(most),
      left_(std::move(given)), search_(left_.work, num_bits, shape_, fresh, lows_) {}

BestPlan::State BestPlan::advance() {
    switch (state_) {
        case State::choose: return state_ = choose();
        case State::attempt: return state_ = attempt();
        case State::linear: return state_ = try_linear();
        case State::others: return state_ = search_.advance() ? State::others : next_attempt();
        case State::done:
        case State::longer:
        case State::stuck: return state_;
    }
}

const CandidatePlan* BestPlan::current() const {
    if (state_ == State::done) return &candidate;
    return attempt_ ? &attempt_->candidate : nullptr;
}

// Finds the default by predictions, one after another; see candidates.hpp.
BestPlan::State BestPlan::choose() {
    if (search_.advance()) return State::choose;
    const bool grows = fresh_ == below(num_bits_), whole = grows || !fresh_;
    const bool may_grow = !grows || has(Rule::growth);
    if (shape_.linear && whole && may_grow && is_worth_trying(left_.work, num_bits_, shape_, promise_, *left_.context))
        linear_ = std::make_unique<LinearPlanner>(left_.copy(), num_bits_, shape_, promise_, grows);
    const double passes = search_.least() / static_cast<double>(unit(num_bits_));
    if (passes > doubt * most_) return linear_ && linear_->pays(passes, most_) ? State::linear : State::longer;
    begin_attempt(search_.standard(), !search_.looks_on());
    return State::attempt;
}

// Begins the plan in some choice; the last one needs no copy.
void BestPlan::begin_attempt(PlanChoice choice, bool is_last) {
    CandidatePlan given = is_last ? std::move(left_) : left_.copy();
    attempt_ = std::make_unique<Attempt>(std::move(given), choice, num_bits_, shape_, fresh_, !lows_.empty());
}

// Goes on with the plan in one choice; of several the one is kept that takes least time, the first of equals.
BestPlan::State BestPlan::attempt() {
    if (!attempt_->advance()) return State::stuck;
    const bool worse = made_ && attempt_->time() >= made_->time();
    if (!attempt_->done() && !worse) return State::attempt;
    const bool is_first = !made_;
    if (!worse) made_ = std::move(attempt_);
    attempt_.reset();
    if (!is_first) return next_attempt();
    auto passes = [&] { return time_of(made_->steps, num_bits_, shape_.with(made_->lows), *made_->candidate.context); };
    return linear_ && linear_->pays(passes(), most_) ? State::linear : on_bits();
}

// Goes on with plans in a CNOT frame, and takes the best one if it is clearly better than the one on bits.
BestPlan::State BestPlan::try_linear() {
    if (linear_->advance()) return State::linear;
    LinearAttempt* found = linear_->better();
    if (!found) {
        linear_.reset();
        return on_bits();
    }
    linear = true, floats = shape_.floats && !fresh_, lows = shape_.low;
    steps = std::move(found->steps);
    const Layout& end = linear_->candidate.end;
    candidate = {std::move(found->context),
                 std::move(found->program),
                 {},
                 linear_->candidate.start,
                 moved({end.address, end.flip ^ linear_->flip()}, found->at)};
    made_.reset(), linear_.reset();
    cut_long_sweeps(steps, num_bits_, final_shape(), *candidate.context);
    return State::done;
}

// Goes on with plans on bits, if the default tells of one that is wanted.
BestPlan::State BestPlan::on_bits() {
    const double most = doubt_of_default * most_ * static_cast<double>(unit(num_bits_));
    return made_ && (shape_.counted == 0 || made_->time() <= most) ? State::others : State::longer;
}

BestPlan::State BestPlan::next_attempt() {
    const std::vector<PlanChoice>& others = search_.others();
    if (attempts_ == others.size()) return finish();
    const PlanChoice choice = others[attempts_++];
    begin_attempt(choice, attempts_ == others.size());
    return State::attempt;
}

BestPlan::State BestPlan::finish() {
    candidate = std::move(made_->candidate), steps = std::move(made_->steps);
    reordered = made_->reordered, floats = made_->floats, lows = made_->lows;
    made_.reset(), linear_.reset();
    cut_long_sweeps(steps, num_bits_, final_shape(), *candidate.context);
    const bool long_ = std::isfinite(most_) && time_of(steps, num_bits_, final_shape(), *candidate.context) >= most_;
    return long_ ? State::longer : State::done;
}

}  // namespace qx::plan
