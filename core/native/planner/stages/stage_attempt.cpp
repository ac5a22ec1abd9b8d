// The stages of one plan, one after another.

#include "planner/stages/stage_attempt.hpp"

#include <algorithm>

#include "base/sorting.hpp"

namespace qx::plan {

namespace {

constexpr std::size_t pairs_at_once = 4;  // of bits that change places in one permutation

}  // namespace

StageAttempt::StageAttempt(CandidatePlan given, Division division, const StageChoice& choice, int num_bits,
                           const Levels& levels, const Shape& shape, Mask fresh)
    : choice(choice), candidate(std::move(given)), positions(num_bits, levels, fresh, division, choice),
      division_(std::move(division)), num_bits_(num_bits), levels_(levels), shape_(shape), floats_(choice.plan.floats) {
    for (const std::vector<StageWork>& portions : division_.passes)
        for (const StageWork& portion : portions) floats_ = floats_ && portion.swaps.empty();
    begin({});
}

Progress StageAttempt::advance() {
    if (scheduler_) {
        if (!scheduler_->done() && !scheduler_->advance()) return Progress::stuck;
        if (scheduler_->done()) worked_off();
    } else if (!then_.empty()) {
        Act act = then_.front();
        then_.pop_front();
        (this->*act)();
    } else if (cleared_) {
        return Progress::done;
    } else {
        next_portion();
    }
    return stuck_ ? Progress::stuck : Progress::busy;
}

void StageAttempt::next_portion() {
    while (pass_ < division_.passes.size() && portion_ == division_.passes[pass_].size()) ++pass_, portion_ = 0;
    if (pass_ < division_.passes.size()) return bring();
    cleared_ = true;
    then_ = {&StageAttempt::work_off, &StageAttempt::clear, &StageAttempt::work_off, &StageAttempt::close};
}

// The bits that this portion and the following ones need: those of its pass, or all if there is one.
Needs StageAttempt::later() const {
    Needs out;
    std::size_t last = positions.migrated ? pass_ + 1 : division_.passes.size();
    for (std::size_t k = pass_; k < last; ++k)
        for (std::size_t j = k == pass_ ? portion_ : 0; j < division_.passes[k].size(); ++j)
            out.push_back(division_.passes[k][j].needs);
    return out;
}

// The bits that this pass and the following ones need.
Needs StageAttempt::windows() const {
    Needs out;
    for (std::size_t k = pass_; k < division_.passes.size(); ++k) {
        Mask needs = 0;
        for (const StageWork& one : division_.passes[k]) needs |= one.needs;
        out.push_back(needs);
    }
    return out;
}

// Begins a new stage if a portion needs bits that are not local.
void StageAttempt::bring() {
    bool begins = positions.migrated && !portion_ && (!in_pass() || windows()[0] & ~positions.window());
    if (begins) then_ = {&StageAttempt::work_off, &StageAttempt::close, &StageAttempt::begin_pass};
    else if (portion().needs & ~positions.local()) then_ = {&StageAttempt::work_off, &StageAttempt::begin_exchange};
    then_.push_back(&StageAttempt::add);
}

void StageAttempt::begin_pass() {
    Pairs swaps;
    if (levels_.ranks) {
        Needs turns(division_.turns.begin() + static_cast<std::ptrdiff_t>(pass_), division_.turns.end());
        stuck_ = !positions.exchange_homes(turns, swaps);
        if (stuck_) return;
    }
    Needs needs = windows();
    begin(positions.migrate(needs[0], later(), needs, std::move(swaps)));
}

void StageAttempt::begin_exchange() {
    Motion motion;
    stuck_ = !positions.exchange(later(), motion);
    if (stuck_ || motion.kind == Motion::none) return;
    close();
    begin(std::move(motion));
}

void StageAttempt::add() {
    if (!portion().swaps.empty()) {
        then_.insert(then_.begin(), {&StageAttempt::work_off, &StageAttempt::shuffle});
        return;
    }
    const StageWork& now = division_.passes[pass_][portion_++];
    work_.insert(work_.end(), now.work.begin(), now.work.end());
}

// Lets pairs of local bits change places in memory.
void StageAttempt::shuffle() {
    const Pairs& swaps = portion().swaps;
    clear_fresh(positions.local_fresh());
    for (std::size_t first = 0; first < swaps.size(); first += pairs_at_once) {
        Pairs pairs(swaps.begin() + static_cast<std::ptrdiff_t>(first),
                    swaps.begin() + static_cast<std::ptrdiff_t>(std::min(first + pairs_at_once, swaps.size())));
        Step step{};
        step.type = Step::basis_permutation, step.label = candidate.context->labels.of("room for a wide operation");
        step.words = static_cast<Int>(candidate.context->words.size()), step.num_bits = static_cast<Int>(2 * pairs.size());
        Index odd = 0, size = Index{1} << 2 * pairs.size();
        for (std::size_t k = 0; k < pairs.size(); ++k) {
            odd |= Index{1} << 2 * k;
            for (int bit : {pairs[k].first, pairs[k].second})
                candidate.context->words.push_back(unit(positions.at[static_cast<std::size_t>(bit)]));
        }
        step.to = static_cast<Int>(candidate.context->values.size());
        for (Index x = 0; x < size; ++x) candidate.context->values.push_back((x & odd) << 1 | (x >> 1 & odd));
        step.packed = static_cast<Int>(steps.packed.size());
        steps.steps.push_back(step);
        positions.swap(pairs);
    }
    const StageWork& now = division_.passes[pass_][portion_++];
    work_.insert(work_.end(), now.work.begin(), now.work.end());
}

bool StageAttempt::in_pass() const {
    return motion_.kind != Motion::none ||
           std::any_of(stages.begin(), stages.end(), [](const StageRow& one) { return one.motion.kind != Motion::none; });
}

void StageAttempt::begin(Motion motion) {
    motion_ = std::move(motion);
    stage_fresh_ = positions.places(positions.fresh);
}

// Finishes the current stage, if it has steps.
void StageAttempt::close() {
    std::size_t before = stages.empty() ? 0 : stages.back().end;
    if (steps.steps.size() > before) stages.push_back({steps.steps.size(), motion_, stage_fresh_});
}

// Begins to turn the work collected so far into steps.
void StageAttempt::work_off() {
    if (work_.empty()) return;
    sort_ascending(work_);
    auto to = [&](Mask mask) { return positions.places(mask); };
    pieces_.clear();
    std::vector<Mask>& words = candidate.context->words;
    for (Index number : work_) {
        Piece piece = candidate.work[number];
        std::uint32_t from = piece.words;
        piece.words = static_cast<std::uint32_t>(words.size());
        for (int k = 0; k < 2 * piece.num_mixed + piece.num_reads; ++k)
            words.push_back(to(words[from + static_cast<std::uint32_t>(k)]));
        piece.mixed.units = to(piece.mixed.units), piece.touched = to(piece.touched);
        piece.when = {to(piece.when.mask), to(piece.when.value)};
        pieces_.push_back(piece);
    }
    work_.clear();
    outlines_ = outlines(pieces_, pieces_.size(), choice.plan.worth != 0, false);
    fresh_before_ = positions.local_fresh(), first_step_ = steps.steps.size();
    if (floats_) {
        floating_ = std::make_unique<Floating>(num_bits_, shape_, Directions{positions.places(division_.far)});
        floating_->follow(first_step_);
    }
    scheduler_ = std::make_unique<Scheduler>(pieces_, outlines_, levels_.local, shape_, fresh_before_, *candidate.context,
                                             candidate.program, steps, floating_.get(), choice.plan.worth);
}

void StageAttempt::worked_off() {
    positions.written(fresh_before_ & ~scheduler_->fresh());
    scheduler_.reset();
    if (!floating_) return;
    floating_->follow(steps.steps.size());
    floating_->settle_from(first_step_, steps, *candidate.context);
    positions.moved(floating_->at());
    floating_.reset();
}

void StageAttempt::clear_fresh(Mask places) {
    if (!places) return;
    Step step{};
    step.type = Step::zero_fill, step.fresh = static_cast<Int>(places), step.packed = static_cast<Int>(steps.packed.size());
    steps.steps.push_back(step);
    positions.written(places);
}

// Writes, at the end, the zeros of fresh bits whose homes are local index bits.
void StageAttempt::clear() {
    std::vector<int> homes = positions.homes();
    each(positions.fresh, [&](int bit) {
        if (homes[static_cast<std::size_t>(bit)] < levels_.local) owed_ |= unit(bit);
    });
    if (positions.migrated && owed_ & ~(in_pass() ? positions.local() : 0)) {
        close();
        begin(positions.migrate(owed_, {owed_}, {owed_}, {}));
    }
    clear_fresh(positions.places(owed_));
}

}  // namespace qx::plan
