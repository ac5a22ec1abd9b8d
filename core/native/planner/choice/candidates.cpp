// The candidate plans: which are tried by predictions, and which are made to the end.

#include "planner/choice/candidates.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

constexpr double patience = 2.0;  // how much of the time of a run may be spent on trying
// How much of it may be spent on other candidates, where plans are compared, and at most as much as so many predictions
// take: a GPU interprets first runs, and compiles their kernels beside the planner.
constexpr double more = 14.0, most_of_it = 24;
constexpr double worths[] = {0.7, 0.35};  // the amounts of arithmetic for which a state grows that are tried
constexpr std::size_t kept = 2;    // so many of the other candidates are made to the end
constexpr std::size_t turning = 1; // so many of them are tried with lowest bits that do the other thing
constexpr double close = 1.15;  // a candidate is made to the end if it is predicted to take so many times the least at most
constexpr double clearly = 0.95;  // one in which bits wait is, too, if it is predicted to take so many times the least
constexpr std::size_t made = 4;  // making a plan to the end takes about as long as so many predictions
constexpr double unbounded = std::numeric_limits<double>::infinity();

std::size_t looked_at() { return static_cast<std::size_t>(thresholds.compared_pieces); }

}  // namespace

CandidateSearch::CandidateSearch(const std::vector<Piece>& work, int num_bits, const Shape& shape, Mask fresh,
                                 const std::vector<Mask>& lows)
    : work_(work), num_bits_(num_bits), shape_(shape), narrow_(shape.with(shape.fewer)), fresh_(fresh),
      lows_(lows.begin(), lows.begin() + static_cast<std::ptrdiff_t>(lows.size() / 2)),
      narrow_lows_(lows.begin() + static_cast<std::ptrdiff_t>(lows.size() / 2), lows.end()),
      may_float_(shape.floats && num_bits >= shape.start && num_bits > shape.tile) {}

bool CandidateSearch::advance() {
    switch (state_) {
        case State::first: begin(); break;
        case State::lows: try_low(); break;
        case State::turn: turn(); break;
        case State::standard: list(); break;
        case State::others: try_other(); break;
        case State::turned: try_turned(); break;
        case State::waiting: try_waiting(); break;
        case State::done: break;
    }
    return state_ != State::standard && state_ != State::done;
}

// Predicts the plan for the bits as they are.
void CandidateSearch::begin() {
    standard_.low = below(shape_.low);
    state_ = State::standard;
    if (work_.empty() || (lows_.empty() && !may_float_)) return;
    least_ = time(standard_, unbounded);
    tries_ = static_cast<std::size_t>(std::min(runs(least_) * patience, static_cast<double>(lows_.size())));
    state_ = State::lows;
}

void CandidateSearch::try_low() {
    if (next_ == tries_) {
        state_ = State::turn;
        return;
    }
    PlanChoice choice{lows_[next_++]};
    double found = time(choice, least_);
    if (found < least_) standard_ = choice, least_ = found;
}

// Lets the lowest bits of the default change if that is predicted to take less time.
void CandidateSearch::turn() {
    turned_ = standard_.turned(), turned_time_ = unbounded;
    bool compares = shape_.counted > 0 && num_bits_ - shape_.start >= thresholds.compared_bits;
    if (may_float_ && runs(least_) * patience >= 1) {
        turned_time_ = time(turned_, compares && !fresh_ ? close * least_ : least_);
        if (turned_time_ < least_) std::swap(standard_, turned_), std::swap(least_, turned_time_);
    }
    if (compares && shape_.rules.has(Rule::candidates) && work_.size() <= thresholds.compared_pieces)
        more_ = static_cast<std::size_t>(std::min(runs(least_) * more, most_of_it));
    room_ = more_ / (2 * made);  // half is spent on predictions
    state_ = State::standard;
}

void CandidateSearch::list() {
    if (shape_.tile >= num_bits_ || !room_) return finish();
    others_ = listed();
    others_.resize(std::min(others_.size(), more_ / 2));
    next_ = 0, state_ = State::others;
}

std::vector<PlanChoice> CandidateSearch::listed() const {
    std::vector<double> every;
    if (fresh_) every.assign(std::begin(worths), std::end(worths));
    auto with = [&](const std::vector<Mask>& choices, const std::vector<double>& tried) {
        std::vector<PlanChoice> out;
        for (auto low = choices.begin(); low != choices.end(); ++low)
            if (std::find(choices.begin(), low, *low) == low)
                for (double worth : tried) out.push_back({*low, may_float_, worth});
        return out;
    };
    std::vector<Mask> wide{standard_.low, below(shape_.low)}, narrow{below(shape_.fewer)};
    wide.insert(wide.end(), lows_.begin(), lows_.end());
    narrow.insert(narrow.end(), narrow_lows_.begin(), narrow_lows_.end());
    if (!shape_.fewer) narrow.clear();
    std::vector<PlanChoice> one = with(wide, every), other = with(narrow, every.empty() ? std::vector<double>{0} : every),
                            out;
    for (std::size_t k = 0; k < std::max(one.size(), other.size()); ++k) {
        if (k < one.size()) out.push_back(one[k]);
        if (k < other.size()) out.push_back(other[k]);
    }
    return out;
}

void CandidateSearch::try_other() {
    if (next_ < others_.size()) return add(others_[next_++]);
    if (!may_float_) return list_waiting();
    others_.clear();
    for (const Tried& tried : best(std::min(turning, more_ / 2 / 4))) others_.push_back(tried.choice.turned());
    next_ = 0, state_ = State::turned;
}

void CandidateSearch::try_turned() {
    if (next_ < others_.size()) return add(others_[next_++]);
    list_waiting();
}

// Lets bits wait in the default, and in the best of the other candidates.
void CandidateSearch::list_waiting() {
    others_.clear();
    if (fresh_) others_.push_back(standard_.waiting());
    if (fresh_)
        for (const Tried& tried : best(1)) others_.push_back(tried.choice.waiting());
    next_ = 0, state_ = State::waiting;
}

void CandidateSearch::try_waiting() {
    if (next_ == others_.size()) return finish();
    double most = std::min(clearly * least_, waiting_.time);
    for (const Tried& tried : best(1)) most = std::min(most, clearly * tried.time);
    const PlanChoice choice = others_[next_++];
    if (const double taken = time(choice, most); taken < most) waiting_ = {taken, 0, choice};
}

void CandidateSearch::finish() {
    std::vector<Tried> others = best(kept);
    for (const Tried& tried : others)
        if (tried.time <= close * others.front().time) found_.push_back(tried.choice);
    // Of 122 plans of new states none was the default with lowest bits that do the other thing.
    if (room_ && !fresh_ && turned_time_ <= close * least_) found_.push_back(turned_);
    found_.resize(std::min(found_.size(), room_));
    if (waiting_.choice.waits) found_.push_back(waiting_.choice);
    for (auto& pair : estimates_)
        for (auto& estimate : pair) estimate.reset();
    state_ = State::done;
}

void CandidateSearch::add(PlanChoice choice) {
    std::vector<Tried> found = best(kept);
    double most = found.empty() ? unbounded : close * found.front().time;  // what takes longer is not made to the end
    if (found.size() == kept) most = std::min(most, found.back().time);
    double taken = time(choice, most);
    bool known = std::any_of(tried_.begin(), tried_.end(), [&](const Tried& other) {
        return taken == other.time && choice.low == other.choice.low && choice.floats == other.choice.floats;
    });
    if (!known) tried_.push_back({taken, tried_.size(), choice});  // else the state grows as it does with that amount
}

std::vector<CandidateSearch::Tried> CandidateSearch::best(std::size_t most) const {
    std::vector<Tried> out = tried_;
    std::sort(out.begin(), out.end(),
              [](const Tried& a, const Tried& b) { return a.time != b.time ? a.time < b.time : a.number < b.number; });
    out.resize(std::min(out.size(), most));
    return out;
}

// Predicts a candidate, unless the state grows as in one that was predicted already. Whoever asks again accepts no longer
// times than before.
double CandidateSearch::time(const PlanChoice& choice, double most) {
    const double least = Growth::least(choice.worth, shape_);
    bool narrow = count(choice.low) != shape_.low, weighed = choice.worth != 0;
    for (const auto& [other, found] : predicted_)
        if (weighed && other.low == choice.low && other.floats == choice.floats && other.waits == choice.waits &&
            found.same.has(least))
            return found.time;
    std::unique_ptr<CostEstimate>& estimate = estimates_[narrow][weighed];
    if (!estimate)
        estimate = std::make_unique<CostEstimate>(work_, looked_at(), num_bits_, narrow ? narrow_ : shape_, fresh_, weighed);
    CostEstimate::Prediction found = estimate->predict(choice.low, choice.floats, choice.worth, most, choice.waits);
    if (weighed) predicted_.emplace_back(choice, found);
    return found.time;
}

// Starting a sweep takes about 5 us, in which 2^start amplitudes are swept over; trying a choice counts as 50 us for each
// piece of work, and takes 0.1 to 0.2 us. Small states try nothing.
double CandidateSearch::runs(double time) const {
    return time / static_cast<double>(unit(shape_.start)) / static_cast<double>(std::min(work_.size(), looked_at()));
}

}  // namespace qx::plan
