// What some pieces do, one behind the other, evaluated on bits.

#include "planner/form/clusters/bits/evaluation.hpp"

#include <algorithm>

namespace qx::form {

namespace {

constexpr double rounding = 1e-12;
constexpr std::size_t most_conditions = 5;  // of the turns that wait on a wire

// Of values for each of some bits, those of products of these that add up to them.
template <class Value>
void of_products(std::vector<Value>& by) {
    for (std::size_t bit = 1; bit < by.size(); bit *= 2)
        for (std::size_t k = 0; k < by.size(); ++k)
            if (k & bit) by[k] = by[k] - by[k ^ bit];
}

}  // namespace

// Returns the bit with which a wire begins, along an axis: one of its own, but where that is known.
Polynomial Evaluation::beginning(int wire, const Axis& z) const {
    const int sign = zeros_ >> wire & 1 ? along(z, {0, 0, 1}) : 0;
    return !sign ? Polynomial(unit(wire)) : sign < 0 ? Polynomial(0) : Polynomial();
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

// Returns the bit of a wire along an axis, behind the turns that wait; of one without a frame, as if it had that. fits:
// whether it takes few enough terms.
std::optional<Polynomial> Evaluation::bit_along(int wire, const Axis& axis, bool& fits) const {
    const Wire& own = wires_[static_cast<std::size_t>(wire)];
    const Axis z = has_frame(wire) ? own.z : pulled(axis, own.turns[0]);
    const Polynomial bit = has_frame(wire) ? own.bit : beginning(wire, z);
    if (own.conditions.empty() && is_same(own.turns[0], identity2)) {
        const int sign = along(axis, z);
        if (!sign) return {};
        return sign > 0 ? bit : bit ^ Polynomial(0);
    }
    Values flips;
    for (const Matrix2& turn : own.turns) {
        const int sign = along(pulled(axis, turn), z);
        if (!sign) return {};
        flips.push_back(sign < 0);
    }
    const std::optional<Polynomial> more = polynomial_of(own, flips);
    fits = fits && more;
    return more ? bit ^ *more : bit;
}

// Lets a wire have any axis again, if no other one has read it: phases and flips of its bit become turns of it that wait.
void Evaluation::let_go(int wire) {
    Wire& own = wires_[static_cast<std::size_t>(wire)];
    const Polynomial flip = own.bit ^ own.begins;
    const bool is_computed = !flip.is_zero() && (own.begins.is_zero() || own.begins.is_one());  // where it was known
    if (!has_frame(wire) || !own.conditions.empty() || flip.reads(wire) || is_computed) return;
    const auto reads = [&](const Polynomial& one) { return one.reads(wire); };
    for (const Wire& other : wires_) {
        work_ += other.bit.size();
        if (&other == &own) continue;
        if (reads(other.bit) || std::any_of(other.conditions.begin(), other.conditions.end(), reads)) return;
    }
    const Wire before = own;
    const BitPhases all = phases_;
    const std::optional<std::vector<JointPhase>> taken = phases_.taken(wire);
    if (!taken) return;
    own.turns.assign(1, identity2), own.bit = own.begins = {};
    with_frames_ &= ~unit(wire);
    bool fits = true;
    for (const JointPhase& one : *taken) {
        const std::optional<Polynomial> where = Polynomial::where(one.bits, one.values);
        fits = fits && where && turn_where(wire, *where, phase_about(before.z, one.angle), identity2);
    }
    if (!fits || !turn_where(wire, flip, operator_about(before.x), identity2)) {
        own = before, phases_ = all, with_frames_ |= unit(wire);
        return;
    }
    for (Matrix2& turn : own.turns) turn = before.turns[0] * turn;
}

bool Evaluation::act(const AxisPiece& piece, int open) {
    Polynomial where = piece.is_parity ? Polynomial() : Polynomial(0);
    bool fits = true;
    Mask without = 0;  // wires that have no bit along the piece's axes
    std::vector<std::pair<int, Polynomial>> bits;
    each(piece.wires, [&](int wire) {
        std::optional<Polynomial> bit = bit_along(wire, piece.axis_of(wire), fits);
        if (!bit && frames_ == Frames::let_go) let_go(wire), bit = bit_along(wire, piece.axis_of(wire), fits);
        work_ += bit ? bit->size() : wires_[static_cast<std::size_t>(wire)].turns.size();
        if (!bit) without |= unit(wire);
        else bits.emplace_back(wire, std::move(*bit));
    });
    if (!without && open >= 0 && !has_frame(open)) without = unit(open);
    for (const auto& [wire, bit] : bits) {
        if (without >> wire & 1 || !fits) continue;
        work_ += where.size();
        if (piece.is_parity) {
            where ^= bit;
        } else {
            std::optional<Polynomial> both = product(where, bit);
            fits = both.has_value();
            if (both) where = std::move(*both);
        }
    }
    if (!fits || where.size() > Polynomial::most_terms || count(without) > 1) return false;
    each(piece.wires & ~with_frames_ & ~without, [&](int wire) { add_frame(wire, piece.axis_of(wire)); });
    known_ |= piece.wires;
    if (!without) {
        if (piece.is_parity) phases_.all -= piece.angle / 2;
        phases_.add(where, piece.angle);
        return true;
    }
    const int target = lowest(without);
    const Axis& axis = piece.axis_of(target);
    Matrix2 if_one = phase_about(axis, piece.angle), if_zero = identity2;
    if (piece.is_parity) {
        for (Complex& one : if_one) one *= std::polar(1.0, -piece.angle / 2);
        if_zero = if_one, if_one = adjoint(if_one);
    }
    return turn_where(target, where, if_one, if_zero) || (target == open && !has_frame(open) && act(piece, -1));
}

// Finds a condition as a sum of others, or as a product of two, by its values for each of theirs.
std::optional<Evaluation::Values> Evaluation::condition_among(const Wire& of, const Polynomial& where) {
    const std::size_t number = of.conditions.size(), values = std::size_t{1} << number;
    const Polynomial opposite = where ^ Polynomial(0);
    Values out(values);
    Polynomial sum;
    for (std::size_t step = 0; step < values; ++step) {  // sums that differ in one condition each
        if (step) sum ^= of.conditions[static_cast<std::size_t>(lowest(step))];
        const std::size_t some = step ^ step >> 1;
        if (!(sum == where) && !(sum == opposite)) continue;
        for (std::size_t at = 0; at < values; ++at) out[at] = is_odd(at & some) == (sum == where);
        return out;
    }
    for (std::size_t j = 0; j < number; ++j)
        for (std::size_t k = 0; k < j; ++k)
            if (const auto both = product(of.conditions[j], of.conditions[k]); both && *both == where) {
                for (std::size_t at = 0; at < values; ++at) out[at] = (at >> j & 1) && (at >> k & 1);
                return out;
            }
    return {};
}

// Returns the polynomial that has a value for each of the conditions of a wire.
std::optional<Polynomial> Evaluation::polynomial_of(const Wire& of, const Values& values) {
    std::vector<int> by(values.begin(), values.end());
    of_products(by);
    Polynomial out;
    for (std::size_t some = 0; some < by.size(); ++some) {
        if (!(by[some] & 1)) continue;
        std::optional<Polynomial> one(Polynomial(0));
        for (std::size_t k = 0; k < of.conditions.size() && one; ++k)
            if (some >> k & 1) one = product(*one, of.conditions[k]);
        if (!one) return {};
        out ^= *one;
    }
    if (out.size() > Polynomial::most_terms) return {};
    return out;
}

bool Evaluation::turn_where(int wire, const Polynomial& where, const Matrix2& if_one, const Matrix2& if_zero) {
    Wire& own = wires_[static_cast<std::size_t>(wire)];
    written_[static_cast<std::size_t>(wire)].is_known = false;
    std::optional<Values> condition = condition_among(own, where);
    const Wire before = own;
    if (!condition) {
        const std::size_t number = own.turns.size();
        if (own.conditions.size() == most_conditions) return false;
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

// Makes a flip of a bit, and phases, of the turns that wait, if they are these for each value of the conditions but for a
// turn that is the same for all. Without a frame they have to be phases of all. Returns false where that takes too many
// terms.
bool Evaluation::settle(int wire) {
    Wire& own = wires_[static_cast<std::size_t>(wire)];
    if (own.conditions.empty()) return true;
    written_[static_cast<std::size_t>(wire)].is_known = false;
    const Matrix2 to_frame = has_frame(wire) ? own.frame : identity2, same = own.turns[0];
    Values flips;
    std::vector<double> zero, one;  // phases where the bit is 0, and where it is 1
    for (const Matrix2& turn : own.turns) {
        const Matrix2 in_frame = to_frame * adjoint(same) * turn * adjoint(to_frame);
        const bool is_diagonal = is_none(in_frame[1]) && is_none(in_frame[2]);
        if (!is_diagonal && !(is_none(in_frame[0]) && is_none(in_frame[3]))) return true;
        if (!has_frame(wire) && (!is_diagonal || !is_none(in_frame[0] - in_frame[3]))) return true;
        flips.push_back(!is_diagonal);
        zero.push_back(std::arg(in_frame[is_diagonal ? 0 : 2])), one.push_back(std::arg(in_frame[is_diagonal ? 3 : 1]));
    }
    const std::optional<Polynomial> flip = polynomial_of(own, flips);
    if (!flip || (own.bit ^ *flip).size() > Polynomial::most_terms) return false;
    zero.insert(zero.end(), one.begin(), one.end());
    of_products(zero);
    std::vector<std::pair<Polynomial, double>> found;
    for (std::size_t some = 0; some < zero.size(); ++some) {
        if (std::fabs(short_way(zero[some])) < rounding) continue;
        std::optional<Polynomial> where(Polynomial(0));
        for (std::size_t k = 0; k <= own.conditions.size() && where; ++k)
            if (some >> k & 1) where = product(*where, k < own.conditions.size() ? own.conditions[k] : own.bit);
        if (!where) return false;
        found.emplace_back(std::move(*where), zero[some]);
    }
    for (const auto& [where, angle] : found) phases_.add(where, angle), work_ += where.size();
    own.bit ^= *flip;
    own.conditions.clear(), own.turns.assign(1, same);
    return true;
}

}  // namespace qx::form
