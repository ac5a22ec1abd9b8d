// The position of each bit while a plan with stages is made, and the motions that bring bits near.

#include "planner/stages/positions.hpp"

#include <numeric>
#include <tuple>

#include "base/sorting.hpp"

namespace qx::plan {

namespace {

std::vector<int> bits_of(Mask mask) {
    std::vector<int> out;
    each(mask, [&](int bit) { out.push_back(bit); });
    return out;
}

std::vector<int> all(int size) {
    std::vector<int> out(static_cast<std::size_t>(size));
    std::iota(out.begin(), out.end(), 0);
    return out;
}

Mask either(const Needs& needs) {
    Mask out = 0;
    for (Mask mask : needs) out |= mask;
    return out;
}

// Returns how many stages pass before one needs a bit.
int wait(int bit, const Needs& later) {
    for (std::size_t k = 0; k < later.size(); ++k)
        if (later[k] >> bit & 1) return static_cast<int>(k);
    return static_cast<int>(later.size());
}

std::vector<int> soonest(Mask bits, const Needs& later) {
    std::vector<int> out = bits_of(bits);
    sort_stably(out, [&](int a, int b) { return wait(a, later) < wait(b, later); });
    return out;
}

// Returns the needed bits and the first of the others, `size` in all.
Mask filled(Mask needed, const std::vector<int>& others, int size) {
    Mask out = needed;
    int missing = size - count(needed);
    for (int k = 0; k < missing && k < static_cast<int>(others.size()); ++k)
        out |= unit(others[static_cast<std::size_t>(k)]);
    return out;
}

// Returns homes on positions low ... high - 1: a home of the same number stays, unless all have to be ascending.
void keep_in_place(std::vector<int> homes, int low, int high, bool ascending, std::vector<int>& out) {
    sort_ascending(homes);
    if (ascending) {
        out.insert(out.end(), homes.begin(), homes.end());
        return;
    }
    std::vector<int> others;
    for (int home : homes)
        if (home < low || home >= high) others.push_back(home);
    auto next = others.begin();
    for (int place = low; place < high; ++place)
        out.push_back(std::binary_search(homes.begin(), homes.end(), place) ? place : *next++);
}

// Returns the position of each bit at the start: fresh bits take fresh positions in the order of their first need.
std::vector<int> first_places(int num_bits, Mask fresh, const Division& division, bool shares, Mask lowest) {
    Needs needs;
    for (const std::vector<StageWork>& one : division.passes)
        for (const StageWork& portion : one) needs.push_back(portion.needs);
    if (shares && !needs.empty()) needs[0] |= ~either(needs);
    Mask low = division.low;
    auto rank = [&](int bit) { return std::tuple(!((low & lowest) >> bit & 1), !(low >> bit & 1), wait(bit, needs), bit); };
    std::vector<int> order = bits_of(fresh), at = all(num_bits);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
    std::size_t next = 0;
    each(fresh, [&](int place) { at[static_cast<std::size_t>(order[next++])] = place; });
    return at;
}

}  // namespace

Positions::Positions(int num_bits, const Levels& levels, Mask fresh, const Division& division, const StageChoice& choice)
    : fresh(fresh), low(division.low), at(first_places(num_bits, fresh, division, choice.shares, choice.plan.low)),
      migrated(num_bits > levels.local + levels.peers), num_bits_(num_bits), levels_(levels), together_(choice.together),
      shares_(choice.shares), home_(all(num_bits)), source_(all(num_bits)) {}

Mask Positions::places(Mask bits) const {
    Mask out = 0;
    each(bits, [&](int bit) { out |= unit(at[static_cast<std::size_t>(bit)]); });
    return out;
}

Mask Positions::bits(Mask places) const {
    Mask out = 0;
    for (int bit = 0; bit < num_bits_; ++bit)
        if (places >> at[static_cast<std::size_t>(bit)] & 1) out |= unit(bit);
    return out;
}

std::vector<int> Positions::homes() const {
    std::vector<int> out;
    for (int place : at) out.push_back(migrated ? home_[static_cast<std::size_t>(place)] : place);
    return out;
}

std::vector<int> Positions::starts() const {
    std::vector<int> out;
    for (int place : at) out.push_back(source_[static_cast<std::size_t>(place)]);
    return out;
}

void Positions::swap(const Pairs& pairs) {
    for (auto [one, other] : pairs) {
        swap_places(one, other);
        low ^= unit(one) | unit(other);
    }
}

void Positions::moved(const std::vector<int>& to) {
    std::vector<int> source = source_;
    for (std::size_t place = 0; place < to.size(); ++place) source[static_cast<std::size_t>(to[place])] = source_[place];
    source_.swap(source);
    for (int& place : at) place = to[static_cast<std::size_t>(place)];
    low = bits(below(levels_.slice));
}

bool Positions::exchange(const Needs& later, Motion& out) {
    out = {};
    Mask unused = shares_ ? ~either(later) & below(num_bits_) : 0, here = local();
    Mask coming = renamed(later[0] & ~here, later[0] | unused, here);
    if (!coming) return true;
    std::vector<int> leaving = to_give_away(later, local() & ~later[0] & ~low), arriving = bits_of(coming);
    if (leaving.size() < arriving.size()) return false;
    auto place = [&](int bit) { return at[static_cast<std::size_t>(bit)]; };
    if (levels_.layers.size() > 1) sort_stably(arriving, [&](int a, int b) { return place(a) > place(b); });
    Pairs pairs;
    for (std::size_t k = 0; k < arriving.size(); ++k) pairs.push_back({leaving[k], arriving[k]});
    Mask far = window() & ~local() & ~coming & ~fresh;
    if (levels_.mesh) {
        more(std::move(leaving), arriving.size(), soonest(far, later), later, true, pairs);
    } else if (int layer = together_ ? levels_.layer_of(place(arriving[0])) : 0; layer) {
        Mask there = 0;
        each(far, [&](int bit) { there |= levels_.layer_of(place(bit)) == layer ? unit(bit) : 0; });
        more(std::move(leaving), arriving.size(), soonest(there, later), later, false, pairs);
    }
    out.kind = Motion::exchange;
    for (auto [leave, arrive] : pairs) out.swaps.push_back({place(leave), place(arrive)});
    sort_ascending(out.swaps);
    for (auto [leave, arrive] : pairs) {
        if (migrated)
            std::swap(home_[static_cast<std::size_t>(place(leave))], home_[static_cast<std::size_t>(place(arrive))]);
        swap_places(leave, arrive);
    }
    return true;
}

// Appends further pairs of bits for an exchange; in each the bit that comes is needed before the other, or, where `equal`
// says so, not after it.
void Positions::more(std::vector<int> leaving, std::size_t taken, const std::vector<int>& others, const Needs& later,
                     bool equal, Pairs& pairs) const {
    for (std::size_t k = 0; taken + k < leaving.size() && k < others.size(); ++k) {
        int leave = leaving[taken + k], arrive = others[k];
        if (fresh >> leave & 1 || wait(leave, later) + equal <= wait(arrive, later)) continue;
        pairs.push_back({leave, arrive});
    }
}

bool Positions::exchange_homes(const Needs& turns, Pairs& out) {
    out.clear();
    if (!(turns[0] & away())) return true;
    rest();
    Mask every = below(num_bits_);
    Mask coming = renamed(turns[0] & away(), turns[0], every & ~away());
    std::vector<int> leaving = to_give_away(turns, every & ~away() & ~turns[0] & ~low), arriving = bits_of(coming);
    if (leaving.size() < arriving.size()) return false;
    for (std::size_t k = 0; k < arriving.size(); ++k)
        out.push_back({at[static_cast<std::size_t>(leaving[k])], at[static_cast<std::size_t>(arriving[k])]});
    sort_ascending(out);
    for (std::size_t k = 0; k < arriving.size(); ++k) swap_places(leaving[k], arriving[k]);
    return true;
}

// Puts every bit at its home, as at the end of a pass.
void Positions::rest() {
    std::vector<int> begin = starts(), end = homes();
    for (std::size_t bit = 0; bit < at.size(); ++bit) source_[static_cast<std::size_t>(end[bit])] = begin[bit];
    at = std::move(end), home_ = all(num_bits_);
}

Motion Positions::migrate(Mask needed, const Needs& later, const Needs& passes, Pairs swaps) {
    const Mask everything = below(num_bits_), here = window(), apart = levels_.ranks ? away() : 0;
    std::vector<int> others = soonest(everything & ~(needed | low | apart), passes);
    auto outer = [&](int bit) { return std::tuple(fresh >> bit & 1, wait(bit, passes), !(here >> bit & 1)); };
    sort_stably(others, [&](int a, int b) { return outer(a) < outer(b); });
    Mask near = filled(needed | low, others, levels_.local + levels_.peers);
    // A fresh device bit would leave half of the devices idle, a fresh local bit halves the work of each.
    others = soonest(near & ~(later[0] | low), later);
    auto inner = [&](int bit) { return std::pair(wait(bit, later), !(fresh >> bit & 1)); };
    sort_stably(others, [&](int a, int b) { return inner(a) < inner(b); });
    Mask local = filled(later[0] | low, others, levels_.local);
    const std::vector<int> home = homes(), start = starts();
    const Mask groups[] = {local, near & ~local, everything & ~near & ~apart, apart};
    const int bounds[] = {0, levels_.local, levels_.local + levels_.peers, num_bits_ - levels_.ranks, num_bits_};
    std::vector<int> bits;
    for (int k = 0; k < 4; ++k) {
        std::vector<int> of;
        each(groups[k], [&](int bit) { of.push_back(home[static_cast<std::size_t>(bit)]); });
        keep_in_place(std::move(of), bounds[k], bounds[k + 1], bounds[k] >= bounds[2], bits);
    }
    std::vector<int> place(bits.size());
    for (std::size_t position = 0; position < bits.size(); ++position)
        place[static_cast<std::size_t>(bits[position])] = static_cast<int>(position);
    for (std::size_t bit = 0; bit < home.size(); ++bit) {
        at[bit] = place[static_cast<std::size_t>(home[bit])];
        source_[static_cast<std::size_t>(at[bit])] = start[bit];
    }
    home_ = bits;
    Motion out;
    out.kind = Motion::migration, out.swaps = std::move(swaps), out.bits = std::move(bits);
    return out;
}

// Lets two bits, and their amplitudes, change places.
void Positions::swap_places(int one, int other) {
    int &place = at[static_cast<std::size_t>(one)], &there = at[static_cast<std::size_t>(other)];
    std::swap(source_[static_cast<std::size_t>(place)], source_[static_cast<std::size_t>(there)]);
    std::swap(place, there);
}

// Relabels fresh bits that have to be near with fresh ones that are; returns the bits that still have to come.
Mask Positions::renamed(Mask coming, Mask needed, Mask near) {
    Mask free = near & fresh & ~needed & ~low;
    each(coming & fresh, [&](int bit) {
        if (!free) return;
        std::swap(at[static_cast<std::size_t>(bit)], at[static_cast<std::size_t>(lowest(free))]);
        free &= free - 1, coming &= ~unit(bit);
    });
    return coming;
}

// Returns bits in the order in which they leave: those needed last first; fresh ones only after all others, since a fresh
// device bit leaves half of the devices without work.
std::vector<int> Positions::to_give_away(const Needs& later, Mask bits) const {
    std::vector<int> out = soonest(bits, later);
    std::reverse(out.begin(), out.end());
    sort_stably(out, [&](int a, int b) { return (fresh >> a & 1) < (fresh >> b & 1); });
    return out;
}

}  // namespace qx::plan
