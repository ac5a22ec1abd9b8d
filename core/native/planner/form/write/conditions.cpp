// Rotations under controls, written where all controls are parities.

#include <algorithm>

#include "planner/form/write/writer.hpp"

namespace qx::form {

// Tells whether a rotation is diagonal, or flips one wire and all its controls are diagonal.
bool Writer::is_ready(const Waiting& rotation) const {
    const Mask own = rotation.string.pauli.x;
    if (!rotation.num_controls) return !own;
    for (int k = 0; k < rotation.num_controls; ++k)
        if (controls_.of(rotation)[k].pauli.x) return false;
    return !(own & (own - 1));
}

// Writes a rotation whose controls are all diagonal. If it is so itself, it is phases of parities.
void Writer::rotate_under_controls(const Waiting& rotation) {
    if (!rotation.string.pauli.x) return controls_.parts(rotation, [&](const Waiting& part) { rotate(part); });
    const Mask number = unit(rotation.num_controls);
    SignedPauli own = rotation.string;
    Gate gate{Gate::controlled, 0, own.pauli.x};
    gate.turns = static_cast<Index>(turns_.size());
    const auto reads = [](const Pauli& of) { return count(of.z & ~of.x); };
    for (Mask which = 0; which < number; ++which) {
        const SignedPauli part = controls_.product(rotation, which);
        if (reads(part.pauli) < reads(own.pauli)) own = part;
        const int quarters = controls_.quarters[rotation.parts + which];
        if (quarters) turns_.push_back({part.pauli, part.negative ? -quarters : quarters}), ++gate.num_turns;
    }
    std::vector<SignedPauli> left(controls_.of(rotation), controls_.of(rotation) + rotation.num_controls);
    for (bool shorter = true; shorter;) {
        shorter = false;
        for (SignedPauli& one : left)
            for (const SignedPauli& other : left)
                if (&one != &other && count(one.pauli.z ^ other.pauli.z) < count(one.pauli.z))
                    one = one * other, shorter = true;
    }
    gate.wire = static_cast<Int>(own.pauli.z), gate.angle = own.negative ? -rotation.angle : rotation.angle;
    gate.conditions = static_cast<Index>(conditions.size()), gate.num_conditions = static_cast<Index>(left.size());
    for (const SignedPauli& one : left) conditions.push_back({one.pauli.z, one.negative});
    gates.push_back(gate);
}

// Writes a rotation under controls between gates behind which it flips one wire and its controls none.
void Writer::make_ready(Waiting rotation) {
    std::vector<Gate> around;
    const Index begin = rotation.controls;
    rotation.controls = static_cast<Index>(controls_.strings.size());
    for (int k = 0; k < rotation.num_controls; ++k)
        controls_.strings.push_back(controls_.strings[begin + static_cast<Index>(k)]);
    const auto change = [&](const Gate& gate) {
        around.push_back(gate);
        pass(gate, rotation.string);
        for (int k = 0; k < rotation.num_controls; ++k)
            pass(gate, controls_.strings[rotation.controls + static_cast<Index>(k)]);
    };
    const auto gather = [&](Mask x) {
        const Mask pivot = x & -x;
        if (x != pivot) change({Gate::cx, lowest(pivot), x ^ pivot});
    };
    for (int k = 0; k < rotation.num_controls; ++k) {
        const auto own = [&]() -> const Pauli& { return controls_.of(rotation)[k].pauli; };
        if (!own().x) continue;
        gather(own().x);
        const Mask pivot = own().x;
        if (own().z & pivot) change({Gate::sdg, 0, pivot});
        change({Gate::h, 0, pivot});
    }
    gather(rotation.string.pauli.x);
    gates.insert(gates.end(), around.begin(), around.end());
    rotate(rotation);
    for (auto gate = around.rbegin(); gate != around.rend(); ++gate) {
        gates.push_back(*gate);
        if (gate->kind == Gate::sdg) gates.back().kind = Gate::s;
    }
    controls_.strings.resize(rotation.controls);
}

}  // namespace qx::form
