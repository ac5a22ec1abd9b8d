// From work to stages, for a state that is larger than the memory of one device.

#include "planner/stages/staging.hpp"

#include <memory>

#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

constexpr double little = 0.1;     // the share of the time that exchanges may take before another plan is tried
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
