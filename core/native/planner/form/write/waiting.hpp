// Rotations that wait to be written, some of them under controls.
#pragma once

#include <vector>

#include "planner/form/angle.hpp"
#include "planner/form/pauli.hpp"

namespace qx::form {

// exp(-i angle/2 P), where all controls R, which commute with P and with each other, are 1. That is the product of rotations
// about P and its products with controls, each by one part of the angle.
struct Waiting {
    SignedPauli string;
    Angle angle;
    int quarters = 0;  // of its angle, quarter turns that belong to the Clifford operator; with controls, see `Controls`
    std::uint64_t layer = 0;
    Index controls = 0, parts = 0;  // where those of `Controls` begin
    int num_controls = 0;
    Index number = 0;  // in the order in which they wait
};

// The controls of rotations that wait, in the frame of now.
struct Controls {
    std::vector<SignedPauli> strings;
    // For each product of P with controls, the first of which is the least bit of its number, the quarter turns of its
    // angle.
    std::vector<signed char> quarters;

    const SignedPauli* of(const Waiting& one) const { return strings.data() + one.controls; }
    // Calls a function with P and with each control.
    template <class Each>
    void each(const Waiting& one, const Each& function) const {
        function(one.string.pauli);
        for (int k = 0; k < one.num_controls; ++k) function(of(one)[k].pauli);
    }
    // P times some controls.
    SignedPauli product(const Waiting& one, Mask which) const {
        SignedPauli out = one.string;
        form::each(which, [&](int k) { out = out * of(one)[k]; });
        return out;
    }
    // Whether two need not commute.
    bool meet(const Waiting& a, const Waiting& b) const {
        if (!(a.num_controls | b.num_controls)) return anticommute(a.string.pauli, b.string.pauli);
        bool out = false;
        each(a, [&](const Pauli& p) { each(b, [&](const Pauli& q) { out = out || anticommute(p, q); }); });
        return out;
    }
    // Calls a function with each rotation that one is the product of.
    template <class Each>
    void parts(const Waiting& one, const Each& function) const {
        const Mask number = unit(one.num_controls);
        Waiting part = one;
        part.num_controls = 0;
        part.angle.value = one.angle.value / static_cast<double>(number);
        for (Mask which = 0; which < number; ++which) {
            part.string = product(one, which);
            if (one.num_controls) part.quarters = quarters[one.parts + which];
            function(part);
        }
    }
};

}  // namespace qx::form
