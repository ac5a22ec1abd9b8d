// Quarter turns that stay at the rotations from which a form took them, where later strings are cheaper then.

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/form/write/writer.hpp"

namespace qx::form {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr std::size_t strings_behind = 320;  // for which a quarter turn is left where it is

// What a string on some wires costs: first how many these are, then how many are X, and Y twice.
int cost(const Pauli& of) {
    constexpr int for_a_wire = 8;
    return for_a_wire * count(of.x | of.z) + count(of.x) + count(of.x & of.z);
}

}  // namespace

// Lets the next rotation have a quarter turn more or less, if strings behind it are then cheaper; of one that is four eighth
// turns, two of them, which are the same under other controls.
void Writer::leave_quarters() {
    if (strings_begin_.empty()) list_strings();
    const std::size_t number = left_to_++;
    if (waiting_[number].angle.varies() || !are_turned(number)) return;
    const Waiting own = waiting_[number];
    if (!own.num_controls) {
        if (gain(own.string.pauli, {}) > 0) leave(number, 0);
        return;
    }
    constexpr int parts = 4;
    if (own.num_controls != 2 || std::fabs(own.angle.value - parts * (pi / 4)) > 1e-9) return;
    int most = 0;
    Mask best = 0;
    for (Mask which = 0; which < 16; ++which) {
        if (count(which) != 2) continue;
        const Pauli a = controls_.product(own, static_cast<Mask>(lowest(which))).pauli;
        const int found = gain(a, controls_.product(own, static_cast<Mask>(highest(which))).pauli);
        if (found > most) most = found, best = which;
    }
    if (!most) return;
    each(best, [&](int part) { leave(number, static_cast<Mask>(part)); });
    // Both parts turn the other way then.
    each(best, [&](int part) { controls_.quarters[own.parts + static_cast<Index>(part)] *= -1; });
    const bool first = best & 1;
    waiting_[number].string.negative ^= first;
    for (int k = 0; k < own.num_controls; ++k)
        controls_.strings[own.controls + static_cast<Index>(k)].negative ^= first != ((best >> (1 << k) & 1) != 0);
}

// Lists the strings of all that waits, those of controls behind what they control.
void Writer::list_strings() {
    strings_.clear(), strings_begin_.clear();
    for (const Waiting& one : waiting_) {
        strings_begin_.push_back(strings_.size());
        controls_.each(one, [&](const Pauli& of) { strings_.push_back(of); });
    }
    strings_begin_.push_back(strings_.size());
    turned_.assign(waiting_.size(), 1), looked_at_.assign(waiting_.size(), 0);
}

// Whether a rotation, or one of those behind it, has passed a quarter turn since they were looked at.
bool Writer::are_turned(std::size_t number) {
    const Index before = std::exchange(looked_at_[number], quarters_left_);
    Index latest = before ? 0 : 1;
    for (std::size_t k = number, end = std::min(waiting_.size(), left_to_ + strings_behind); before && k < end; ++k)
        latest = std::max(latest, turned_[k]);
    return latest > before;
}

// By how much strings behind it are cheaper once they have passed quarter turns about one string or two.
int Writer::gain(const Pauli& about, const Pauli& other) const {
    int out = 0;
    const bool one = other.is_identity();
    const Pauli* const end = strings_.data() + strings_begin_[std::min(waiting_.size(), left_to_ + strings_behind)];
    for (const Pauli* of = strings_.data() + strings_begin_[left_to_]; of < end; ++of) {
        const bool once = anticommute(*of, about);
        if (!once && (one || !anticommute(*of, other))) continue;
        Pauli turned = *of;
        if (once) turned ^= about;
        if (!one && anticommute(*of, other)) turned ^= other;
        out += cost(*of) - cost(turned);
    }
    return out;
}

// Leaves a quarter turn at a rotation, or at a part of one under controls, which are then others.
void Writer::leave(std::size_t number, Mask part) {
    Waiting& own = waiting_[number];
    left_any_ = true;
    const SignedPauli about = controls_.product(own, part);
    int more = own.angle.value > 0 ? -1 : 1;
    if (own.num_controls) {
        signed char& quarters = controls_.quarters[own.parts + part];
        if (quarters) more = -quarters;
        quarters = static_cast<signed char>(quarters + more);
    } else {
        if (own.quarters) more = -own.quarters;
        own.quarters += more;
        own.angle.value += more * (pi / 2);
    }
    const int back = about.negative ? more : -more;
    ++quarters_left_;
    for (std::size_t k = left_to_; k < waiting_.size(); ++k) {
        Pauli* string = strings_.data() + strings_begin_[k];
        const auto let_pass = [&](SignedPauli& of) {
            if (turn(of, about.pauli, back)) *string = of.pauli, turned_[k] = quarters_left_;
            ++string;
        };
        let_pass(waiting_[k].string);
        for (int j = 0; j < waiting_[k].num_controls; ++j)
            let_pass(controls_.strings[waiting_[k].controls + static_cast<Index>(j)]);
    }
    for (SignedPauli& image : x_) turn(image, about.pauli, back);
    for (SignedPauli& image : z_) turn(image, about.pauli, back);
}

// Puts the strings of each layer in order again, so that what is written does not depend on where quarter turns have been.
// Those under controls stand first, in the order in which they are.
void Writer::sort() {
    std::vector<Index> order;
    for (Index k = 0; k < waiting_.size(); ++k) order.push_back(k);
    std::sort(order.begin(), order.end(), [&](Index i, Index j) {
        const Waiting &a = waiting_[i], &b = waiting_[j];
        if (a.layer != b.layer) return a.layer < b.layer;
        if (a.num_controls || b.num_controls) return a.num_controls && b.num_controls ? i < j : a.num_controls > 0;
        return a.string.pauli < b.string.pauli;
    });
    std::vector<Waiting> sorted;
    for (const Index k : order) sorted.push_back(waiting_[k]);
    waiting_ = std::move(sorted);
    for (Index k = 0; k < waiting_.size(); ++k) waiting_[k].number = k;
    in_the_way_.assign(waiting_.size(), Angle::none), waits_.assign(waiting_.size(), true);
}

}  // namespace qx::form
