// From work to stages, for a state that is larger than the memory of one device.

#include "planner/stages/staging.hpp"

#include <memory>

#include "base/sorting.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

constexpr double little = 0.1;     // the share of the time that exchanges may take before another plan is tried
constexpr std::size_t pairs_at_once = 4;  // of bits that change places in one permutation
// A state may have so many bits more than `start` before it is spread over devices: one of 2^24 amplitudes is exchanged in
// 0.2 ms on H200s.
constexpr int larger = 4;
constexpr double patience = 0.35;  // the share of a run for which other candidates may be tried
constexpr double starts = 0.15;    // how many times as long making stages takes for a piece of work as starting a sweep
// The amounts of arithmetic for which a new state grows, in the order of the choices of its lowest bits. 142 plans (18
// families, 27 to 33 wires, 2 and 4 devices) took 1.07 times the least time of 17 candidates with the first, 1.04 with two,
// and 1.01 with all and one more; those of the default with its lowest bits at rest took 1.16.
constexpr double worths[] = {0.35, 0.0, 0.7, 0.0, 0.7};

std::vector<StageChoice> first_choices(const Levels& levels, const Shape& shape, Mask fresh, bool is_new,
                                       const std::vector<Mask>& lows) {
    bool floats = shape.floats && levels.slice >= shape.low;  // so that no bit that leaves is ever among the lowest
    if (!((levels.peers || levels.ranks) && fresh)) {
        std::vector<StageChoice> out{{{0, floats, 0}}};
        if (floats) out.push_back({{0, false, 0}});
        return out;
    }
    int most = std::min(shape.start + larger, levels.local);
    std::vector<StageChoice> found{{{below(shape.low), floats, worths[0]}, most}};
    for (std::size_t k = 0; is_new && k < lows.size(); ++k) found.push_back({{lows[k], floats, worths[k + 1]}, most});
    StageChoice at_once{{0, floats, 0}, std::min(shape.start, levels.local), false}, unspread = found[0];
    unspread.most = 0;
    found.insert(found.begin() + std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(found.size())), at_once);
    found.push_back(unspread);
    return found;
}

std::vector<StageChoice> other_choices(const StageChoice& choice, bool layered) {
    std::vector<StageChoice> out;
    for (int most : {choice.most, 0})
        for (bool nested : {false, layered})
            for (bool together : {false, layered}) {
                StageChoice one = choice;
                one.most = most, one.nested = nested, one.together = together;
                if (!(one == choice) && std::find(out.begin(), out.end(), one) == out.end()) out.push_back(one);
            }
    return out;
}

// Returns how many other candidates may be tried for a run of these costs, with so many pieces of work.
std::size_t tries(const std::vector<StageCost>& costs, std::size_t pieces, const Shape& shape) {
    double passes = 0;  // over one amplitude
    for (const StageCost& cost : costs)
        passes += std::max(cost.memory / (2 * single), cost.fma / shape.balance) / cost.devices;
    double sweeps = passes / static_cast<double>(unit(shape.start));
    double most = patience * sweeps / (starts * static_cast<double>(std::max<std::size_t>(1, pieces)));
    return static_cast<std::size_t>(std::min(most, 1e6));
}

}  // namespace

// --- one plan ------------------------------------------------------------------------------------------------------------

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

// --- several candidates
// --------------------------------------------------------------------------------------------------------

Dividing::Dividing(const std::vector<Piece>& pieces, int num_bits, const Levels& levels, const Shape& shape, Mask fresh,
                   const StageChoice& choice)
    : work(outlines(pieces, pieces.size(), false, false)),
      weighed(outlines(pieces, pieces.size(), choice.plan.worth != 0, false)),
      divider(work, weighed, num_bits, levels, fresh,
              {{num_bits, shape, choice.most, choice.plan.low, choice.plan.worth, choice.steadily},
               choice.nested,
               choice.plan.low}) {}

Staging::Staging(CandidatePlan candidate, int num_bits, const Levels& levels, const Shape& shape, Mask fresh,
                 const std::vector<Mask>& lows, const Rates& rates, bool stays, int parities)
    : candidate_(std::move(candidate)), num_bits_(num_bits), levels_(levels), shape_(shape), fresh_(fresh), rates_(rates),
      stays_(stays), parities_(parities), small_(num_bits - shape.start < thresholds.staged_bits),
      grows_((levels.peers || levels.ranks) && fresh), layered_(levels.layers.size() > 1) {
    if (small_ && !grows_ && !layered_) choices_.push_back({});
    else choices_ = first_choices(levels_, shape_, fresh, fresh == below(num_bits), lows);
    for (StageChoice& choice : choices_)
        if (!shape.rules.has(Rule::early)) choice.most = 0;
    if (!shape.rules.has(Rule::candidates)) choices_.resize(1);
    dividing_ = std::make_unique<Dividing>(candidate_.work, num_bits_, levels_, shape_, fresh_, choices_[0]);
}

Progress Staging::advance() {
    Progress found = Progress::busy;
    switch (state_) {
        case State::divide_first:
        case State::divide: {
            Divider::State divided_so_far = dividing_->divider.advance();
            if (divided_so_far == Divider::State::too_wide) return Progress::too_wide;
            if (divided_so_far == Divider::State::done) divided();
            break;
        }
        case State::linear:
            if (!search_->advance()) searched();
            break;
        case State::attempt:
            found = attempt_->advance();
            if (found == Progress::stuck && !attempt_->choice.plan.floats) return found;
            if (found == Progress::stuck) stay();
            else if (found == Progress::done) timed();
            else if (is_worse()) attempt_.reset(), passed({});
            break;
        case State::done: return Progress::done;
    }
    return Progress::busy;
}

void Staging::divided() {
    Division division = dividing_->divider.take();
    dividing_.reset();
    if (state_ == State::divide) return begin(candidate_.copy(), std::move(division), queue_.front());
    division_ = std::move(division);
    if (parities_ && num_bits_ >= shape_.start) {
        int most = parities_ > 0 ? parities_ : motions(division_, num_bits_, levels_, fresh_) - 1;
        search_ = std::make_unique<LinearSearch>(candidate_, num_bits_, levels_, fresh_, most, stays_);
        state_ = State::linear;
        return;
    }
    is_only_ = choices_.size() == 1;
    begin(candidate_.copy(), division_, choices_[0]);
}

// Goes on with the plan of far parities, if one was found.
void Staging::searched() {
    if (search_->found()) {
        trying_ = Trying::parities;
        begin(search_->take_draft(), std::move(search_->division), {});
        attempt_->renamed = search_->renamed;
    } else {
        begin(candidate_.copy(), division_, choices_[0]);
    }
    search_.reset();
}

void Staging::begin(const StageChoice& choice) {
    dividing_ = std::make_unique<Dividing>(candidate_.work, num_bits_, levels_, shape_, fresh_, choice);
    state_ = State::divide;
}

void Staging::begin(CandidatePlan candidate, Division division, const StageChoice& choice) {
    attempt_ = std::make_unique<StageAttempt>(std::move(candidate), std::move(division), choice, num_bits_, levels_, shape_,
                                              fresh_);
    least_ = std::make_unique<LeastWork>(num_bits_, levels_, shape_, rates_);
    state_ = State::attempt;
}

// Makes the attempt again with the lowest bits as they are: where they change, those that have to leave may all be among
// them, and then an exchange cannot be made.
void Staging::stay() {
    StageChoice choice = attempt_->choice;
    choice.plan.floats = false;
    if (trying_ == Trying::first) return begin(candidate_.copy(), division_, choice);
    queue_.front() = choice;
    begin(choice);
}

// Whether the attempt is sure to be no better than the best one, so that it need not be made to the end. Before other ways
// are listed the best one on bits counts, which they are made from.
bool Staging::is_worse() const {
    if (!has_best_) return false;
    double most = trying_ == Trying::others ? made_whole_ : best_.whole;
    return least_->upto(attempt_->steps, *attempt_->candidate.context, attempt_->stage_fresh()) * (1 - 1e-9) >= most;
}

// Compares the plan that is made with the best one so far; the first of equals is kept.
void Staging::timed() {
    if (is_only_) {
        made_ = std::move(attempt_);
        state_ = State::done;
        return;
    }
    std::vector<StageCost> costs =
        stage_costs(attempt_->stages, attempt_->steps, *attempt_->candidate.context, num_bits_, levels_, shape_, rates_);
    Times times{seconds(attempt_->stages, costs), 0, 0, attempt_->choice};
    for (const StageCost& cost : costs) {
        times.moving += cost.moving;
        if (cost.devices < static_cast<double>(unit(levels_.peers))) times.waiting += cost.work;
    }
    if (!made_ || times.whole < made_whole_) made_ = std::move(attempt_), made_whole_ = times.whole;
    attempt_.reset();
    if (trying_ == Trying::parities) {
        trying_ = Trying::first;
        if (parities_ > 0 || made_whole_ <= least_seconds(division_, num_bits_, levels_, fresh_, rates_))
            state_ = State::done;
        else begin(candidate_.copy(), division_, choices_[0]);
        return;
    }
    if (trying_ != Trying::others && (!has_best_ || times.whole < best_.whole)) best_ = times, has_best_ = true;
    passed(costs);
}

// Goes on behind a plan on bits, with its costs.
void Staging::passed(const std::vector<StageCost>& costs) {
    if (trying_ == Trying::first) list_more(costs);
    else queue_.pop_front();
    next();
}

void Staging::list_more(const std::vector<StageCost>& costs) {
    trying_ = Trying::more;
    std::size_t more = small_ ? 0 : tries(costs, candidate_.work.size(), shape_);
    for (std::size_t k = 1; k < choices_.size() && k <= more; ++k) queue_.push_back(choices_[k]);
}

// If exchanges, or work for which devices wait, still take much of the time, some choices exchange otherwise.
void Staging::list_others() {
    trying_ = Trying::others;
    if (!shape_.rules.has(Rule::candidates)) return;
    if ((grows_ || layered_) && best_.moving > little * best_.whole)
        for (const StageChoice& choice : other_choices(best_.choice, layered_)) queue_.push_back(choice);
    if (grows_ && best_.waiting > little * best_.whole) {
        queue_.push_back(best_.choice);
        queue_.back().shares = true;
    }
}

void Staging::next() {
    if (queue_.empty() && trying_ == Trying::more) list_others();
    if (queue_.empty()) state_ = State::done;
    else begin(queue_.front());
}

}  // namespace qx::plan
