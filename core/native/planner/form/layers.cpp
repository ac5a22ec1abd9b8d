// A list of Pauli rotations in layers.

#include "planner/form/layers.hpp"

#include <algorithm>

#include "thresholds/table.hpp"

namespace qx::form {

namespace {

std::uint64_t hash(const Pauli& pauli) { return plan::mixed(pauli.x) ^ plan::mixed(pauli.z + 0x9e3779b97f4a7c15ull); }

Pauli top_bit(const Pauli& pauli) {
    return pauli.x ? Pauli{unit(plan::highest(pauli.x)), 0} : Pauli{0, unit(plan::highest(pauli.z))};
}

bool meets(const Pauli& a, const Pauli& b) { return (a.x & b.x) | (a.z & b.z); }

}  // namespace

void Layers::Layer::extend(Pauli pauli) {
    all.x |= pauli.x, all.z |= pauli.z;
    if (!reduced && span.size() < thresholds.layer_strings) return span.push_back({pauli, {}});
    if (!reduced) {
        reduced = true;
        const std::vector<Generator> found = std::move(span);
        span.clear();
        for (const Generator& one : found) extend(one.pauli);
    }
    for (const Generator& one : span)
        if (meets(pauli, one.bit)) pauli ^= one.pauli;
    if (!pauli.is_identity()) span.push_back({pauli, top_bit(pauli)});
}

bool Layers::Layer::commutes(const Pauli& pauli) const {
    if (!(pauli.x & all.z) && !(pauli.z & all.x)) return true;
    for (const Generator& one : span)
        if (anticommute(one.pauli, pauli)) return false;
    return true;
}

// Returns the end of the layers in which something need not commute with a string.
std::size_t Layers::highest(const Pauli& pauli) const {
    std::size_t out = 0;
    each(pauli.x, [&](int wire) { out = std::max(out, last_z_[wire]); });
    each(pauli.z, [&](int wire) { out = std::max(out, last_x_[wire]); });
    return out;
}

// Tells whether a layer has something, but for one item, that does not commute with a string.
bool Layers::blocks(std::size_t layer, const Pauli& pauli, Index but) const {
    if (layers_[layer].commutes(pauli)) return false;
    if (but == none || items_[but].layer != layer) return true;
    for (const Index member : layers_[layer].members) {
        const Item& item = items_[member];
        if (member != but && !item.is_block() && anticommute(item.pauli, pauli)) return true;
        for (Index k = 0; k < item.count; ++k)
            if (anticommute(generators_[item.first + k].pauli, pauli)) return true;
    }
    return false;
}

// Returns the first layer behind all of the first `end` that have something that does not commute with a string.
std::size_t Layers::depth(const Pauli& pauli, std::size_t end, Index but) const {
    std::size_t layer = end;
    bool skipped = false;  // the layers in which everything commutes
    for (std::size_t looked = 0; layer && looked < thresholds.layers_looked_at; --layer, ++looked) {
        if (!skipped && looked >= thresholds.layers_asked) skipped = true, layer = std::min(layer, highest(pauli));
        if (!layer || blocks(layer - 1, pauli, but)) return layer;
    }
    return layer;
}

Index Layers::name_of(const Pauli& pauli) {
    for (std::uint64_t key = hash(pauli);; key = plan::mixed(key + 1)) {
        Index& known = names_[key];
        if (known == Memo::none) {
            known = static_cast<Index>(strings_.size());
            strings_.push_back(pauli), last_.push_back(none);
            return known;
        }
        if (strings_[known] == pauli) return known;
    }
}

// Returns the number of a string, `none` if it has none.
Index Layers::known_name(const Pauli& pauli) const {
    for (std::uint64_t key = hash(pauli);; key = plan::mixed(key + 1)) {
        const Index known = names_.at(key);
        if (known == Memo::none || strings_[known] == pauli) return known;
    }
}

Index Layers::found(Index name, std::size_t layer) const {
    const Index number = last_[name];
    return number != none && items_[number].layer == layer ? number : none;
}

void Layers::put(Item item, std::size_t layer) {
    if (layer == layers_.size()) layers_.emplace_back();
    item.layer = static_cast<Index>(layer);
    Index number = static_cast<Index>(items_.size());
    if (free_.empty()) items_.emplace_back();
    else number = free_.back(), free_.pop_back();
    if (!item.is_block()) item.before = last_[item.name], last_[item.name] = number;
    items_[number] = item;
    layers_[layer].members.push_back(number);
    const auto extend = [&](const Pauli& pauli) {
        const Pauli before = layers_[layer].all;
        layers_[layer].extend(pauli);
        each(pauli.x & ~before.x, [&](int wire) { last_x_[wire] = std::max(last_x_[wire], layer + 1); });
        each(pauli.z & ~before.z, [&](int wire) { last_z_[wire] = std::max(last_z_[wire], layer + 1); });
    };
    if (!item.is_block()) extend(item.pauli);
    for (Index k = 0; k < item.count; ++k) extend(generators_[item.first + k].pauli);
}

// Forgets an item of a layer. Of those about one string it may be any: where not all layers are asked, one that was put
// later may stand before others.
void Layers::forget(Index number) {
    const Item& item = items_[number];
    if (!item.is_block()) {
        Index* at = &last_[item.name];
        while (*at != number) at = &items_[*at].before;
        *at = item.before;
    }
    free_.push_back(number);
}

// Removes one item from its layer.
void Layers::remove(Index number) {
    Layer& layer = layers_[items_[number].layer];
    layer.members.erase(std::find(layer.members.begin(), layer.members.end(), number));
    layer.span.clear(), layer.all = {}, layer.reduced = false;
    for (const Index member : layer.members) {
        const Item& other = items_[member];
        if (!other.is_block()) layer.extend(other.pauli);
        for (Index k = 0; k < other.count; ++k) layer.extend(generators_[other.first + k].pauli);
    }
    forget(number);
    while (!layers_.empty() && layers_.back().members.empty()) layers_.pop_back();
}

// Lets a quarter turn act behind all layers, and behind what waits to be put back into them.
void Layers::quarter(const Pauli& about, int quarters) {
    frame_.turn_before(about, quarters);
    for (std::size_t k = waits_; k < moved_.size(); ++k) {
        Item& item = moved_[k];
        SignedPauli one{item.pauli};
        if (!item.is_block() && turn(one, about, quarters))
            item.pauli = one.pauli, item.angle = one.negative ? -item.angle : item.angle;
        for (Index j = 0; j < item.count; ++j) turn(generators_[item.first + j], about, quarters);
    }
}

// Adds an angle to that of a rotation with which all behind it commutes.
void Layers::merge(Index number, const Angle& angle) {
    ++changes_;
    const Pauli pauli = items_[number].pauli;
    Angle& own = items_[number].angle;
    own = frame_.sums.plus(own, angle);
    if (own.varies()) return;
    const SplitAngle sum = rounding_.split(own.value);
    own.value = sum.rest;
    if (sum.rest == 0) remove(number);
    if (sum.quarters) quarter(pauli, sum.quarters);
}

// looks: whether it may be part of a turn that is written anew.
void Layers::add(const Pauli& pauli, const Angle& angle, bool looks) {
    Angle own = angle;
    if (!angle.varies()) {
        const SplitAngle split = rounding_.split(angle.value);
        if (split.quarters) quarter(pauli, split.quarters);
        if (split.rest == 0) return;
        own.value = split.rest;
    }
    const std::size_t layer = depth(pauli, layers_.size());
    const Index name = name_of(pauli), equal = found(name, layer);
    if (equal != none) return merge(equal, own);
    Run run;
    if (looks && !own.varies() && layer > 1 && find_run(pauli, own.value, layer, run) && rewrite(run)) return;
    put({pauli, own, 0, name}, layer);
}

void Layers::put_block(Item item) {
    std::size_t layer = 0;
    for (Index k = 0; k < item.count; ++k) layer = std::max(layer, depth(generators_[item.first + k].pauli, layers_.size()));
    put(item, layer);
}

void Layers::add_block(const std::vector<SignedPauli>& generators, Index instruction) {
    Item item;
    item.first = static_cast<Index>(generators_.size()), item.count = static_cast<Index>(generators.size());
    item.instruction = instruction;
    generators_.insert(generators_.end(), generators.begin(), generators.end());
    put_block(item);
}

// Returns the only rotation of a layer that does not commute with a string; `none` for several, or a block.
Index Layers::only_neighbour(const Pauli& pauli, std::size_t layer) const {
    Index out = none;
    for (const Index member : layers_[layer].members) {
        const Item& item = items_[member];
        for (Index k = 0; k < item.count; ++k)
            if (anticommute(generators_[item.first + k].pauli, pauli)) return none;
        if (item.is_block() || !anticommute(item.pauli, pauli)) continue;
        if (out != none) return none;
        out = member;
    }
    return out;
}

// Finds Q in the layer before `layer`, and before it P or the third string of both, with nothing else between.
bool Layers::find_run(const Pauli& pauli, double angle, std::size_t layer, Run& out) const {
    const Index second = only_neighbour(pauli, layer - 1);
    if (second == none || items_[second].angle.varies()) return false;
    const Pauli rest{pauli.x ^ items_[second].pauli.x, pauli.z ^ items_[second].pauli.z};
    for (const Pauli& before : {pauli, rest}) {
        const Index name = known_name(before);
        if (name == none) continue;
        const Index first = found(name, depth(before, layer - 1));
        if (first != none && !items_[first].angle.varies()) return out = {first, second, pauli, angle}, true;
    }
    return false;
}

// Moves what stands in a layer and behind it away, but for one item; returns false if that is too much.
bool Layers::move_away(std::size_t from, Index but) {
    std::size_t size = 0;
    for (std::size_t layer = from; layer < layers_.size(); ++layer) size += layers_[layer].members.size();
    if (size > thresholds.items_moved) return false;
    for (std::size_t layer = from; layer < layers_.size(); ++layer)
        for (const Index member : layers_[layer].members)
            if (member != but) moved_.push_back(items_[member]);
    for (; layers_.size() > from; layers_.pop_back())
        for (const Index member : layers_.back().members) forget(member);
    return true;
}

// Finds the axes about which a turn is shortest, if the first rotation merges with one before it; of several ways the one
// whose first axis comes first. Returns whether it is shorter than it was.
bool Layers::shorter(const Run& run, const Turn& turn, const Pauli* axes, const std::array<int, 3>& order,
                     Rotations& out) const {
    constexpr int before = 3;
    int least = before + 1;
    for (const int axis : order) {
        const Rotations found = rotations_from(turn, axis, rounding_.most());
        int length = found.num_generic;
        if (length) {
            const Pauli& first = axes[found.generic[0].axis];
            const Index name = known_name(first);
            Index equal = name == none ? none : last_[name];
            if (equal == run.first) equal = items_[equal].before;
            if (equal != none && items_[equal].layer == depth(first, items_[run.second].layer, run.first)) --length;
        }
        if (length < least) least = length, out = found;
    }
    return least < before;
}

// Writes a turn of a virtual qubit anew if that makes it shorter, or if it is to be about the axes that come first.
bool Layers::rewrite(const Run& run) {
    const Item first = items_[run.first], second = items_[run.second];
    const SignedPauli last = third(run.third, second.pauli);
    Pauli axes[] = {run.third, second.pauli, last.pauli};  // X, Y and Z of the virtual qubit
    const int own = last.negative ? 1 : 0, other = 1 - own;
    if (last.negative) std::swap(axes[0], axes[1]);
    std::array<int, 3> order{0, 1, 2};
    std::sort(order.begin(), order.end(), [&](int a, int b) { return axes[a] < axes[b]; });
    const bool again = first.pauli == run.third;
    const Turn whole = Turn::about(own, run.angle) * Turn::about(other, second.angle.value) *
                       Turn::about(again ? own : 2, first.angle.value);
    Rotations found;
    const bool in_order = again && order[0] == own && order[1] == other;
    if (!shorter(run, whole, axes, order, found) && (in_order || !axes_)) return false;
    if (!move_away(second.layer, run.second)) return false;
    rounding_.take(whole.distance(product(found)));
    ++changes_;
    remove(run.first);
    for (int k = found.num_clifford; k--;) {
        const Rotations::Quarters& one = found.clifford[static_cast<std::size_t>(k)];
        quarter(axes[one.axis], one.quarters);
    }
    for (int k = found.num_generic; k--;) {
        const AxisRotation& one = found.generic[static_cast<std::size_t>(k)];
        moved_.insert(moved_.begin(), Item{axes[one.axis], {one.angle}});
    }
    while (waits_ < moved_.size()) {
        const Item item = moved_[waits_++];
        if (item.is_block()) put_block(item);
        else add(item.pauli, item.angle, false);
    }
    moved_.clear(), waits_ = 0;
    return true;
}

void Layers::sort() {
    const auto key = [&](Index number) {
        const Item& item = items_[number];
        return item.is_block() ? generators_[item.first].pauli : item.pauli;
    };
    for (Layer& layer : layers_)
        std::sort(layer.members.begin(), layer.members.end(), [&](Index a, Index b) {
            const bool one = items_[a].is_block(), other = items_[b].is_block();
            return one != other ? other : key(a) < key(b);
        });
}

}  // namespace qx::form
