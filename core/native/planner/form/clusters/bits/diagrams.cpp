// What a bit is, as a function of the bits with which a circuit began.

#include "planner/form/clusters/bits/diagrams.hpp"

#include <algorithm>
#include <numbers>
#include <utility>

namespace qx::form {

namespace {

constexpr std::size_t places_at_first = 1024, most_known = 4096;
constexpr std::size_t most_joined = 32;  // products of which some may be one
constexpr std::uint32_t too_many = 1 << 20;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    std::uint64_t out = (a * 0x9e3779b97f4a7c15 + b) * 0xbf58476d1ce4e5b9 + c;
    out *= 0x94d049bb133111eb;
    return out ^ out >> 32;
}

}  // namespace

void Diagrams::reset() {
    nodes_.assign(1, {0, 0, 0, 0, {}});
    places_.assign(places_at_first, 0);
    known_.resize(most_known), ++resets_;
    levels_.fill(0), last_level_ = 0, steps_ = 0;
    allow(~std::size_t{0});
}

bool Diagrams::step() {
    fits_ = fits_ && left_ > 0;
    if (!fits_) return false;
    --left_, ++steps_;
    return true;
}

void Diagrams::grow() {
    places_.assign(2 * places_.size(), 0);
    for (std::uint32_t number = 1; number < nodes_.size(); ++number) {
        const Node& own = nodes_[number];
        std::size_t at = mixed(own.level, own.low, own.high);
        while (places_[at & (places_.size() - 1)]) ++at;
        places_[at & (places_.size() - 1)] = number;
    }
}

std::uint32_t Diagrams::node(std::uint32_t level, std::uint32_t low, std::uint32_t high) {
    if (low == high) return low;
    const std::uint32_t opposite = low & 1;
    low ^= opposite, high ^= opposite;
    for (std::size_t at = mixed(level, low, high);; ++at) {
        std::uint32_t& place = places_[at & (places_.size() - 1)];
        if (!place) {
            place = static_cast<std::uint32_t>(nodes_.size());
            const Mask reads = unit(order_[level]) | nodes_[low >> 1].reads | nodes_[high >> 1].reads;
            nodes_.push_back({level, low, high, reads, {}});
            const std::uint32_t out = place << 1 | opposite;
            if (2 * nodes_.size() > places_.size()) grow();
            return out;
        }
        const Node& own = nodes_[place];
        if (own.level == level && own.low == low && own.high == high) return place << 1 | opposite;
    }
}

Diagrams::Known& Diagrams::known(Operation operation, std::uint32_t a, std::uint32_t b) {
    return known_[mixed(operation, a, b) & (most_known - 1)];
}

// Returns the product of two functions, or their sum.
std::uint32_t Diagrams::joined(Operation operation, std::uint32_t a, std::uint32_t b) {
    std::uint32_t opposite = 0;
    if (operation == of_sum) {
        opposite = (a ^ b) & 1;
        a &= ~std::uint32_t{1}, b &= ~std::uint32_t{1};
    }
    if (a > b) std::swap(a, b);
    if (a == b) return operation == of_sum ? opposite : a;
    if (operation == of_sum && !a) return b ^ opposite;
    if (operation == of_both && !(a & ~std::uint32_t{1})) return a ? b : 0;
    if (operation == of_both && (a ^ b) == 1) return 0;
    Known& own = known(operation, a, b);
    if (own.a == a && own.b == b && own.of == key(operation)) return own.is ^ opposite;
    if (!step()) return 0;
    const std::uint32_t level = std::max(level_of(a), level_of(b));
    const auto [a_low, a_high] = parts(a, level);
    const auto [b_low, b_high] = parts(b, level);
    const std::uint32_t low = joined(operation, a_low, b_low), high = joined(operation, a_high, b_high);
    const std::uint32_t out = node(level, low, high);
    if (fits_) own = {key(operation), a, b, out};
    return out ^ opposite;
}

// Returns what a function is where the bit of a level is 0, or where it changes with that.
std::uint32_t Diagrams::restricted(Operation operation, std::uint32_t of, std::uint32_t level) {
    const std::uint32_t opposite = of & 1, sign = operation == of_zero ? opposite : 0;
    of ^= opposite;
    const Node own = nodes_[of >> 1];
    if (own.level < level) return operation == of_zero ? of ^ sign : 0;
    if (own.level == level) return operation == of_zero ? own.low ^ sign : joined(of_sum, own.low, own.high);
    const Known& before = known(operation, of, level);
    if (before.a == of && before.b == level && before.of == key(operation)) return before.is ^ sign;
    if (!step()) return 0;
    const std::uint32_t low = restricted(operation, own.low, level), high = restricted(operation, own.high, level);
    const std::uint32_t out = node(own.level, low, high);
    if (fits_) known(operation, of, level) = {key(operation), of, level, out};
    return out ^ sign;
}

Diagram Diagrams::bit(int wire) {
    std::uint32_t& level = levels_[static_cast<std::size_t>(wire)];
    if (!level) level = ++last_level_, order_[level] = wire;
    return Diagram(node(level, 0, 1));
}

Diagram Diagrams::both(Diagram a, Diagram b) { return Diagram(joined(of_both, a.edge_, b.edge_)); }
Diagram Diagrams::sum(Diagram a, Diagram b) { return Diagram(joined(of_sum, a.edge_, b.edge_)); }

Diagram Diagrams::change(Diagram of, int wire) {
    if (!reads(of, wire)) return {};
    return Diagram(restricted(of_change, of.edge_, levels_[static_cast<std::size_t>(wire)]));
}

Diagram Diagrams::at_zero(Diagram of, int wire) {
    if (!reads(of, wire)) return of;
    return Diagram(restricted(of_zero, of.edge_, levels_[static_cast<std::size_t>(wire)]));
}

Diagram Diagrams::where(Mask bits, Mask values) {
    Diagram out = Diagram::one();
    each(bits, [&](int wire) { out = both(out, values >> wire & 1 ? bit(wire) : !bit(wire)); });
    return out;
}

// A function as a sum of two: one everywhere, or where a bit has a value; and another where the bit has a value.
struct Diagrams::Split {
    Diagram one, other;
    bool is_everywhere, value;  // of one, and of the bit where the other one counts
    std::uint32_t products;
};

// Of what a function is for both values of a bit, and their sum, any two make it up: those that take fewest products. T.
// Sasao, in Logic Synthesis and Optimization, Kluwer 1993: pseudo-Kronecker expressions.
Diagrams::Split Diagrams::split(Diagram of) {
    const Diagram zero = low(of), one = high(of), change = sum(zero, one);
    const std::uint32_t a = products(zero), b = products(one), c = products(change);
    if (a >= b && a >= c) return {one, change, true, false, b + c};
    if (b >= c) return {zero, change, true, true, a + c};
    return {zero, one, false, true, a + b};
}

std::uint32_t Diagrams::products(Diagram of) {
    if (of.edge_ < 2) return of.edge_;
    if (const std::uint32_t before = nodes_[of.edge_ >> 1].products[of.edge_ & 1]) return before;
    if (!step()) return too_many;
    const std::uint32_t out = std::min(split(of).products, too_many);
    if (fits_) nodes_[of.edge_ >> 1].products[of.edge_ & 1] = out;
    return fits_ ? out : too_many;
}

// Calls something that may take the steps of a part, and returns whether it took no more.
template <class Call>
bool Diagrams::is_short(const Call& call) {
    if (!fits_) return false;
    const std::size_t left = left_, begun = steps_;
    left_ = std::min(left_, part_);
    call();
    const bool out = !thresholds.part_entries.met(!fits_);
    left_ = left - (steps_ - begun);
    fits_ = out || left_ > 0;
    return out;
}

std::size_t Diagrams::number_of_products(Diagram of) {
    std::size_t out = 0;
    return is_short([&] { out = products(of); }) ? out : too_many;
}

std::optional<Diagram> Diagrams::short_sum(Diagram a, Diagram b) {
    Diagram out;
    if (!is_short([&] { out = sum(a, b); })) return {};
    return out;
}

void Diagrams::add_products(Diagram of, JointPhase under, std::vector<JointPhase>& to) {
    if (of.is_zero() || !fits_) return;
    if (of.is_one()) return to.push_back(under);
    const Split parts = split(of);
    const Mask own = unit(first(of));
    JointPhase with = under;
    with.bits |= own, with.values |= parts.value ? own : 0;
    add_products(parts.other, with, to);
    if (!parts.is_everywhere) under.bits |= own;
    add_products(parts.one, under, to);
}

std::vector<JointPhase> Diagrams::few_products(Diagram of) {
    std::vector<JointPhase> out;
    add_products(of, {0, 0, std::numbers::pi}, out);
    if (out.size() <= most_joined) join_phases(out, 1e-12);
    return out;
}

}  // namespace qx::form
