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

void Evaluation::add_wire(int wire, const Axis& z, std::optional<bool> fixed) {
    Wire& own = wires_[static_cast<std::size_t>(wire)];
    own.z = z, own.frame = to_z(z);
    own.x = pulled({1, 0, 0}, own.frame);
    own.bit = own.begins = !fixed ? Polynomial(unit(wire)) : *fixed ? Polynomial(0) : Polynomial();
    known_ |= unit(wire);
}

// Returns the bit of a wire along an axis, behind the turns that wait. fits: whether it takes few enough terms.
std::optional<Polynomial> Evaluation::bit_along(int wire, const Axis& axis, bool& fits) const {
    const Wire& own = wires_[static_cast<std::size_t>(wire)];
    if (own.conditions.empty() && is_same(own.turns[0], identity2)) {
        const int sign = along(axis, own.z);
        if (!sign) return {};
        return sign > 0 ? own.bit : own.bit ^ Polynomial(0);
    }
    Values flips;
    for (const Matrix2& turn : own.turns) {
        const int sign = along(pulled(axis, turn), own.z);
        if (!sign) return {};
        flips.push_back(sign < 0);
    }
    const std::optional<Polynomial> more = polynomial_of(own, flips);
    fits = fits && more;
    return more ? own.bit ^ *more : own.bit;
}

bool Evaluation::act(const AxisPiece& piece) {
    Polynomial where = piece.is_parity ? Polynomial() : Polynomial(0);
    bool fits = true;
    int target = -1;
    without_bits_ = 0;
    each(piece.wires, [&](int wire) {
        const std::optional<Polynomial> bit = bit_along(wire, piece.axis_of(wire), fits);
        work_ += where.size() + (bit ? bit->size() : wires_[static_cast<std::size_t>(wire)].turns.size());
        if (!bit) {
            without_bits_ |= unit(wire), target = wire;
        } else if (piece.is_parity) {
            where ^= *bit;
        } else if (fits) {
            const std::optional<Polynomial> both = product(where, *bit);
            fits = both.has_value();
            if (both) where = *both;
        }
    });
    if (!fits || where.size() > Polynomial::most_terms || count(without_bits_) > 1) return false;
    if (target < 0) {
        if (piece.is_parity) phases_.all -= piece.angle / 2;
        phases_.add(where, piece.angle);
        return true;
    }
    const Axis& axis = piece.axis_of(target);
    Matrix2 if_one = phase_about(axis, piece.angle), if_zero = identity2;
    if (piece.is_parity) {
        for (Complex& one : if_one) one *= std::polar(1.0, -piece.angle / 2);
        if_zero = if_one, if_one = adjoint(if_one);
    }
    return turn_where(target, where, if_one, if_zero);
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
    if (settle(own)) return true;
    own = before;
    return false;
}

// Makes a flip of a bit, and phases, of the turns that wait, if they are these for each value of the conditions. Returns
// false where that takes too many terms.
bool Evaluation::settle(Wire& own) {
    Values flips;
    std::vector<double> zero, one;  // phases where the bit is 0, and where it is 1
    for (const Matrix2& turn : own.turns) {
        const Matrix2 in_frame = own.frame * turn * adjoint(own.frame);
        const bool is_diagonal = is_none(in_frame[1]) && is_none(in_frame[2]);
        if (!is_diagonal && !(is_none(in_frame[0]) && is_none(in_frame[3]))) return true;
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
    own.conditions.clear(), own.turns.assign(1, identity2);
    return true;
}

}  // namespace qx::form
