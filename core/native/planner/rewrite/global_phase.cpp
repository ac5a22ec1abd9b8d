// The global phase: all factors that touch no bit become one number.

#include "planner/rewrite/global_phase.hpp"

#include <algorithm>
#include <bit>

#include "planner/rewrite/fuse.hpp"

namespace qx::plan {

namespace {

constexpr Index one_at = 1;  // the place of the number 1

void add_once(Index label, std::vector<Index>& labels) {
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
}

}  // namespace

bool GlobalPhase::takes(const Piece& piece, PlanContext& context) {
    if (piece.kind != Kind::diagonal || piece.touched) return false;
    if (piece.pattern != pattern_) {
        pattern_ = piece.pattern;
        last_ = context.patterns[context.patterns.plain(pattern_)][0];
    }
    class_ = times(class_, last_);
    places_.push_back(context.place(piece.source, 0));
    add_once(piece.label, labels_);
    level_ = std::max(level_, piece.level);
    unitary_ = unitary_ && piece.unitary;
    return true;
}

void GlobalPhase::take_late(Index place, Index label) {
    class_ = complex_;
    places_.push_back(place);
    add_once(label, labels_);
    late_ = true;
}

void GlobalPhase::join(std::vector<Piece>& work, PlanContext& context, CoefficientProgram& program) {
    if (class_ == one) return;
    Piece made;
    made.kind = Kind::diagonal;
    made.unitary = unitary_;
    made.pattern = context.patterns.of({&class_, 1});
    made.label = joined_label(labels_, context);
    made.source = product(context, program);
    context.put(made, nullptr, 0, nullptr, 0);
    work.insert(std::find_if(work.begin(), work.end(), [](const Piece& piece) { return piece.in_a_sweep(); }), made);
}

// Multiplies the second half of the numbers by the first half, entry by entry, until one is left.
Places GlobalPhase::product(PlanContext& context, CoefficientProgram& program) const {
    if (places_.size() == 1) return {places_[0], 1};
    const std::size_t at = context.places.size(), size = std::bit_ceil(places_.size());
    context.places.insert(context.places.end(), places_.begin(), places_.end());
    context.places.resize(at + size, one_at);
    Places all{0, static_cast<Index>(size), static_cast<Index>(at)};
    for (Index level = late_ ? 0 : level_; all.count > 1;) {
        const Index half = all.count / 2;
        Factor left = PlanContext::factor(all), right{left.at + half, left.form};
        all = program.product({late_, ++level, half, 1, 1}, left, right);
    }
    return all;
}

}  // namespace qx::plan
