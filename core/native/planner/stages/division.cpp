// Which work runs in which stage.

#include "planner/stages/division.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <tuple>

#include "base/sorting.hpp"

namespace qx::plan {

namespace {

constexpr std::size_t width = 6;  // how many paths are followed at a time, and how many sets are tried for each next stage

double states(Mask there) { return std::ldexp(1.0, count(there)); }

std::vector<int> bits_of(Mask mask) {
    std::vector<int> out;
    each(mask, [&](int bit) { out.push_back(bit); });
    return out;
}

// Returns the first `size` bits of a mask.
Mask first_of(Mask mask, int size) {
    Mask out = 0;
    for (; mask && size > 0; --size) {
        Mask one = mask & -mask;
        out |= one, mask ^= one;
    }
    return out;
}

}  // namespace

std::vector<Part> Search::parts() {
    std::vector<Part> out;
    Partial& path = paths_[best_];
    if (path.begun) out.push_back(std::move(path.last));
    for (std::size_t at = path.before; at != Partial::none; at = kept_[at].before) out.push_back(kept_[at].part);
    std::reverse(out.begin(), out.end());
    return out;
}

Mask late(Mask bits, int size, const Freedom& freedom) {
    Mask free = bits & (freedom.ever | ~freedom.fresh), out = first_of(free, size);
    return out | first_of(bits & ~free, size - count(out));
}

// --- the search ----------------------------------------------------------------------------------------------------------

Search::Search(const std::vector<WorkOutline>& work, Partial begin, int size, Mask allowed, bool early, bool exchanges)
    : work_(work), size_(size), allowed_(allowed), early_(early), exchanges_(exchanges) {
    paths_.push_back(std::move(begin));
}

bool Search::advance() {
    best_ = paths_.size();
    for (std::size_t k = 0; k < paths_.size(); ++k)
        if (paths_[k].pending.empty() && (best_ == paths_.size() || paths_[k].cost < paths_[best_].cost)) best_ = k;
    if (best_ < paths_.size()) return false;
    std::vector<Partial> found, unique;
    for (Partial& path : paths_) further(path, found);
    std::map<std::tuple<std::size_t, Mask, Mask>, std::size_t> known;
    for (Partial& path : found) {  // of equals the last one, at the place of the first
        auto [at, is_new] = known.try_emplace({path.pending.size(), path.far(), path.there}, unique.size());
        if (is_new) unique.push_back(std::move(path));
        else unique[at->second] = std::move(path);
    }
    sort_stably(unique, [](const Partial& a, const Partial& b) {
        return a.weight != b.weight ? a.weight < b.weight : a.cost < b.cost;
    });
    if (unique.size() > width) unique.erase(unique.begin() + width, unique.end());
    paths_.swap(unique);
    return true;
}

// Appends the continuations of a path by one portion. A state that is spread early should not have fresh bits far.
void Search::further(Partial& path, std::vector<Partial>& out) {
    Mask pinned = path.freedom.pinned;
    std::vector<Mask> found = reasons_of(work_, path.pending, pinned);
    std::vector<FarSet> sets;
    for (Mask bits : {early_ && exchanges_ ? allowed_ & path.there : allowed_, allowed_})
        if (sets.empty())
            sets = far_sets(work_, path.pending, found, size_, bits & ~pinned, path.freedom, path.far(), width);
    if (sets.empty()) {  // no set lets much work run, so choose one for the first piece
        Mask far = late(allowed_ & ~pinned & ~work_[path.pending[0]].mixed.units, size_, path.freedom);
        sets.push_back({far, path.freedom.after(far)});
    }
    std::size_t before = Partial::none;
    const Mask far_now = path.far();
    if (path.begun) {
        before = kept_.size();
        kept_.push_back({std::move(path.last), path.before});
        path.last.far = far_now;
    }
    for (const FarSet& set : sets) {
        Numbers ready, left;
        split(path.pending, found, set.far, ready, left);
        Mask mixed = 0;
        Int ran = 0;
        for (Index number : ready) mixed |= work_[number].mixed.units, ran += weight_of(work_[number]);
        double cost = path.cost + moves(path, set.far, mixed);
        Part part{std::move(ready), set.far};
        out.push_back(
            {std::move(left), set.freedom, path.there | mixed, std::move(part), true, before, cost, path.weight - ran});
    }
}

// Returns the cost, in states, of continuing a path: a pass reads all that is not zero, and writes all that is not
// afterwards; an exchange moves some of it to another device, where bits that are fresh on both sides cost nothing.
double Search::moves(const Partial& path, Mask far, Mask mixed) const {
    if (!exchanges_) return states(path.there) + states(path.there | mixed);
    Mask coming = path.far() & ~far & mixed;
    return (1 - std::ldexp(1.0, -count(coming))) * states(path.there);
}

// --- passes and portions -------------------------------------------------------------------------------------------------

Divider::Divider(const std::vector<WorkOutline>& work, const std::vector<WorkOutline>& weighed, int num_bits,
                 const Levels& levels, Mask fresh, const HowDivided& how)
    : work_(work), weighed_(weighed), num_bits_(num_bits), levels_(levels), how_(how), everything_(below(num_bits)),
      capacity_(levels.local - levels.slice), freedom_{below(levels.slice) & ~fresh, fresh, 0},
      there_(everything_ & ~fresh) {
    freedom_.most = count(fresh) - count(fresh & below(levels.slice));
    if (how.nested)
        for (auto layer = levels.layers.rbegin(); layer != levels.layers.rend(); ++layer) counts_.push_back(layer->bits);
    else if (levels.peers) counts_.push_back(levels.peers);
}

Divider::State Divider::advance() {
    if (!begun_ && tasks_.empty()) begin();
    begun_ = true;
    if (search_) {
        if (!search_->advance()) end_search();
        return State::busy;
    }
    if (tasks_.empty()) return State::done;
    Task next = std::move(tasks_.back());
    tasks_.pop_back();
    return run(std::move(next));
}

Division Divider::take() {
    made_.low = is_pinned_ ? low_ : lowest(0);
    return std::move(made_);
}

// Lists the sections between operations that do not fit beside the lowest bits.
void Divider::begin() {
    Task::Kind kind = levels_.ranks ? Task::ranks : Task::passes;
    Numbers section;
    auto close = [&] {
        if (!section.empty()) tasks_.push_back({kind, std::move(section), everything_, 0});
        section.clear();
    };
    for (std::size_t k = 0; k < work_.size(); ++k) {
        Index number = static_cast<Index>(k);
        if (work_[k].mixed.size() <= capacity_) {
            section.push_back(number);
            continue;
        }
        close();
        tasks_.push_back({Task::wide, {number}, 0, 0});
    }
    close();
    std::reverse(tasks_.begin(), tasks_.end());
}

Divider::State Divider::run(Task task) {
    int migration = levels_.migration(num_bits_);
    switch (task.kind) {
        case Task::ranks: begin_search(std::move(task), levels_.ranks, true); break;
        case Task::passes:
            if (migration) begin_search(std::move(task), migration, false);
            else tasks_.push_back({Task::one_pass, std::move(task.work), task.allowed, 0});
            break;
        case Task::one_pass:
            made_.passes.emplace_back();
            tasks_.push_back({Task::portions, std::move(task.work), task.allowed, 0});
            break;
        case Task::portions:
            if (task.depth < counts_.size()) {
                int size = counts_[task.depth];
                begin_search(std::move(task), size, true);
            } else {
                Mask needs = mixed_by(task.work);
                made_.passes.back().push_back({std::move(task.work), needs, {}});
            }
            break;
        case Task::turns: made_.turns.resize(made_.passes.size(), task.allowed); break;
        case Task::wide: return wide(task.work[0]) ? State::busy : State::too_wide;
    }
    return State::busy;
}

void Divider::begin_search(Task task, int size, bool exchanges) {
    bool early = how_.early.most > 0;
    Partial path{std::move(task.work), freedom_, there_};
    for (Index number : path.pending) path.weight += weight_of(work_[number]);
    if (early && exchanges) path = small(std::move(path), size, task.allowed);
    search_ = std::make_unique<Search>(work_, std::move(path), size, task.allowed, early, exchanges);
    searched_ = std::move(task);
}

// Goes on with the parts that a search has found, each as what the search was for says.
void Divider::end_search() {
    const Partial& best = search_->best();
    freedom_ = best.freedom, there_ = best.there;
    std::vector<Part> parts = search_->parts();
    search_.reset();
    for (const Part& part : parts) made_.far |= part.far;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        switch (searched_.kind) {
            case Task::ranks:
                tasks_.push_back({Task::turns, {}, mixed_by(part->work), 0});
                tasks_.push_back({Task::passes, std::move(part->work), everything_ & ~part->far, 0});
                break;
            case Task::passes:
                tasks_.push_back({Task::one_pass, std::move(part->work), searched_.allowed & ~part->far, 0});
                break;
            default:
                tasks_.push_back(
                    {Task::portions, std::move(part->work), searched_.allowed & ~part->far, searched_.depth + 1});
        }
    }
}

// Returns a path continued by the work that can run while the state is small, or the path itself.
Partial Divider::small(Partial path, int size, Mask allowed) const {
    Numbers ready, left;
    Mask open = allowed & ~path.freedom.pinned;
    how_.early.divide(weighed_, path.pending, path.there, open, size, ready, left);
    Mask mixed = mixed_by(ready), waiting = open & ~mixed;
    Mask soon = waiting & mixed_by(left);  // a bit that nothing mixes would stay far, and half of the devices without work
    Mask far = late(count(soon) >= size ? soon : waiting, size, path.freedom);
    if (ready.empty() || left.empty() || count(far) < size || !path.freedom.allows(far)) return path;
    Int weight = 0;
    for (Index number : left) weight += weight_of(work_[number]);
    Part part{std::move(ready), far};
    return {std::move(left), path.freedom.after(far), path.there | mixed, std::move(part), true, Partial::none, 0, weight};
}

Mask Divider::mixed_by(const Numbers& numbers) const {
    Mask mixed = 0;
    for (Index number : numbers) mixed |= work_[number].mixed.units;
    return mixed;
}

// --- operations that do not fit beside the lowest bits
// -----------------------------------------------------------------------

// Makes room for one operation that mixes more bits than may be exchanged, in the slice's bits if needed; false if it mixes
// more than can be local.
bool Divider::wide(Index number) {
    Mask mix = work_[number].mixed.units;
    if (count(mix) > levels_.local) return false;
    pin(mix);
    for (int over; (over = count(mix & ~freedom_.pinned) - capacity_) > 0;) {
        std::size_t size = static_cast<std::size_t>(std::min(over, capacity_));
        std::vector<int> rising = bits_of(mix & ~freedom_.pinned), leaving = bits_of(freedom_.pinned & ~mix);
        StageWork room;
        for (std::size_t k = 0; k < size; ++k) {
            room.swaps.push_back({rising[k], leaving[k]});
            room.needs |= unit(rising[k]);
        }
        for (auto [high, low] : room.swaps) freedom_.pinned ^= unit(high) | unit(low);
        Mask needs = room.needs;
        pass_of(std::move(room), needs);
    }
    pass_of({{number}, mix, {}}, mix);
    there_ |= mix;
    return true;
}

void Divider::pass_of(StageWork portion, Mask turn) {
    made_.passes.emplace_back();
    made_.passes.back().push_back(std::move(portion));
    made_.turns.push_back(turn);
}

// Decides which bits are below the slice, including as many of the mixed ones as have to be there.
void Divider::pin(Mask mixed) {
    if (is_pinned_) return;
    is_pinned_ = true, low_ = lowest(mixed);
    freedom_ = {low_, 0, 0};
}

// Returns the bits below the slice: those that are there already, then fresh ones that are never far.
Mask Divider::lowest(Mask mixed) const {
    Mask low = freedom_.pinned, free_bits = freedom_.fresh & ~freedom_.ever;
    int over = count(mixed & ~low) - capacity_;
    std::vector<int> free = bits_of(free_bits & how_.lowest), rest = bits_of(free_bits & ~how_.lowest), order;
    free.insert(free.end(), rest.begin(), rest.end());
    for (int bit : free)
        if (mixed >> bit & 1 && static_cast<int>(order.size()) < over) order.push_back(bit);
    for (bool is_mixed : {false, true})
        for (int bit : free)
            if ((mixed >> bit & 1) == is_mixed && std::find(order.begin(), order.end(), bit) == order.end())
                order.push_back(bit);
    for (int bit : order) {
        if (count(low) == levels_.slice) break;
        low |= unit(bit);
    }
    return low;
}

}  // namespace qx::plan
