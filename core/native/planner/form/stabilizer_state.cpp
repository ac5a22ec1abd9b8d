// The state C|0…0⟩ of a Clifford operator with its phase.

#include "planner/form/stabilizer_state.hpp"

#include <algorithm>

#include "base/sorting.hpp"

namespace qx::form {

namespace {

std::size_t at(int wire) { return static_cast<std::size_t>(wire); }

// Returns a mask with some bits flipped if a condition holds.
Mask flipped(Mask mask, Mask bits, bool when) { return when ? mask ^ bits : mask; }

}  // namespace

StabilizerState::StabilizerState(int wires) : rows_(at(wires)) {
    for (int wire = 0; wire < wires; ++wire) rows_[at(wire)] = {{unit(wire), 0}, 0, unit(wire)};
}

StabilizerState::Product StabilizerState::pulled(const Pauli& q) const {
    Product out{{}, count(q.x & q.z)};
    each(q.x, [&](int wire) {
        const Row& row = rows_[at(wire)];
        out.power += row.power + 2 * count(out.pauli.z & row.of_x.x);
        out.pauli ^= row.of_x;
    });
    each(q.z, [&](int wire) { out.pauli.z ^= rows_[at(wire)].of_z; });
    return out;
}

// Applies exp(-i π/4 Q) for Q = Z or ZZ, which are S, and S S CZ, times e^{-iπ/4}; returns false for another Q.
bool StabilizerState::turn_diagonal(const Pauli& q) {
    if (q.x || count(q.z) > 2) return false;
    const int one = plan::lowest(q.z), other = plan::highest(q.z);
    const auto s = [&](int wire) {
        Row& row = rows_[at(wire)];
        row.of_x.z ^= row.of_z, row.power = (row.power + 3) & 3;
    };
    s(one);
    if (other != one) {
        s(other);
        rows_[at(one)].of_x.z ^= rows_[at(other)].of_z, rows_[at(other)].of_x.z ^= rows_[at(one)].of_z;
    }
    eighths_ = (eighths_ + 7) & 7;
    return true;
}

void StabilizerState::turn(const Pauli& q, int quarters) {
    eighths_ = (eighths_ + (quarters & 4)) & 7;
    quarters &= 3;
    if (!quarters) return;
    if (quarters & 1 && turn_diagonal(q)) {
        quarters &= 2;
        if (!quarters) return;
    }
    Product p = pulled(q);
    const Pauli& a = p.pauli;
    p.power += 2 * count(a.x & a.z & turned_);
    const Mask flip = (a.x & ~turned_) | (a.z & turned_), sign = (a.z & ~turned_) | (a.x & turned_);
    if (quarters & 2) {  // -i Q
        eighths_ += 6 + 2 * (p.power + 2 * count(sign & value_));
        value_ ^= flip;
    }
    if (quarters & 1) split(flip, p.power + 2 * count(sign & value_) + 3);  // (1 - i Q)/√2
}

void StabilizerState::split(Mask flip, int power) {
    power &= 3;
    if (!flip) {  // (1 ± i)/√2
        eighths_ += power == 1 ? 1 : 7;
        return;
    }
    const Mask plain = flip & ~turned_, after_h = flip & turned_;
    const int wire = plan::lowest(plain ? plain : after_h);
    const Mask own = unit(wire);
    if (plain) cx_to(wire, plain ^ own), cz_before(wire, after_h);
    else cx_from(after_h ^ own, wire);
    const bool first = value_ & own;  // of the wire; the other bits are those of the state in which the wire is 0
    if (first) value_ ^= flip;
    const int left = first ? -power & 3 : power;  // (|0⟩ + i^left |1⟩)/√2, times i^power if `first`
    eighths_ += first ? 2 * power : 0;
    const bool odd = left & 1;
    bool h = true, one;
    if (!(turned_ & own)) one = (left - odd) & 2;
    else if (odd) one = left == 1, eighths_ += left == 1 ? 1 : 7;
    else h = false, one = left == 2;
    turned_ = h ? turned_ | own : turned_ & ~own;
    value_ = one ? value_ | own : value_ & ~own;
    if (odd) s_before(wire);
}

void StabilizerState::cx_to(int control, Mask targets) {
    if (!targets) return;
    const Mask own = unit(control);
    for (Row& row : rows_) {
        row.of_z = flipped(row.of_z, own, is_odd(row.of_z & targets));
        row.of_x.x = flipped(row.of_x.x, targets, row.of_x.x & own);
        row.of_x.z = flipped(row.of_x.z, own, is_odd(row.of_x.z & targets));
    }
}

void StabilizerState::cx_from(Mask controls, int target) {
    if (!controls) return;
    const Mask own = unit(target);
    for (Row& row : rows_) {
        row.of_z = flipped(row.of_z, controls, row.of_z & own);
        row.of_x.x = flipped(row.of_x.x, own, is_odd(row.of_x.x & controls));
        row.of_x.z = flipped(row.of_x.z, controls, row.of_x.z & own);
    }
}

void StabilizerState::cz_before(int wire, Mask others) {
    if (!others) return;
    const Mask own = unit(wire);
    for (Row& row : rows_) {
        const bool odd = is_odd(row.of_x.x & others), has = row.of_x.x & own;
        row.of_x.z = flipped(flipped(row.of_x.z, own, odd), others, has);
        row.power ^= odd && has ? 2 : 0;
    }
}

void StabilizerState::s_before(int wire) {
    for (Row& row : rows_)
        if (row.of_x.x & unit(wire)) row.of_x.z ^= unit(wire), row.power = (row.power + 3) & 3;
}

// ⟨b|U = ⟨0|X^b U = ⟨0| i^power X^a Z^c, and ⟨a|Z^c H_v|s⟩ is not 0 if a and s agree outside v.
int StabilizerState::first_phase() const {
    const int wires = static_cast<int>(rows_.size());
    std::vector<Mask> sums(64), made(64), kernel;  // an echelon of the X parts outside v, of which wires, and what is 0
    for (int wire = 0; wire < wires; ++wire) {
        Mask left = rows_[at(wire)].of_x.x & ~turned_, of = unit(wire);
        while (left && sums[at(plan::highest(left))]) {
            of ^= made[at(plan::highest(left))];
            left ^= sums[at(plan::highest(left))];
        }
        if (left) sums[at(plan::highest(left))] = left, made[at(plan::highest(left))] = of;
        else kernel.push_back(of);
    }
    Mask basis = 0, left = value_ & ~turned_;
    while (left) {
        const std::size_t top = at(plan::highest(left));
        basis ^= made[top], left ^= sums[top];
    }
    for (std::size_t k = 0; k < kernel.size(); ++k) {  // every vector has a highest bit that no other one has
        for (std::size_t j = k + 1; j < kernel.size(); ++j) kernel[j] = std::min(kernel[j], kernel[j] ^ kernel[k]);
        for (std::size_t j = 0; j < k; ++j) kernel[j] = std::min(kernel[j], kernel[j] ^ kernel[k]);
    }
    plan::sort_ascending(kernel);
    for (std::size_t k = kernel.size(); k--;) basis = std::min(basis, basis ^ kernel[k]);
    const Product p = pulled({basis, 0});
    const Mask a = p.pauli.x;
    return (eighths_ + 2 * p.power + 4 * count(p.pauli.z & a) + 4 * count(a & value_ & turned_)) & 7;
}

}  // namespace qx::form
