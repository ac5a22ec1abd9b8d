// A plan that is made in one choice.

#include "planner/choice/attempt.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "planner/tiles/step_time.hpp"

namespace qx::plan {

namespace {

Mask moved(Mask mask, const std::vector<int>& to) {
    Mask out = 0;
    each(mask, [&](int bit) { out |= unit(to[bit]); });
    return out;
}

}  // namespace

Layout moved(const Layout& layout, const std::vector<int>& to) {
    Layout out;
    for (int bit : layout.address) out.address.push_back(to[bit]);
    each(layout.flip, [&](int bit) { out.flip |= unit(to[bit]); });
    return out;
}

Attempt::Attempt(CandidatePlan given, PlanChoice choice, int num_bits, const Shape& shape, Mask fresh, bool places)
    : candidate(std::move(given)), floats(choice.floats), lows(count(choice.low)), num_bits_(num_bits),
      shape_(shape.with(lows)), places_(places) {
    if (choice.low != below(lows)) {
        std::vector<int> to(static_cast<std::size_t>(num_bits));
        int place = 0;
        each(choice.low, [&](int bit) { to[bit] = place++; });
        each(below(num_bits) & ~choice.low, [&](int bit) { to[bit] = place++; });
        move(to);
    }
    if (floats) floating_ = std::make_unique<Floating>(num_bits, shape_);
    outlines_ = outlines(candidate.work, candidate.work.size(), choice.worth != 0, false);
    scheduler_ = std::make_unique<Scheduler>(candidate.work, outlines_, num_bits, shape_, fresh, *candidate.context,
                                             candidate.program, steps, floating_.get(), choice.worth,
                                             choice.waits ? waited_for_last(outlines_) : 0);
}

bool Attempt::advance() {
    if (!scheduler_->done()) return scheduler_->advance();
    if (scheduler_->fresh()) scheduler_->clear(scheduler_->fresh());
    scheduler_.reset();
    if (floating_) settle();
    timed_ = 0, time_ = 0;  // now it is known which tiles are written back permuted
    std::vector<Piece>().swap(candidate.work);
    std::vector<WorkOutline>().swap(outlines_);
    return true;
}

// Puts the steps on the places of their bits; see Floating.
void Attempt::settle() {
    floating_->follow(steps.steps.size());
    BitPlaces begin = floating_->beginning(), end_places;  // a new state may begin anywhere
    if (!places_) std::iota(begin.begin(), begin.end(), 0);
    for (int place : floating_->at()) end_places.push_back(begin[place]);
    candidate.start = moved(candidate.start, begin), candidate.end = moved(candidate.end, end_places);
    floating_->settle(begin, steps, *candidate.context);
    floating_.reset();
}

// Puts all work on other bits: bit b becomes bit to[b].
void Attempt::move(const std::vector<int>& to) {
    reordered = true;
    candidate.start = moved(candidate.start, to), candidate.end = moved(candidate.end, to);
    for (Piece& piece : candidate.work) {
        Mask* words = candidate.context->words.data() + piece.words;
        for (int k = 0; k < 2 * piece.num_mixed + piece.num_reads; ++k) words[k] = moved(words[k], to);
        piece.mixed.units = moved(piece.mixed.units, to);
        piece.touched = moved(piece.touched, to);
        piece.when = {moved(piece.when.mask, to), moved(piece.when.value, to)};
    }
}

double Attempt::time() {
    for (; timed_ < steps.steps.size(); ++timed_)
        time_ += time_of(steps, steps.steps[timed_], num_bits_, shape_, *candidate.context);
    return time_;
}

}  // namespace qx::plan
