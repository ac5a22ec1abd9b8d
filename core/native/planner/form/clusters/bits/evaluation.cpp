// What some pieces do, one behind the other, evaluated on bits.

#include "planner/form/clusters/bits/evaluation.hpp"

#include <algorithm>

#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-12;
constexpr std::size_t steps_of_many = 10;  // so many times as many, of what one piece does, where many have acted

// Of values for each of some bits, those of products of these that add up to them.
template <class Value>
void of_products(std::vector<Value>& by) {
    for (std::size_t bit = 1; bit < by.size(); bit *= 2)
        for (std::size_t k = 0; k < by.size(); ++k)
            if (k & bit) by[k] = by[k] - by[k ^ bit];
}

}  // namespace

// Returns the bit with which a wire begins, along an axis: one of its own, but where that is known.
Diagram Evaluation::beginning(int wire, const Axis& z) const {
    const int sign = zeros_ >> wire & 1 ? along(z, {0, 0, 1}) : 0;
    return !sign ? diagrams_->bit(wire) : sign < 0 ? Diagram::one() : Diagram();
}

// Lets the bit of a wire be along an axis as it is now, which is the same for all turns that wait but for signs.
void Evaluation::add_frame(int wire, const Axis& along) {
    Wire& own = wires_[static_cast<std::size_t>(wire)];
    own.z = pulled(along, own.turns[0]), own.frame = to_z(own.z);
    own.x = pulled({1, 0, 0}, own.frame);
    own.bit = own.begins = beginning(wire, own.z);
    with_frames_ |= unit(wire);
    settle(wire);
}

// Returns the bit of a wire along an axis, behind the turns that wait; of one without a frame, as if it had that.
std::optional<Diagram> Evaluation::bit_along(int wire, const Axis& axis, double angle) const {
    const Wire& own = wires_[static_cast<std::size_t>(wire)];
    const Axis z = has_frame(wire) ? own.z : pulled(axis, own.turns[0]);
    const Diagram bit = has_frame(wire) ? own.bit : beginning(wire, z);
    if (own.about) return {};
    if (own.conditions.empty() && is_same(own.turns[0], identity2)) {
        const int sign = along(axis, z, angle);
        if (!sign) return {};
        return sign > 0 ? bit : !bit;
    }
    Values flips;
    for (const Matrix2& turn : own.turns) {
        const int sign = along(pulled(axis, turn), z, angle);
        if (!sign) return {};
        flips.push_back(sign < 0);
    }
    return diagrams_->sum(bit, with_values(own, flips));
}

// Lets a wire have any axis again, if no other one has read it: phases and flips of its bit become turns of it that wait.
void Evaluation::let_go(int wire) {
    Wire& own = wires_[static_cast<std::size_t>(wire)];
    const Diagram flip = diagrams_->sum(own.bit, own.begins);
    const bool is_computed = !flip.is_zero() && (own.begins.is_zero() || own.begins.is_one());  // where it was known
    if (!has_frame(wire) || own.waits() || diagrams_->reads(flip, wire) || is_computed) return;
    const auto reads = [&](Diagram one) { return diagrams_->reads(one, wire); };
    for (const Wire& other : wires_) {
        ++work_;
        if (&other == &own) continue;
        const Conditions conditions = conditions_of(other);
        if (reads(other.bit) || std::any_of(conditions.begin(), conditions.end(), reads)) return;
    }
    const Wire before = own;
    const BitPhases all = phases_;
    const std::optional<std::vector<JointPhase>> taken = phases_.taken(wire);
    if (!taken) return;
    own.turns.assign(1, identity2), own.bit = own.begins = {};
    with_frames_ &= ~unit(wire);
    bool fits = true;
    for (const JointPhase& one : *taken) {
        const Diagram where = diagrams_->where(one.bits, one.values);
        fits = fits && turn_where(wire, where, phase_about(before.z, one.angle), identity2);
    }
    if (!fits || !turn_where(wire, flip, operator_about(before.x), identity2)) {
        own = before, phases_ = all, with_frames_ |= unit(wire);
        return;
    }
    for (Matrix2& turn : own.turns) turn = before.turns[0] * turn;
}

bool Evaluation::act(const AxisPiece& piece, int open) {
    const auto entries = static_cast<std::size_t>(thresholds.act_entries);
    diagrams_->allow(have_many_acted() ? steps_of_many * entries : entries);
    each(piece.wires, [&](int wire) {
        std::optional<About>& about = wires_[static_cast<std::size_t>(wire)].about;
        if (!about) return;
        about->angles.look_again();
        const Wire before = wires_[static_cast<std::size_t>(wire)];
        if (about->angles.are_signs() && !settle_about(wire)) wires_[static_cast<std::size_t>(wire)] = before;
    });
    Diagram where = piece.is_parity ? Diagram() : Diagram::one();
    Mask without = 0;  // wires that have no bit along the piece's axes
    std::vector<std::pair<int, Diagram>> bits;
    each(piece.wires, [&](int wire) {
        std::optional<Diagram> bit = bit_along(wire, piece.axis_of(wire), piece.angle);
        if (!bit && frames_ == Frames::let_go) let_go(wire), bit = bit_along(wire, piece.axis_of(wire), piece.angle);
        work_ += bit ? 1 : wires_[static_cast<std::size_t>(wire)].turns.size();
        if (!bit) without |= unit(wire);
        else bits.emplace_back(wire, *bit);
    });
    const bool is_sign = is_none(1.0 - std::polar(1.0, (piece.is_parity ? 4 : 2) * piece.angle));
    if (!without && open >= 0 && !has_frame(open) && is_sign) without = unit(open);
    for (const auto& [wire, bit] : bits)
        if (!(without >> wire & 1)) where = piece.is_parity ? diagrams_->sum(where, bit) : diagrams_->both(where, bit);
    if (thresholds.act_entries.met(!diagrams_->fits()) || count(without) > 1) return false;
    each(piece.wires & ~with_frames_ & ~without, [&](int wire) { add_frame(wire, piece.axis_of(wire)); });
    known_ |= piece.wires;
    if (!without) {
        if (piece.is_parity) phases_.all -= piece.angle / 2;
        phases_.add(where, piece.angle);
        return acts();
    }
    const int target = lowest(without);
    const Axis& axis = piece.axis_of(target);
    const Wire& own = wires_[static_cast<std::size_t>(target)];
    if (has_frame(target) && (own.about || (own.conditions.empty() && !is_sign))) {
        if (!piece.is_parity && turn_about(target, where, axis, piece.angle)) return acts();
        const Wire before = own;
        const BitPhases all = phases_;
        if (piece.is_parity && turn_about(target, Diagram::one(), axis, piece.angle)) {  // one for all, less twice
            if (turn_about(target, where, axis, -2 * piece.angle)) {
                phases_.all -= piece.angle / 2, phases_.add(where, piece.angle);
                return acts();
            }
            wires_[static_cast<std::size_t>(target)] = before, phases_ = all;
        }
    }
    if (own.about && !leave_about(target)) return false;
    Matrix2 if_one = phase_about(axis, piece.angle), if_zero = identity2;
    if (piece.is_parity) {
        for (Complex& one : if_one) one *= std::polar(1.0, -piece.angle / 2);
        if_zero = if_one, if_one = adjoint(if_one);
    }
    if (turn_where(target, where, if_one, if_zero)) return acts();
    return target == open && !has_frame(open) && act(piece, -1);
}

// Finds a condition as a sum of others, or as a product of two, by its values for each of theirs.
std::optional<Evaluation::Values> Evaluation::condition_among(const Wire& of, Diagram where) const {
    const std::size_t number = of.conditions.size(), values = std::size_t{1} << number;
    Values out(values);
    Diagram sum;
    for (std::size_t step = 0; step < values; ++step) {  // sums that differ in one condition each
        if (step) sum = diagrams_->sum(sum, of.conditions[static_cast<std::size_t>(lowest(step))]);
        const std::size_t some = step ^ step >> 1;
        if (!(sum == where) && !(sum == !where)) continue;
        for (std::size_t at = 0; at < values; ++at) out[at] = is_odd(at & some) == (sum == where);
        return out;
    }
    for (std::size_t j = 0; j < number; ++j)
        for (std::size_t k = 0; k < j; ++k)
            if (diagrams_->both(of.conditions[j], of.conditions[k]) == where) {
                for (std::size_t at = 0; at < values; ++at) out[at] = (at >> j & 1) && (at >> k & 1);
                return out;
            }
    return {};
}

// Returns the function that has a value for each of the conditions of a wire.
Diagram Evaluation::with_values(const Wire& of, const Values& values) const {
    std::vector<int> by(values.begin(), values.end());
    of_products(by);
    Diagram out;
    for (std::size_t some = 0; some < by.size(); ++some) {
        if (!(by[some] & 1)) continue;
        Diagram one = Diagram::one();
        for (std::size_t k = 0; k < of.conditions.size(); ++k)
            if (some >> k & 1) one = diagrams_->both(one, of.conditions[k]);
        out = diagrams_->sum(out, one);
    }
    return out;
}

bool Evaluation::turn_where(int wire, Diagram where, const Matrix2& if_one, const Matrix2& if_zero) {
    Wire& own = wires_[static_cast<std::size_t>(wire)];
    changes(wire);
    std::optional<Values> condition = condition_among(own, where);
    if (!diagrams_->fits()) return false;
    const Wire before = own;
    if (!condition) {
        const std::size_t number = own.turns.size();
        if (own.conditions.size() >= thresholds.conditions_of_turns) return false;
        own.conditions.push_back(where);
        own.turns.resize(2 * number);
        std::copy_n(own.turns.begin(), number, own.turns.begin() + static_cast<std::ptrdiff_t>(number));
        condition.emplace(2 * number);
        std::fill(condition->begin() + static_cast<std::ptrdiff_t>(number), condition->end(), true);
    }
    for (std::size_t k = 0; k < own.turns.size(); ++k) own.turns[k] = ((*condition)[k] ? if_one : if_zero) * own.turns[k];
    work_ += 4 * own.turns.size();
    if (settle(wire)) return true;
    own = before;
    return false;
}

// Lets a turn by an angle about an axis, under a condition, wait with others about the same axis. Returns false if it is
// another one, or takes too many steps.
bool Evaluation::turn_about(int wire, Diagram where, const Axis& axis, double angle) {
    Wire& own = wires_[static_cast<std::size_t>(wire)];
    const Axis now = pulled(axis, own.turns[0]);
    const int sign = own.about ? along(now, own.about->axis, angle) : 1;
    if (!sign) return false;
    changes(wire);
    const Wire before = own;
    if (!own.about) own.about = About{now, BitPhases(*diagrams_)};
    BitPhases& angles = own.about->angles;
    angles.add(where, sign * angle);
    if (angles.are_signs() && !settle_about(wire)) {
        own = before;
        return false;
    }
    if (sign < 0) phases_.add(where, angle);
    return true;
}

// Makes flips of a bit of turns about an axis that are halves.
bool Evaluation::settle_about(int wire) {
    Wire& own = wires_[static_cast<std::size_t>(wire)];
    const Axis axis = own.about->axis;
    const Diagram where = own.about->angles.signs();
    if (!diagrams_->fits()) return false;
    own.turns[0] = own.turns[0] * phase_about(axis, own.about->angles.all);
    off_ += own.about->angles.off, own.about.reset();
    if (where.is_zero()) return true;
    own.conditions = {where};
    own.turns.push_back(own.turns[0] * operator_about(axis));
    return settle(wire);
}

// Makes turns under conditions of those about an axis; returns false if they are too many.
bool Evaluation::leave_about(int wire) {
    Wire& own = wires_[static_cast<std::size_t>(wire)];
    const Wire before = own;
    const BitPhases all = phases_;
    const Axis axis = pulled(own.about->axis, adjoint(own.turns[0]));
    const std::vector<std::pair<Diagram, double>> parts = own.about->angles.parts();
    own.turns[0] = own.turns[0] * phase_about(own.about->axis, own.about->angles.all);
    off_ += own.about->angles.off, own.about.reset();
    bool fits = parts.size() <= thresholds.conditions_of_turns;
    for (const auto& [where, angle] : parts) fits = fits && turn_where(wire, where, phase_about(axis, angle), identity2);
    if (!fits) own = before, phases_ = all;
    return fits;
}

// Makes a flip of a bit, and phases, of the turns that wait, if they are these for each value of the conditions but for a
// turn that is the same for all. Without a frame they have to be phases of all. Returns false where that takes too many
// steps.
bool Evaluation::settle(int wire) {
    Wire& own = wires_[static_cast<std::size_t>(wire)];
    if (own.conditions.empty()) return true;
    changes(wire);
    const Matrix2 same = own.turns[0];
    Matrix2 to_frame = has_frame(wire) ? own.frame : identity2;
    bool is_open = own.bit == own.begins;  // what flips the bit next is X: there are no phases then
    Values flips;
    std::vector<double> zero, one;  // phases where the bit is 0, and where it is 1
    double off = 0;                 // the square of the most that is left out
    for (const Matrix2& turn : own.turns) {
        Matrix2 in_frame = to_frame * adjoint(same) * turn * adjoint(to_frame);
        const bool is_diagonal = is_none(in_frame[1]) && is_none(in_frame[2]);
        if (!is_diagonal && !(is_none(in_frame[0]) && is_none(in_frame[3]))) return true;
        if (!has_frame(wire) && (!is_diagonal || !is_none(in_frame[0] - in_frame[3]))) return true;
        flips.push_back(!is_diagonal);
        off = std::max(off, std::norm(in_frame[is_diagonal ? 1 : 0]));
        if (is_open && !is_diagonal) {
            const Complex half = std::polar(1.0, std::arg(in_frame[1] / in_frame[2]) / 2);
            to_frame[2] *= half, to_frame[3] *= half, is_open = false;
            in_frame[1] /= half, in_frame[2] *= half;
        }
        zero.push_back(std::arg(in_frame[is_diagonal ? 0 : 2])), one.push_back(std::arg(in_frame[is_diagonal ? 3 : 1]));
    }
    const Diagram flip = with_values(own, flips);
    zero.insert(zero.end(), one.begin(), one.end());
    of_products(zero);
    std::vector<std::pair<Diagram, double>> found;
    for (std::size_t some = 0; some < zero.size(); ++some) {
        if (std::fabs(short_way(zero[some])) < rounding) continue;
        Diagram where = Diagram::one();
        for (std::size_t k = 0; k <= own.conditions.size(); ++k)
            if (some >> k & 1) where = diagrams_->both(where, k < own.conditions.size() ? own.conditions[k] : own.bit);
        found.emplace_back(where, zero[some]);
    }
    const Diagram bit = diagrams_->sum(own.bit, flip);
    if (!diagrams_->fits()) return false;
    for (const auto& [where, angle] : found) phases_.add(where, angle);
    own.bit = bit;
    off_ += std::sqrt(off);
    if (has_frame(wire)) own.frame = to_frame, own.x = pulled({1, 0, 0}, to_frame);
    own.conditions.clear(), own.turns.assign(1, same);
    return true;
}

}  // namespace qx::form
