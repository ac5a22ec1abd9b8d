// Plans in a CNOT frame, for a new state and for one that is there.

#include "planner/linear/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "planner/tiles/step_time.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

constexpr double least = 1;   // passes over a full state: no plan takes less
constexpr double crowd = 600;  // so many pieces of work take the planner twice as long, each of them, as few do
constexpr double half = 0.5;  // of the time that is saved may be spent on planning
constexpr double close = 1.15;  // if the first plan takes so many times what may be taken, none is made for another amount
// The amounts of arithmetic for which a state grows that are tried: where plans are compared, and elsewhere.
constexpr double compared[] = {0.35, 0.15}, others[] = {0.7, 0.35, 1};

}  // namespace

bool is_worth_trying(const std::vector<Piece>& work, int num_bits, const Shape& shape, const Promise& promise,
                     const PlanContext& context) {
    if (2 * shape.low > shape.tile || shape.tile >= num_bits) return false;
    std::size_t added = 0, mixing = 0;
    for (const Piece& piece : work) {
        if (!piece.in_a_sweep()) return false;
        mixing += piece.kind != Kind::diagonal && piece.kind != Kind::permute;
        added += changes_frame(piece, context);
    }
    return work.size() - added <= thresholds.scheduled_pieces &&
           static_cast<double>(added) >= promise.cx_ratio * static_cast<double>(mixing);
}

LinearPlanner::LinearPlanner(CandidatePlan candidate, int num_bits, const Shape& shape, const Promise& promise, bool grows)
    : candidate(std::move(candidate)), num_bits_(num_bits), grows_(grows), shape_(shape), promise_(promise),
      work_(this->candidate.work, num_bits, *this->candidate.context, grows) {
    if (!grows && !shape.floats) work_.turn_back(*this->candidate.context);
}

bool LinearPlanner::pays(double on_bits, double most) {
    most_ = std::min(promise_.gain * on_bits, most);
    double diagonals = 0, mixing = 0;
    for (std::size_t k = 0; k < work_.size(); ++k) (work_[k].piece.kind == Kind::diagonal ? diagonals : mixing) += 1;
    double saved = std::max(0.0, on_bits - least) * std::ldexp(1.0, num_bits_ - shape_.start);
    double pieces = mixing + diagonals / 10, one = promise_.piece * pieces * (1 + pieces / crowd);
    if (!grows_) worths_ = {1};
    else if (shape_.counted != 0) worths_.assign(std::begin(compared), std::end(compared));
    else worths_.assign(std::begin(others), std::end(others));
    while (!worths_.empty() && static_cast<double>(worths_.size()) * one > half * saved) worths_.pop_back();
    return work_.fits() && !worths_.empty();
}

bool LinearPlanner::advance() {
    if (!order_) order_ = std::make_unique<Order>(work_);
    if (!attempt_) {
        double most = best_ ? best_->time() : close * most_;
        attempt_ =
            std::make_unique<LinearAttempt>(candidate, work_, *order_, num_bits_, shape_, grows_, worths_[tried_++], most);
    }
    if (attempt_->advance()) return true;
    if (attempt_->fits() && (!best_ || attempt_->time() < best_->time())) best_ = std::move(attempt_);
    attempt_.reset();
    return best_ && tried_ < worths_.size();
}

}  // namespace qx::plan
