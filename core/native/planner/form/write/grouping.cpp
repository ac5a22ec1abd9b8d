// Rotations under controls, found among rotations.

#include "planner/form/write/grouping.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace qx::form {

namespace {

constexpr std::size_t at_once = 64;
constexpr std::size_t most_active = 256;  // rotations that later ones may join
constexpr std::size_t most_alike = 48;    // those by one angle, of which pairs are kept
constexpr std::size_t pairs_of_one = 32;  // rows of the table of pairs for each rotation
constexpr int most_equal = 16;            // pairs with one product that are looked at
constexpr int most_controls = 6;
constexpr double quarter = std::numbers::pi / 2;

std::uint64_t hash(const Pauli& of, std::uint64_t more) {
    return plan::mixed(of.x) ^ plan::mixed(of.z + 0x9e3779b97f4a7c15ull + more);
}

bool is_eighth(const Angle& of) { return std::fabs(std::fabs(of.value) - quarter / 2) < 1e-12; }

// P of a rotation, or its negative, so that the angle is positive.
SignedPauli forward(const Waiting& of) { return {of.string.pauli, of.string.negative != (of.angle.value < 0)}; }

// Strings that generate the same group, each with a highest bit that no other has.
std::vector<SignedPauli> reduced(const std::vector<SignedPauli>& of) {
    std::vector<SignedPauli> out;
    const auto top = [](const Pauli& p) { return p.x ? Pauli{unit(highest(p.x)), 0} : Pauli{0, unit(highest(p.z))}; };
    const auto has = [](const Pauli& p, const Pauli& bit) { return ((p.x & bit.x) | (p.z & bit.z)) != 0; };
    for (SignedPauli one : of) {
        for (const SignedPauli& other : out)
            if (has(one.pauli, top(other.pauli))) one = one * other;
        if (one.pauli.is_identity()) continue;
        for (SignedPauli& other : out)
            if (has(other.pauli, top(one.pauli))) other = other * one;
        out.push_back(one);
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.pauli < b.pauli; });
    return out;
}

}  // namespace

Grouping::Grouping(std::vector<Waiting> waiting, Controls& controls, std::vector<SignedPauli>& x,
                   std::vector<SignedPauli>& z, bool diagonal)
    : waiting_(std::move(waiting)), controls_(controls), x_(x), z_(z), diagonal_(diagonal) {
    for (const Waiting& one : waiting_)
        if (const Index kind = kind_of(one); kind != none) ++left_[kind];
    rows_.assign(std::bit_ceil(pairs_of_one * (waiting_.size() + 1)), none);
}

bool Grouping::advance() {
    for (std::size_t k = 0; k < at_once && next_ < waiting_.size(); ++k) add(waiting_[next_++]);
    return next_ < waiting_.size();
}

std::vector<Waiting> Grouping::result() const {
    std::vector<Waiting> out;
    for (const Index number : order_)
        if (!items_[number].gone) out.push_back(items_[number].of);
    return out;
}

void Grouping::add(Waiting own) {
    if (own.layer != layer_) layer_ = own.layer, layer_begin_ = order_.size(), groups_here_ = 0;
    const Index kind = kind_of(own);
    // Phases stay themselves.
    const bool alone = kind == none || left_[kind] < 4 || (diagonal_ && !own.string.pauli.x);
    if (!alone && join(own, kind)) return;
    const Index number = append(own, kind);
    groups_here_ += own.num_controls > 0;  // with these a layer begins
    if (alone) return;
    std::vector<Index>& alike = of_kind_[kind];
    for (std::size_t k = alike.size(), left = most_alike; k-- > 0 && left > 0; --left) {
        const Pauli &a = items_[alike[k]].of.string.pauli, &b = own.string.pauli;
        if (anticommute(a, b) || !fits_controls({a.x ^ b.x, a.z ^ b.z}, {})) continue;
        const std::uint64_t found = hash({a.x ^ b.x, a.z ^ b.z}, kind);
        Index& last = rows_[found & (rows_.size() - 1)];
        pairs_.push_back({found, alike[k], number, last});
        last = static_cast<Index>(pairs_.size() - 1);
    }
    alike.push_back(number);
}

// Tells whether a string may be a control beside another one: no H, or on each wire one at most, makes both diagonal.
bool Grouping::fits_controls(const Pauli& of, const Pauli& other) const {
    if (of.is_identity() || of == other || (diagonal_ && of.x)) return false;
    return !((of.x & other.z) ^ (of.z & other.x));
}

// Returns the number of an angle's absolute value, `none` if it varies or there are controls.
Index Grouping::kind_of(const Waiting& of) {
    constexpr double apart = 1e9;
    if (of.angle.varies() || of.num_controls) return none;
    Index& known = kinds_[static_cast<std::uint64_t>(std::llround(std::fabs(of.angle.value) * apart))];
    if (known == none) known = static_cast<Index>(left_.size()), left_.push_back(0), of_kind_.emplace_back();
    return known;
}

Index Grouping::append(const Waiting& own, Index kind) {
    block(own);
    items_.push_back({own, kind});
    const Index number = static_cast<Index>(items_.size() - 1);
    order_.push_back(number), active_.push_back(number);
    return number;
}

// Keeps in mind what does not commute with a rotation that stands behind all.
void Grouping::block(const Waiting& by) {
    std::size_t to = 0;
    const std::size_t skipped = active_.size() > most_active ? active_.size() - most_active : 0;
    for (std::size_t k = 0; k < active_.size(); ++k) {
        Item& item = items_[active_[k]];
        item.known = item.known && k >= skipped;
        if (!usable(active_[k])) continue;
        if (controls_.meet(item.of, by)) item.blocked = layer_;
        active_[to++] = active_[k];
    }
    active_.resize(to);
}

// Whether all that stands behind an item, up to the layer at hand, commutes with it.
bool Grouping::usable(Index number) const {
    return !items_[number].gone && items_[number].known && items_[number].blocked >= layer_;
}

// Makes a rotation and three others one, if it may be.
bool Grouping::join(Waiting& own, Index kind) {
    std::vector<Index>& alike = of_kind_[kind];
    std::erase_if(alike, [&](Index number) { return !usable(number); });
    for (std::size_t k = alike.size(), left = most_alike; k-- > 0 && left > 0; --left) {
        const Index a = alike[k];
        Pauli both = items_[a].of.string.pauli;
        both ^= own.string.pauli;
        if (!fits_controls(both, {})) continue;
        const std::uint64_t found = hash(both, kind);
        Index at = rows_[found & (rows_.size() - 1)];
        if (at == none || controls_.meet(items_[a].of, own)) continue;
        for (int looks = most_equal; at != none && looks > 0; at = pairs_[at].before) {
            if (pairs_[at].hash != found) continue;
            --looks;
            const Index b = pairs_[at].a, c = pairs_[at].b;
            if (a == b || a == c || !usable(b) || !usable(c)) continue;
            if (controls_.meet(items_[b].of, own) || controls_.meet(items_[c].of, own)) continue;
            const Pauli& third = items_[b].of.string.pauli;
            Pauli all = third;
            all ^= items_[c].of.string.pauli;
            const Pauli other{third.x ^ own.string.pauli.x, third.z ^ own.string.pauli.z};
            if (!fits_controls(other, both)) continue;
            bool other_way = false;
            std::size_t place_at = 0;
            if (!(all == both) || !turns_to_fit(own, items_[a], items_[b], items_[c], other_way)) continue;
            if (!place({a, b, c}, &own, place_at)) continue;
            if (other_way) turn_back(own);
            block(own);
            merge_on(group({a, b, c}, &own, place_at, kind));
            return true;
        }
    }
    return false;
}

// Tells whether the signs of four are those of a rotation under controls; other_way: if the first one turns the other way.
bool Grouping::turns_to_fit(Waiting& own, const Item& a, const Item& b, const Item& c, bool& other_way) const {
    const SignedPauli product = (forward(own) * forward(a.of)) * (forward(b.of) * forward(c.of));
    other_way = product.negative;
    return !other_way || is_eighth(own.angle);
}

// Lets an eighth turn be one the other way, and turns all that comes behind it.
void Grouping::turn_back(Waiting& own) {
    const int more = own.quarters ? -own.quarters : own.angle.value > 0 ? -1 : 1;
    own.quarters += more, own.angle.value += more * quarter;
    const int back = own.string.negative ? more : -more;
    for (std::size_t k = next_; k < waiting_.size(); ++k) {
        turn(waiting_[k].string, own.string.pauli, back);
        for (int j = 0; j < waiting_[k].num_controls; ++j)
            turn(controls_.strings[waiting_[k].controls + static_cast<Index>(j)], own.string.pauli, back);
    }
    for (SignedPauli& image : x_) turn(image, own.string.pauli, back);
    for (SignedPauli& image : z_) turn(image, own.string.pauli, back);
}

// Finds where members may stand as one, and `last` with them, which is in the layer at hand: behind the groups with which
// this layer begins, or before them.
bool Grouping::place(const std::vector<Index>& members, const Waiting* last, std::size_t& at) const {
    const std::size_t end = layer_begin_ + groups_here_;
    bool behind = true, before = true;
    for (std::size_t k = layer_begin_; k < end; ++k) {
        const Index other = order_[k];
        if (items_[other].gone || std::find(members.begin(), members.end(), other) != members.end()) continue;
        before = before && !(last && controls_.meet(*last, items_[other].of));
        for (const Index member : members) {
            const bool meet = controls_.meet(items_[member].of, items_[other].of);
            if (meet) (items_[member].of.layer == layer_ ? before : behind) = false;
            if (meet && items_[member].of.num_controls) behind = before = false;
        }
    }
    at = behind ? end : layer_begin_;
    return behind || before;
}

// Puts a rotation under controls in the place of its parts.
Index Grouping::group(const std::vector<Index>& members, const Waiting* last, std::size_t at, Index kind) {
    std::vector<Waiting> parts;
    Item made{{}, kind};
    const auto add = [&](const Waiting& of) { controls_.parts(of, [&](const Waiting& part) { parts.push_back(part); }); };
    for (const Index member : members) {
        add(items_[member].of);
        items_[member].gone = true;
        made.blocked = std::min(made.blocked, items_[member].blocked);
    }
    if (last) add(*last);
    const auto first = std::min_element(parts.begin(), parts.end(), [](const Waiting& a, const Waiting& b) {
        const Pauli &p = a.string.pauli, &q = b.string.pauli;
        if (count(p.x) != count(q.x)) return count(p.x) < count(q.x);
        return count(p.z) != count(q.z) ? count(p.z) < count(q.z) : p < q;
    });
    std::vector<SignedPauli> products;
    for (const Waiting& part : parts) products.push_back(forward(*first) * forward(part));
    products = reduced(products);
    Waiting& of = made.of;
    of.string = forward(*first), of.layer = layer_, of.num_controls = static_cast<int>(products.size());
    of.angle.value = std::fabs(first->angle.value) * static_cast<double>(parts.size());
    of.controls = static_cast<Index>(controls_.strings.size());
    controls_.strings.insert(controls_.strings.end(), products.begin(), products.end());
    of.parts = static_cast<Index>(controls_.quarters.size());
    for (Mask which = 0; which < parts.size(); ++which) {
        const Pauli own = controls_.product(of, which).pauli;
        const auto part =
            std::find_if(parts.begin(), parts.end(), [&](const Waiting& one) { return one.string.pauli == own; });
        controls_.quarters.push_back(static_cast<signed char>(part->angle.value < 0 ? -part->quarters : part->quarters));
    }
    const Index number = static_cast<Index>(items_.size());
    items_.push_back(made);
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(at), number);
    ++groups_here_;
    active_.push_back(number);
    return number;
}

// Makes a group one with others under the same controls.
void Grouping::merge_on(Index number) {
    for (;;) {
        const Waiting own = items_[number].of;
        Index& known = groups_[key(own, items_[number].kind)];
        const Index other = known;
        known = number;
        if (other == none || !usable(other) || own.num_controls == most_controls) return;
        const Waiting& of = items_[other].of;
        Pauli apart = own.string.pauli;
        apart ^= of.string.pauli;
        std::size_t at = 0;
        if (of.num_controls != own.num_controls || controls_.meet(of, own)) return;
        for (int k = 0; k < own.num_controls; ++k) {
            const SignedPauli &a = controls_.of(own)[k], &b = controls_.of(of)[k];
            if (!(a.pauli == b.pauli) || a.negative != b.negative || !fits_controls(apart, a.pauli)) return;
        }
        if (!place({other, number}, nullptr, at)) return;
        known = none;
        number = group({other, number}, nullptr, at, items_[number].kind);
    }
}

std::uint64_t Grouping::key(const Waiting& of, Index kind) const {
    std::uint64_t out = plan::mixed(kind ^ static_cast<std::uint64_t>(of.num_controls) << 32);
    for (int k = 0; k < of.num_controls; ++k) {
        const SignedPauli& one = controls_.of(of)[k];
        out = plan::mixed(out ^ hash(one.pauli, one.negative));
    }
    return out;
}

}  // namespace qx::form
