// A circuit between its gates on several wires.

#include "planner/form/write/wires.hpp"

#include <algorithm>
#include <cmath>

#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr int most_looks = 48;         // items before one that are looked at
constexpr std::size_t most_turned = 2;  // rotations that commute, between two reflections that cancel

constexpr double quarter = 1.57079632679489661923;

// All of some rotations, quarter turns, too.
std::vector<AxisRotation> with_quarters(const Rotations& of) {
    std::vector<AxisRotation> out(of.generic.begin(), of.generic.begin() + of.num_generic);
    for (int k = 0; k < of.num_clifford; ++k) {
        const Rotations::Quarters& one = of.clifford[static_cast<std::size_t>(k)];
        out.push_back({one.axis, one.quarters * quarter});
    }
    return out;
}

// Finds fewer rotations that make up a turn, each by its whole angle; returns whether there are so few. quarters: rather so
// that others than quarter turns are fewest.
bool fewer(const Turn& whole, std::size_t than, double tolerance, bool quarters, std::vector<AxisRotation>& out) {
    const auto fits = [&](const std::vector<AxisRotation>& of) {
        Turn made;
        for (const AxisRotation& one : of) made = Turn::about(one.axis, one.angle) * made;
        out = of;
        return whole.distance(made) <= tolerance;
    };
    const auto& v = whole.v;
    const auto angle = [](double sine, double cosine) { return 2 * std::atan2(sine, cosine); };
    const auto at = [&](int axis) { return v[static_cast<std::size_t>(axis)]; };
    if (fits({})) return true;
    for (int a = 0; a < 3; ++a)
        if (fits({{a, angle(at(a), whole.w)}})) return true;
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            const int c = 3 - a - b;
            if (a == b) continue;
            const double sign = (b - a + 3) % 3 == 1 ? -1 : 1;  // of -i B A = sign * C
            const double first =
                std::hypot(whole.w, at(a)) >= std::hypot(at(b), at(c)) ? angle(at(a), whole.w) : angle(sign * at(c), at(b));
            const Turn rest = whole * Turn::about(a, -first);
            if (fits({{a, first}, {b, angle(rest.v[static_cast<std::size_t>(b)], rest.w)}})) return true;
        }
    if (than <= 3) return false;
    const double sum = angle(v[2], whole.w), between = 2 * std::atan2(std::hypot(v[0], v[1]), std::hypot(whole.w, v[2]));
    const double difference = angle(v[1], v[0]);
    const bool three = fits({{2, (sum + difference) / 2}, {0, between}, {2, (sum - difference) / 2}}) ||
                       fits({{2, (sum - difference) / 2}, {0, between}, {2, (sum + difference) / 2}});
    const auto is_quarter = [&](const AxisRotation& one) { return split_angle(one.angle, tolerance).rest == 0; };
    if (!quarters || (three && std::any_of(out.begin(), out.end(), is_quarter))) return three;
    const std::vector<AxisRotation> about_z_x_z = out;
    const Rotations few = fewest_rotations(whole, {0, 1, 2}, tolerance);
    if (few.num_generic < 3 && fits(with_quarters(few))) return true;
    out = about_z_x_z;
    return three;
}

}  // namespace

Wires::Wires(const Form& form, Sums& sums, bool as_cx)
    : on_wire(static_cast<std::size_t>(form.tableau().wires())), local(form.tableau().wires()), form_(form), sums_(sums),
      as_cx_(as_cx), state_(form.tableau().wires()) {}

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
        const Pauli& about = read[k].pauli;
        whole = Turn::about(!about.z ? 0 : about.x ? 1 : 2, read[k].angle.value) * whole;
        generic = generic || split_angle(read[k].angle.value, form_.tolerance()).rest != 0;
    }
    std::vector<AxisRotation> found;
    const Mask wire = read[begin].pauli.x | read[begin].pauli.z;
    if (!generic || !fewer(whole, end - begin + 3, form_.tolerance(), as_cx_, found)) return false;
    const Pauli axes[] = {{wire, 0}, {wire, wire}, {0, wire}};
    for (const AxisRotation& one : found) take(axes[one.axis], {one.angle});
    return true;
}

// Takes a rotation that acts behind all so far.
void Wires::take(const Pauli& about, const Angle& angle) {
    const SplitAngle split = split_angle(angle.value, form_.tolerance());
    const SignedPauli image = local.image(about);
    if (angle.varies() || split.rest != 0) return rotate(image.pauli, image.negative ? -angle : angle);
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
        const SplitAngle split = split_angle(item.angle.value, form_.tolerance());
        if (item.angle.varies() || split.rest != 0) return false;
        item.gone = true;
        turn(about, split.quarters);
        return false;
    });
    if (merged) return;
    append(own);
    if (!angle.varies() && count(own.wires()) == 1) shorten(lowest(own.wires()));
}

// Makes three turns or more of one wire, with nothing behind them, fewer ones, by whole angles: quarter turns would change
// how later items are written.
void Wires::shorten(int wire) {
    const std::vector<Index>& on = on_wire[static_cast<std::size_t>(wire)];
    const Mask bit = unit(wire);
    const Pauli axes[] = {{bit, 0}, {bit, bit}, {0, bit}};
    Turn whole;
    std::vector<Index> run;
    for (std::size_t k = on.size(); k-- > 0;) {
        const WireItem& item = items[on[k]];
        if (item.gone) continue;
        if (item.wires() != bit || item.angle.varies()) break;
        const int axis = item.a == axes[0] ? 0 : item.a == axes[1] ? 1 : 2;
        whole = whole * Turn::about(axis, item.angle.value);
        run.push_back(on[k]);
    }
    std::vector<AxisRotation> found;
    if (run.size() < 3 || !fewer(whole, run.size(), form_.tolerance(), as_cx_, found)) return;
    for (const Index number : run) items[number].gone = true;
    std::vector<std::pair<Pauli, int>> quarters;
    for (const AxisRotation& one : found) {
        SignedPauli string{axes[one.axis]};
        for (const auto& [about, number] : quarters) form::turn(string, about, number);
        const double angle = string.negative ? -one.angle : one.angle;
        const SplitAngle split = split_angle(angle, form_.tolerance());
        if (split.rest != 0) append({string.pauli, {}, {angle}});
        else turn(string.pauli, split.quarters), quarters.emplace_back(string.pauli, split.quarters);
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
