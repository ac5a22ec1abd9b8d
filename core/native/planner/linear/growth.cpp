// Which tiles a state is swept over, one after another.

#include "planner/linear/growth.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "planner/linear/goals.hpp"

namespace qx::plan {

namespace {

constexpr int small = 2;  // a state with so many dimensions fewer may be swept over once more for the lanes of the last tile
constexpr int at_once[] = {0, 1, 2, 3, 4, 6};  // the numbers of dimensions by which growing a large state is tried

Vectors joined(const Vectors& one, const Vectors& other) {
    Vectors out = one;
    out.insert(out.end(), other.begin(), other.end());
    return out;
}

void fill(Span& near, const Vectors& directions, int size) {
    for (Mask direction : directions)
        if (near.size() < size) near.add(direction);
}

// Returns a basis of the vectors of a space in which some parities are even.
Vectors even_in(Vectors space, const Vectors& parities) {
    for (Mask parity : parities) {
        Vectors odd, even;
        for (Mask vector : space) (is_odd(vector & parity) ? odd : even).push_back(vector);
        for (std::size_t k = 1; k < odd.size(); ++k) even.push_back(odd[0] ^ odd[k]);
        space.swap(even);
    }
    return space;
}

}  // namespace

GrowingSpace::GrowingSpace(const FramedWork& work, const Order& order, const Shape& shape, bool grows, double worth)
    : work_(work), shape_(shape), directions_(work.frame.directions), grows_(grows), stays_(!grows && !shape.floats),
      may_be_lowest_(directions_), order_(order), balance_(worth * shape.balance), pending_(work.size()) {
    if (stays_) may_be_lowest_.resize(at(shape.low));
    if (!grows) {
        every_.add_all(units(static_cast<int>(directions_.size())));
        reach_ = mixed_ = every_;
        lanes_ = units(shape.low);
    }
    std::iota(pending_.begin(), pending_.end(), Index{0});
    for (std::size_t k = 0; k < work.size(); ++k)
        for (int j = 0; j < work[k].piece.num_mixed; ++j) every_.add(work.directions(work[k])[j]);
    for (std::size_t wire = 0; wire < directions_.size(); ++wire) {
        bool zero = true;
        for (Mask vector : every_.vectors) zero = zero && !is_odd(vector & work.frame.parities[wire]);
        if (!zero) wires_.push_back(static_cast<int>(wire));
        if (grows) left.push_back(static_cast<int>(wire));
    }
    for (int wire : wires_) every_.add(directions_[at(wire)]);
    done_ = pending_.empty() && (grows || lacks(Span()).empty());
    for (int wire = 0; done_ && grows && wire < shape.low; ++wire) lowest.push_back(wire);
}

bool GrowingSpace::advance() {
    Numbers ready, others;
    Span near = tile(ready, others);
    if (!pending_.empty() && ready.empty() && !std::exchange(brings_, false)) return false;
    pending_.swap(others);
    Vectors spanning = ordered(near, ready);
    visits.push_back({spanning, lanes_, ready, mixed_.vectors});
    double before = share(mixed_.size());
    mixed_.add_all(spanning);
    passes_ += shape_.slowed() * (before + share(mixed_.size())) / 2 + share(shape_.start);
    covered_.add_all(spanning);
    lowest = lowest_in(near);
    if (pending_.empty() && static_cast<int>(lowest.size()) >= shape_.low && lacks(covered_).empty()) {
        std::erase_if(left, [&](int wire) { return mixed_.has(directions_[at(wire)]); });
        done_ = true;
    } else {
        lanes_ = next_lanes(near, spanning);
    }
    return true;
}

// Returns the share of the full state that a space of so many dimensions is.
double GrowingSpace::share(int dimensions) const {
    return std::ldexp(1.0, dimensions - static_cast<int>(directions_.size()));
}

// Returns what the span of all tiles lacks for a plain end.
Vectors GrowingSpace::lacks(const Span& tiles) const {
    if (!grows_) return uncovered(directions_, tiles, stays_);
    Vectors out;
    for (Mask direction : every_.vectors)
        if (!tiles.has(direction)) out.push_back(direction);
    return out;
}

// Returns wires that can be lowest in the end, as many as are.
std::vector<int> GrowingSpace::lowest_in(const Span& near) const {
    std::vector<int> found;
    for (std::size_t wire = 0; wire < may_be_lowest_.size() && static_cast<int>(found.size()) < shape_.low; ++wire)
        if (near.has(may_be_lowest_[wire])) found.push_back(static_cast<int>(wire));
    return found;
}

Vectors GrowingSpace::ordered(const Span& near, const Numbers& ready) const {
    Span span;
    for (Index number : ready)
        for (int k = 0; k < work_[number].piece.num_mixed; ++k) span.add(work_.directions(work_[number])[k]);
    span.add_all(near.vectors);
    return span.vectors;
}

// Whether a tile with these directions may be the last one: then all of the state is there, and wires are in its lanes.
bool GrowingSpace::is_end(const Span& near) const {
    return static_cast<int>(lowest_in(near).size()) >= shape_.low && whole(near);
}

bool GrowingSpace::whole(const Span& near) const {
    return Span(joined(mixed_.vectors, near.vectors)).size() == every_.size();
}

// Adds directions of wires until a tile may be the last one, or is full; each time the one that brings most into the lanes.
Span GrowingSpace::least_end(Span near) const {
    while (near.size() < shape_.tile && !is_end(near)) {
        const Span there(joined(mixed_.vectors, near.vectors));
        const bool lacks_some = there.size() < every_.size();
        std::size_t most = 0;
        Mask best = 0;
        for (int wire : wires_) {
            const Mask direction = directions_[at(wire)];
            if ((lacks_some ? there : near).has(direction)) continue;
            const std::size_t found = lowest_in(Span(joined(near.vectors, {direction}))).size();
            if (!best || found > most) most = found, best = direction;
        }
        if (!near.add(best)) break;
    }
    return near;
}

// Fills a tile in which all work runs that is left: it may be the last one.
Span GrowingSpace::ended(Span near) const {
    if (grows_) near = least_end(near);
    if (grows_)
        for (bool there : {false, true})
            for (int wire : wires_)
                if (mixed_.has(directions_[at(wire)]) == there) fill(near, {directions_[at(wire)]}, shape_.tile);
    for (Mask direction : may_be_lowest_)
        if (static_cast<int>(lowest_in(near).size()) < shape_.low) fill(near, {direction}, shape_.tile);
    return near;
}

// Lets a tile do a part of the work that is left, so that the next one, which is the last, has room for wires in its lanes;
// else another sweep over the full state would follow.
void GrowingSpace::leave_room(Span& near, Numbers& ready, Numbers& others) {
    const Span end = ended(near);
    const int lacking = shape_.low - static_cast<int>(lowest_in(end).size());
    if (left_room_ || lacking <= 0 || !whole(end) || mixed_.size() == every_.size()) return;
    left_room_ = true;
    const int room = shape_.tile - static_cast<int>(lanes_.size());
    const LinearReasons found = linear_reasons(pending_, work_, order_, Span(lanes_), room);
    for (int size = lacking; size <= room - lacking; ++size) {
        const Span sooner(joined(lanes_, choose(found, work_, lanes_, size)));
        Numbers some, rest;
        split(pending_, work_, order_, sooner, some, rest);
        if (some.empty()) continue;
        near = sooner, ready.swap(some), others.swap(rest);
        return;
    }
}

// Lets a sweep over the state while it is small bring directions into the lanes that the last tile has anyway, if else
// another sweep over the full state would follow; returns whether it does.
bool GrowingSpace::bring_lanes(Span& near, Numbers& ready, Numbers& others) {
    if (brought_ || !spreads() || mixed_.size() + small > every_.size() || is_end(ended(near))) return false;
    const Span wanted(choose(linear_reasons(pending_, work_, order_, Span(), shape_.tile), work_, {}, shape_.tile));
    Numbers some, rest;
    split(pending_, work_, order_, wanted, some, rest);
    const Span end = least_end(wanted);
    Span sooner(lanes_);
    fill(sooner, common(wanted.vectors, mixed_.vectors), shape_.tile);
    const bool fits = static_cast<int>(common(sooner.vectors, end.vectors).size()) >= shape_.low;
    if (!rest.empty() || !is_end(end) || !fits) return false;
    brought_ = brings_ = true;
    near = sooner, ready.clear(), others.clear();
    split(pending_, work_, order_, near, ready, others);
    return true;
}

// Returns the next tile, and the work in it.
Span GrowingSpace::tile(Numbers& ready, Numbers& others) {
    int size = shape_.tile;
    Span near(joined(lanes_, wanted()));
    split(pending_, work_, order_, near, ready, others);
    if (grows_ && others.empty() && !bring_lanes(near, ready, others)) leave_room(near, ready, others);
    while (!grows_ && near.size() < size) {
        Vectors lacking = lacks(Span(joined(covered_.vectors, near.vectors)));
        if (lacking.empty()) break;
        near.add(lacking[0]);
    }
    if (others.empty()) near = ended(near);
    for (const Span* space : {&mixed_, &reach_, &every_}) fill(near, space->vectors, size);
    fill(near, directions_, size);
    return near;
}

// Returns directions within the reach with which enough work runs; the reach becomes larger until it does.
Vectors GrowingSpace::wanted() {
    int room = shape_.tile - static_cast<int>(lanes_.size());
    const Span lanes(lanes_);
    const bool known = waits_.numbers.size() == pending_.size();
    LinearReasons found = known ? waits_.beside(lanes, room) : linear_reasons(pending_, work_, order_, lanes, room);
    for (;;) {
        if (reach_.size() >= every_.size()) return choose(found, work_, lanes_, room);
        if (reach_.size() >= shape_.start) {
            Vectors added = choose(found, work_, lanes_, room, {&reach_});
            if (3 * found.arithmetic(work_, Span(joined(lanes_, added))) >= balance_) return added;
        }
        reach_ = larger();
    }
}

// Returns the reach with as few added directions as let enough work run to occupy a pass over the state.
Span GrowingSpace::larger() {
    int room = every_.size() - reach_.size(), free = std::min(room, std::max(0, shape_.start - reach_.size()));
    std::vector<int> counts;
    for (int more : at_once)
        if (int size = std::max(1, free + more); size < room && (counts.empty() || counts.back() < size))
            counts.push_back(size);
    LinearReasons found;
    if (!counts.empty()) found = linear_reasons(pending_, work_, order_, reach_, counts.back());
    for (int size : counts) {
        Vectors added = choose(found, work_, reach_.vectors, size);
        Span wider(joined(reach_.vectors, added));
        if (!added.empty() && found.arithmetic(work_, wider) >= balance_) return wider;
    }
    return Span(joined(reach_.vectors, every_.vectors));
}

// Returns the directions that go to the lowest bits: of this tile, with which the next one does most.
//
// First those that the next tile does not want near, as many as it has room for, of them those that are there now.
Vectors GrowingSpace::next_lanes(const Span& near, const Vectors& tile) {
    int size = shape_.tile, low = shape_.low;
    Span wanted;
    Vectors order = joined(lanes_, Vectors(tile.rbegin(), tile.rend()));
    if (!pending_.empty()) {
        waits_ = linear_reasons(pending_, work_, order_, Span(), size);
        Span allowed(joined(reach_.vectors, near.vectors));
        wanted.add_all(choose(waits_, work_, {}, size, {&allowed, near.vectors, size - low}));
        if (!wanted.size()) wanted.add_all(choose(waits_, work_, {}, size, {nullptr, near.vectors, size - low}));
        by_odd_rows(near, tile, wanted, order);
        if (spreads()) wanted = with_room(near, wanted);
    }
    int room = std::min(size - wanted.size(), low);
    Span taken, both = wanted;
    for (Mask direction : order)
        if (taken.size() < room && both.add(direction)) taken.add(direction);
    for (Mask direction : joined(order, common(near.vectors, wanted.vectors)))
        if (taken.size() < low && both.has(direction)) taken.add(direction);
    return taken.vectors;
}

// Returns what the next tile wants near, with what it needs to be the last one, if it may be that, and lanes are among both.
Span GrowingSpace::with_room(const Span& near, const Span& wanted) const {
    Numbers ready, others;
    split(pending_, work_, order_, wanted, ready, others);
    const Span end = least_end(wanted);
    const int shared = static_cast<int>(common(near.vectors, end.vectors).size());
    return others.empty() && is_end(end) && shared + shape_.tile - end.size() >= shape_.low ? end : wanted;
}

// Puts directions first in which few of the parities are odd that the next tile orients its pairs by.
void GrowingSpace::by_odd_rows(const Span& near, const Vectors& tile, const Span& wanted, Vectors& order) {
    Numbers ready, others;
    split(pending_, work_, order_, wanted, ready, others);
    Vectors rows;
    for (Index number : ready)
        for (int k = 0; k < work_[number].piece.num_mixed; ++k) {
            Mask row = work_.rows(work_[number])[k];
            if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
        }
    order = joined(joined(lanes_, even_in(near.vectors, rows)), Vectors(tile.rbegin(), tile.rend()));
    std::vector<std::pair<std::size_t, std::size_t>> ranks;  // how many parities are odd, and where the direction stood
    for (Mask direction : order) {
        std::size_t odd = 0;
        for (Mask row : rows) odd += is_odd(direction & row);
        ranks.push_back({odd, ranks.size()});
    }
    std::sort(ranks.begin(), ranks.end());
    Vectors before = order;
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = before[ranks[k].second];
}

}  // namespace qx::plan
