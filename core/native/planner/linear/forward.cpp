// Where in memory a state that is there lies behind each sweep, found forwards.

#include "planner/linear/forward.hpp"

#include <optional>
#include <utility>

#include "planner/linear/goals.hpp"

namespace qx::plan {

namespace {

constexpr std::size_t turns = 8;  // so many walks are tried: one in three ends in place where tiles have hardly room

// Returns a direction in place of one that is taken, if possible one that is there now.
Mask beside(Mask to, const Span* const (&spaces)[2], const Span& images, const Map& now) {
    for (const Span* space : spaces) {
        for (Mask direction : now)
            if (space->has(direction ^ to) && !images.has(direction)) return direction;
        for (Mask vector : space->vectors)
            if (!images.has(to ^ vector)) return to ^ vector;
    }
    return 0;  // never: a tile has a direction that nobody has
}

// Returns the directions of all index bits behind a sweep, given those before it and those in the end.
//
// later: the span of the tiles behind, of which what is then missing has to be made. Bits that need not move stay; others go
// to their goals, or as near as this tile leads.
Map moved(const Vectors& tile, const Vectors& lanes, const Span& later, const Map& now, const Map& goals) {
    Span every = later, near(tile);
    every.add_all(tile);
    Vectors missing;
    for (std::size_t bit = 0; bit < now.size(); ++bit) missing.push_back(now[bit] ^ goals[bit]);
    std::vector<std::pair<Mask, Mask>> wanted;
    auto names_of = [&](const Span& space) {
        Map left;
        for (Mask vector : missing) left.push_back(space.left(vector));
        return kernel(left);
    };
    for (Mask name : names_of(later)) wanted.push_back({name, image(now, name)});
    for (Mask name : names_of(near)) wanted.push_back({name, image(goals, name)});
    for (Mask name : names_of(every)) {
        Mask made = every.reduced(image(missing, name)).made & ~below(later.size());
        wanted.push_back({name, image(now, name) ^ image(every.vectors, made)});
    }
    for (std::size_t bit = 0; bit < now.size(); ++bit) wanted.push_back({Mask{1} << bit, now[bit]});
    Span names(units(static_cast<int>(lanes.size()))), images(lanes), both(common(tile, later.vectors));
    const Span* const spaces[] = {&both, &near};
    for (bool waits : {false, true})  // those whose place is taken wait until it is known what is left
        for (auto [name, to] : wanted) {
            bool taken = images.has(to);
            if ((taken && !waits) || !names.add(name)) continue;
            images.add(taken ? beside(to, spaces, images, now) : to);
        }
    Map out;
    for (Mask column : inverse(names.vectors)) out.push_back(image(images.vectors, column));
    return out;
}

// Returns the directions of all index bits with lanes added above them, such that as few CX as can be need lanes.
//
// first, others: directions that should have no lane in memory.
Map cleared(const Vectors& first, const Vectors& others, int low, const Map& now) {
    Span span(Vectors(now.begin(), now.begin() + low)), names(units(low));
    Map back = inverse(now);
    Vectors added(at(low), 0);
    for (const Vectors* directions : {&first, &others})
        for (Mask direction : *directions) {
            Mask place = image(back, direction);
            if (span.add(direction) && names.add(place & ~below(low))) added.push_back(image(now, place & below(low)));
        }
    for (std::size_t bit = 0; bit < now.size(); ++bit)
        if (names.add(Mask{1} << bit)) added.push_back(0);
    Map undone = inverse(names.vectors), out;
    for (std::size_t bit = 0; bit < now.size(); ++bit) out.push_back(now[bit] ^ image(added, undone[bit]));
    return out;
}

}  // namespace

Walk::Walk(const std::vector<TileVisit>& visits, const Map& directions, std::vector<int> bits, int low, bool stays)
    : visits(visits), bits(std::move(bits)), layouts{units(static_cast<int>(directions.size()))}, directions_(directions),
      low_(low), stays_(stays) {
    std::vector<Span> behind(1);  // the spans of the last tiles: of none, of one, and so on
    for (auto visit = visits.rbegin(); visit != visits.rend(); ++visit) {
        behind.push_back(behind.back());
        behind.back().add_all(visit->tile);
    }
    for (std::size_t number = 0; number < visits.size(); ++number) {
        const Vectors& tile = visits[number].tile;
        std::size_t later = visits.size() - 1 - number;
        std::vector<const Span*> covers;
        for (std::size_t k = 1; k <= later + 1; ++k) covers.push_back(&behind[k]);
        choose(covers, Span(tile));
        Map ends = goals();
        Vectors lanes = later ? visits[number + 1].lanes : Vectors(ends.begin(), ends.begin() + low);
        Map made = moved(tile, lanes, behind[later], layouts.back(), ends);
        if (later) made = cleared(visits[number + 1].tile, tile, low, made);
        layouts.push_back(made);
    }
    choose({}, Span());
}

Vectors Walk::left() const {
    Map ends = goals();
    Span span;
    for (std::size_t bit = 0; bit < ends.size(); ++bit) span.add(layouts.back()[bit] ^ ends[bit]);
    return span.vectors;
}

void Walk::go_on(int size) {
    const Map now = layouts.back();
    Vectors lanes(now.begin(), now.begin() + low_);
    Span near(lanes);
    for (const Vectors& directions : {left(), now})
        for (Mask direction : directions)
            if (near.size() < size) near.add(direction);
    visits.push_back({near.vectors, lanes, {}, units(static_cast<int>(now.size()))});
    layouts.push_back(moved(near.vectors, lanes, Span(), now, goals()));
}

Map Walk::goals() const {
    Map out;
    for (int bit : bits) out.push_back(directions_[at(bit)]);
    return out;
}

// Lets bits above the lowest exchange their goals, such that each is as late on its way as can be.
//
// Directions in the tile can still go anywhere in it, so all others choose first.
void Walk::choose(const std::vector<const Span*>& covers, const Span& near) {
    if (stays_) return;
    const Map& now = layouts.back();
    std::vector<std::size_t> order;
    for (bool inside : {false, true})
        for (std::size_t place = at(low_); place < now.size(); ++place)
            if (near.has(now[place]) == inside) order.push_back(place);
    Vectors from, ends;
    for (std::size_t place : order) from.push_back(now[place]);
    std::vector<int> before(bits.begin() + low_, bits.end());
    for (int bit : before) ends.push_back(directions_[at(bit)]);
    std::vector<int> to = matched(from, ends, covers);
    for (std::size_t k = 0; k < order.size(); ++k) bits[order[k]] = before[at(to[k])];
}

Walk walked(const std::vector<TileVisit>& visits, const Map& directions, const std::vector<int>& lowest, int tile,
            bool stays) {
    std::vector<int> others;
    for (int bit = 0; bit < static_cast<int>(directions.size()); ++bit)
        if (std::find(lowest.begin(), lowest.end(), bit) == lowest.end()) others.push_back(bit);
    std::optional<Walk> best;
    for (std::size_t turn = 0; turn < (stays || visits.empty() ? 1 : turns); ++turn) {
        std::vector<int> bits = lowest;
        if (stays) {
            for (int bit = static_cast<int>(lowest.size()); bit < static_cast<int>(directions.size()); ++bit)
                bits.push_back(bit);
        } else {
            auto middle = others.begin() + static_cast<std::ptrdiff_t>(std::min(turn, others.size()));
            bits.insert(bits.end(), middle, others.end());
            bits.insert(bits.end(), others.begin(), middle);
        }
        Walk walk(visits, directions, bits, static_cast<int>(lowest.size()), stays);
        if (!best || walk.left().size() < best->left().size()) best.emplace(std::move(walk));
        if (best->left().empty()) break;
    }
    while (!best->left().empty()) best->go_on(tile);
    return std::move(*best);
}

}  // namespace qx::plan
