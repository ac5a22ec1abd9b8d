// A candidate plan in a CNOT frame.

#include "planner/linear/attempt.hpp"

#include <memory>

#include "planner/linear/forward.hpp"
#include "planner/tiles/step_time.hpp"

namespace qx::plan {

bool LinearAttempt::advance() {
    if (!growth_.done()) return growth_.advance() && growth_.passes() < most_;
    if (!sweeps_) {
        place();
        return true;
    }
    if (written_ < visits_.size()) {
        bool written = sweeps_->write(visits_[written_], around_[written_]);
        ++written_;
        if (written) time_ += time_of(steps, steps.steps.back(), num_bits_, shape_, *context);
        return written && time_ < most_;
    }
    finish();
    return false;
}

// Finds where the state lies around each sweep.
void LinearAttempt::place() {
    at.assign(static_cast<std::size_t>(num_bits_), -1);
    if (grows_) place_new();
    else place_there();
    context = std::make_unique<PlanContext>(*candidate_.context);
    sweeps_ = std::make_unique<LinearSweeps>(work_, shape_, *context, program, steps);
}

// A new state is in order in the end, but for the bits that have to be lowest.
void LinearAttempt::place_new() {
    int next = 0;
    for (int bit : growth_.lowest) at[qx::plan::at(bit)] = next++;
    for (int& place : at)
        if (place < 0) place = next++;
    Map columns, end;
    for (int place : at) columns.push_back(unit(place));
    for (Mask vector : inverse(work_.frame.directions)) end.push_back(image(columns, vector));
    visits_ = std::move(growth_.visits);
    around_ = placed(visits_, end, zeros(), shape_.low);
}

void LinearAttempt::place_there() {
    Walk walk = walked(growth_.visits, work_.frame.directions, growth_.lowest, shape_.tile, !shape_.floats);
    for (std::size_t place = 0; place < walk.bits.size(); ++place)
        at[qx::plan::at(walk.bits[place])] = static_cast<int>(place);
    for (std::size_t k = 0; k < walk.visits.size(); ++k)
        around_.push_back({inverse(walk.layouts[k]), inverse(walk.layouts[k + 1]), 0});
    visits_ = std::move(walk.visits);
}

// Returns the index bits whose zeros no sweep has written in the end.
Mask LinearAttempt::zeros() const {
    Mask out = 0;
    for (int wire : growth_.left) out |= unit(at[qx::plan::at(wire)]);
    return out;
}

void LinearAttempt::finish() {
    if (Mask left = zeros()) {
        Step step{};
        step.type = Step::zero_fill, step.fresh = static_cast<Int>(left);
        step.packed = static_cast<Int>(steps.packed.size());
        steps.steps.push_back(step);
    }
    sweeps_.reset();
    fits_ = true, time_ = time_of(steps, num_bits_, shape_, *context);
}

}  // namespace qx::plan
