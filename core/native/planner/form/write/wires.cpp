// A circuit between its gates on several wires.

#include "planner/form/write/wires.hpp"

#include <algorithm>
#include <cmath>

#include "planner/form/gates/fewer_turns.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr int most_looks = 48;         // items before one that are looked at
constexpr std::size_t most_between = 4;  // items on a wire between two turns that may be one
constexpr std::size_t most_turned = 2;   // rotations that commute, between two reflections that cancel

constexpr double quarter = 1.57079632679489661923, tolerance = 1e-9;

// The number of the axis that is an operator of one wire.
int axis_of(const Pauli& of) { return !of.z ? 0 : of.x ? 1 : 2; }

bool is_eighth(double angle) { return std::fabs(std::remainder(angle, quarter / 2)) < tolerance; }

}  // namespace

Wires::Wires(const Form& form, Sums& sums, bool as_cx)
    : on_wire(static_cast<std::size_t>(form.tableau().wires())), local(form.tableau().wires()), form_(form), sums_(sums),
      rounding_(form.rounding()), as_cx_(as_cx), state_(form.tableau().wires()) {}

Letters Wires::letters() const {
    const auto first = [](const Pauli& of) {
        return static_cast<unsigned char>(of.is_identity() ? 0 : letter(of, lowest(of.x | of.z)));
    };
    Letters out;
    for (const WireItem& item : items) out.push_back({first(item.a), first(item.b)});
    return out;
}

bool Wires::advance() {
    const auto& read = form_.read_in_order;
    const auto is_turn = [&](std::size_t k, Mask wire) {
        return k < read.size() && !read[k].angle.varies() && (read[k].pauli.x | read[k].pauli.z) == wire;
    };
    for (Int left = thresholds.instructions_at_once; left > 0 && next_ < read.size(); --left) {
        const Mask wires = read[next_].pauli.x | read[next_].pauli.z;
        std::size_t end = next_ + 1;
        while (!(wires & (wires - 1)) && is_turn(next_, wires) && is_turn(end, wires)) ++end;
        if (end - next_ > 1 && take_turns(next_, end)) {
            next_ = end;
            continue;
        }
        take(read[next_].pauli, read[next_].angle);
        ++next_;
    }
    return next_ < read.size();
}

// Takes turns of one wire as few ones by whole angles, if one of them is no quarter turn: an instruction's are small ones,
// and quarter turns.
bool Wires::take_turns(std::size_t begin, std::size_t end) {
    const auto& read = form_.read_in_order;
    Turn whole;
    bool generic = false;
    for (std::size_t k = begin; k < end; ++k) {
        whole = Turn::about(axis_of(read[k].pauli), read[k].angle.value) * whole;
        generic = generic || split_angle(read[k].angle.value, rounding_.most()).rest != 0;
    }
    std::vector<AxisRotation> found;
    const Mask wire = read[begin].pauli.x | read[begin].pauli.z;
    if (!generic || !fewer(whole, end - begin + 3, rounding_, as_cx_, found)) return false;
    const Pauli axes[] = {{wire, 0}, {wire, wire}, {0, wire}};
    for (const AxisRotation& one : found) take(axes[one.axis], {one.angle});
    return true;
}

// Takes a rotation that acts behind all so far.
void Wires::take(const Pauli& about, const Angle& angle) {
    const SplitAngle split = rounding_.split(angle.value);
    SignedPauli image = local.image(about);
    if (angle.varies() || split.rest != 0) return rotate(image.pauli, image.negative ? -angle : angle);
    if (!as_cx_ && split.quarters & 1 && count(image.pauli.x | image.pauli.z) == 2) {
        turn_about(image.pauli);
        image = local.image(about);  // behind quarter turns that were left
    }
    state_.turn(about, split.quarters & 7);
    leave(image.pauli, image.negative ? -split.quarters : split.quarters);
}

// Calls a function with the items on some wires, the last one first, until it returns false.
template <class Visit>
void Wires::back(Mask wires, const Visit& visit) const {
    std::size_t ends[64];
    each(wires, [&](int wire) { ends[wire] = on_wire[static_cast<std::size_t>(wire)].size(); });
    for (int looks = most_looks; looks > 0; --looks) {
        Index last = 0;
        bool any = false;
        each(wires, [&](int wire) {
            if (ends[wire]) last = std::max(last, on_wire[static_cast<std::size_t>(wire)][ends[wire] - 1]), any = true;
        });
        if (!any || (!items[last].gone && !visit(last))) return;
        each(wires,
             [&](int wire) { ends[wire] -= ends[wire] && on_wire[static_cast<std::size_t>(wire)][ends[wire] - 1] == last; });
    }
}

void Wires::append(const WireItem& item) {
    each(item.wires(),
         [&](int wire) { on_wire[static_cast<std::size_t>(wire)].push_back(static_cast<Index>(items.size())); });
    items.push_back(item);
}

void Wires::rotate(const Pauli& about, const Angle& angle) {
    const WireItem own{about, {}, angle};
    bool merged = false;
    back(own.wires(), [&](Index number) {
        WireItem& item = items[number];
        if (item.reflects() || item.quarters || !(item.a == about)) return item.commutes(own);
        merged = true;
        item.angle = sums_.plus(item.angle, angle);
        const SplitAngle split = rounding_.split(item.angle.value);
        if (item.angle.varies() || split.rest != 0) return false;
        item.gone = true;
        turn(about, split.quarters);
        return false;
    });
    if (merged) return;
    append(own);
    if (!angle.varies() && count(own.wires()) == 1) shorten(lowest(own.wires()));
}

// Returns the turns of one wire by numbers with nothing behind them on it, the last one first, and what they are together.
std::vector<Index> Wires::last_turns(int wire, Turn& whole) const {
    std::vector<Index> run;
    const std::vector<Index>& on = on_wire[static_cast<std::size_t>(wire)];
    for (std::size_t k = on.size(); k-- > 0;) {
        const WireItem& item = items[on[k]];
        if (item.gone) continue;
        if (item.wires() != unit(wire) || item.angle.varies()) break;
        whole = whole * Turn::about(axis_of(item.a), item.angle.value);
        run.push_back(on[k]);
    }
    return run;
}

// Makes three turns or more of one wire, with nothing behind them, fewer ones, by whole angles: quarter turns would change
// how later items are written.
void Wires::shorten(int wire) {
    Turn whole;
    std::vector<Index> run = last_turns(wire, whole);
    std::vector<AxisRotation> found;
    if (run.size() >= 3 && fewer(whole, run.size(), rounding_, as_cx_, found)) replace(run, found, false);
    else if (run.size() == 2 || (run.size() == 1 && !as_cx_)) pull_behind(wire, std::move(run), whole);  // CX are free
}

// Lets a turn of a wire join its last turns, with which it is one matrix, if it commutes with what stands between and all of
// them are two at most. Eighth turns are left to rules that know T.
void Wires::pull_behind(int wire, std::vector<Index> run, const Turn& whole) {
    const std::vector<Index>& on = on_wire[static_cast<std::size_t>(wire)];
    std::vector<Index> between;
    const auto last = std::find(on.rbegin(), on.rend(), run.back());
    for (auto at = std::next(last); at != on.rend() && between.size() <= most_between; ++at) {
        const WireItem& item = items[*at];
        if (item.gone) continue;
        if (item.wires() != unit(wire)) {
            between.push_back(*at);
            continue;
        }
        const auto commutes = [&](Index other) { return item.commutes(items[other]); };
        const bool varies = item.angle.varies() || is_eighth(item.angle.value);
        if (varies || between.empty() || !std::all_of(between.begin(), between.end(), commutes)) return;
        run.push_back(*at);
        std::vector<AxisRotation> found;
        if (fewer(whole * Turn::about(axis_of(item.a), item.angle.value), run.size(), rounding_, as_cx_, found))
            replace(run, found, false);
        return;
    }
}

// Puts rotations in the place of the last turns of a wire. merged: each may be one with an equal one before it.
void Wires::replace(const std::vector<Index>& run, const std::vector<AxisRotation>& by, bool merged) {
    const Mask bit = items[run[0]].wires();
    const Pauli axes[] = {{bit, 0}, {bit, bit}, {0, bit}};
    for (const Index number : run) items[number].gone = true;
    SignedPauli behind[3];  // so that each is behind the quarter turns that those before it leave
    for (std::size_t axis = 0; axis < 3; ++axis) behind[axis] = local.preimage(axes[axis]);
    for (const AxisRotation& one : by) {
        const SignedPauli& of = behind[one.axis];
        const SignedPauli string = local.image(of.pauli);
        const double angle = string.negative != of.negative ? -one.angle : one.angle;
        const SplitAngle split = rounding_.split(angle);
        if (split.rest == 0) turn(string.pauli, split.quarters);
        else if (merged) rotate(string.pauli, {angle});
        else append({string.pauli, {}, {angle}});
    }
}

// Lets a quarter turn act behind all items, which nobody has counted yet.
void Wires::turn(const Pauli& about, int quarters) {
    const SignedPauli behind = local.preimage(about);
    state_.turn(behind.pauli, (behind.negative ? -quarters : quarters) & 7);
    leave(about, quarters);
}

// Lets a quarter turn act behind all items: in the operator there, if it is of one wire, or Pauli operators.
void Wires::leave(const Pauli& about, int quarters) {
    const Mask wires = about.x | about.z;
    if (!(quarters & 1) || count(wires) == 1) return local.turn_before(about, quarters & 3);
    if (count(wires) == 2) return reflect(about, quarters);
    append({about, {}, {(quarters & 3) * quarter}, quarters & 3});
}

// exp(∓iπ/4 AB) is a reflection and quarter turns about A and B.
void Wires::reflect(const Pauli& about, int quarters) {
    const Mask first = (about.x | about.z) & -(about.x | about.z);
    WireItem own;
    own.a = {about.x & first, about.z & first}, own.b = {about.x & ~first, about.z & ~first};
    local.turn_before(own.a, quarters & 3);
    local.turn_before(own.b, quarters & 3);
    if (swap(own)) return;
    std::vector<Index> between;
    bool cancelled = false;
    back(own.wires(), [&](Index number) {
        WireItem& item = items[number];
        if (item.a == own.a && item.b == own.b) {
            item.gone = cancelled = true;
            return false;
        }
        if (item.commutes(own)) return true;
        const auto commutes = [&](Index other) { return item.commutes(items[other]); };
        const bool may = !as_cx_ && !item.reflects() && !item.quarters;
        const bool alone = may && std::all_of(between.begin(), between.end(), commutes);
        between.push_back(number);
        return alone && between.size() <= most_turned;
    });
    if (!cancelled) return append(own);
    for (const Index number : between) pull_through(items[number], number, own);
}

// Makes of the turns of each wire behind a reflection by a quarter turn about the same string, if several do not commute
// with it, one about its operator there, one that has to be pulled through, and one about its operator again.
void Wires::turn_about(const Pauli& string) {
    const Mask wires = string.x | string.z;
    bool equal = false;
    back(wires, [&](Index number) {
        const WireItem& item = items[number];
        equal = item.reflects() && Pauli{item.a.x | item.b.x, item.a.z | item.b.z} == string;
        return count(item.wires()) == 1 && !item.angle.varies();
    });
    if (!equal) return;
    each(wires, [&](int wire) {
        Turn whole;
        const std::vector<Index> run = last_turns(wire, whole);
        if (std::count_if(run.begin(), run.end(), [&](Index k) { return anticommute(items[k].a, string); }) < 2) return;
        const auto by = whole_rotations(whole, axis_of({string.x & unit(wire), string.z & unit(wire)}));
        replace(run, {by.begin(), by.end()}, true);
    });
}

// Lets a reflection and two before it that let wires change places act behind all items.
bool Wires::swap(const WireItem& own) {
    std::vector<Index> found;
    back(own.wires(), [&](Index number) {
        const WireItem& item = items[number];
        if (!item.reflects() || item.wires() != own.wires()) return false;
        found.push_back(number);
        return found.size() < 2;
    });
    if (found.size() < 2) return false;
    WireItem &last = items[found[0]], &first = items[found[1]];
    if (!(first.a == own.a && first.b == own.b) || !anticommute(last.a, own.a) || !anticommute(last.b, own.b)) return false;
    for (const WireItem* one : {&own, static_cast<const WireItem*>(&last), &own}) {
        local.turn_before(one->a, 1), local.turn_before(one->b, 1);
        local.turn_before({one->a.x | one->b.x, one->a.z | one->b.z}, 3);
    }
    first.gone = last.gone = true;
    return true;
}

// Makes a rotation between two equal reflections one without them.
void Wires::pull_through(WireItem& rotation, Index number, const WireItem& reflection) {
    const Mask before = rotation.wires();
    SignedPauli string{rotation.a};
    const Pauli both{reflection.a.x | reflection.b.x, reflection.a.z | reflection.b.z};
    form::turn(string, reflection.a, 1), form::turn(string, reflection.b, 1), form::turn(string, both, 3);
    rotation.a = string.pauli;
    if (string.negative) rotation.angle = -rotation.angle;
    const Mask now = rotation.wires();
    each(before & ~now, [&](int wire) { std::erase(on_wire[static_cast<std::size_t>(wire)], number); });
    each(now & ~before, [&](int wire) {
        std::vector<Index>& on = on_wire[static_cast<std::size_t>(wire)];
        on.insert(std::lower_bound(on.begin(), on.end(), number), number);
    });
}

}  // namespace qx::form
