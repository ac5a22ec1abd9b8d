// Tests of what a form is written out of: gates that pass strings, and the gates of Clifford operators.

#include "planner/form/write/writer.hpp"

#include "planner/form/naive.test.hpp"

using namespace qx::form;
using namespace qx::form::naive;

namespace {

State acted(const Gate& gate, State to) {
    constexpr double half = 0.70710678118654752440;
    each(gate.mask, [&](int wire) {
        State out(to.size());
        for (std::size_t k = 0; k < to.size(); ++k) {
            const bool set = k >> wire & 1, held = k >> gate.wire & 1;
            const std::size_t other = k ^ unit(wire);
            switch (gate.kind) {
                case Gate::h: out[k] = half * (set ? to[other] - to[k] : to[other] + to[k]); break;
                case Gate::s: out[k] = set ? to[k] * std::complex<double>(0, 1) : to[k]; break;
                case Gate::sdg: out[k] = set ? to[k] * std::complex<double>(0, -1) : to[k]; break;
                case Gate::x: out[k] = to[other]; break;
                case Gate::z: out[k] = set ? -to[k] : to[k]; break;
                case Gate::cx: out[k] = held ? to[other] : to[k]; break;
                case Gate::cz: out[k] = held && set ? -to[k] : to[k]; break;
                case Gate::swap: out[k] = held == set ? to[k] : to[other ^ unit(static_cast<int>(gate.wire))]; break;
                case Gate::rotation:
                case Gate::controlled:
                case Gate::flip:
                case Gate::matrix:
                case Gate::phase: break;
            }
        }
        to = out;
    });
    return to;
}

Gate drawn_gate(Drawn& drawn) {
    for (;;) {
        Gate gate{static_cast<Gate::Kind>(drawn.below(8)), static_cast<qx::Int>(drawn.below(drawn.wires)),
                  1 + drawn.below(unit(drawn.wires) - 1)};
        if (gate.kind >= Gate::cx) gate.mask &= ~unit(static_cast<int>(gate.wire));
        if (gate.kind == Gate::swap) gate.mask &= -gate.mask;
        if (gate.mask) return gate;
    }
}

}  // namespace

TEST_CASE("a string that has passed a gate does behind it what it did before") {
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, 2 + static_cast<int>(seed % 4));
        const Gate gate = drawn_gate(drawn);
        const State state = drawn.state();
        SignedPauli string{drawn.pauli(), drawn.below(2) == 1};
        const State first = acted(gate, applied(string, state));
        pass(gate, string);
        CHECK(distance(first, applied(string, acted(gate, state))) < 1e-12);
    }
}

TEST_CASE("the gates of a Clifford operator have its images, with no more H than it flips strings") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, 2 + static_cast<int>(seed % 5));
        std::vector<SignedPauli> x, z;
        for (int wire = 0; wire < drawn.wires; ++wire) x.push_back({{unit(wire), 0}}), z.push_back({{0, unit(wire)}});
        for (std::size_t k = 0; k < seed % 31; ++k) {
            const Gate gate = drawn_gate(drawn);
            for (auto* images : {&x, &z})
                for (SignedPauli& image : *images) pass(gate, image);
        }
        std::vector<SignedPauli> left_x = x, left_z = z;
        int num_h = 0;
        for (const Gate& gate : clifford_gates(x, z)) {
            for (auto* images : {&left_x, &left_z})
                for (SignedPauli& image : *images) pass(gate, image);
            num_h += gate.kind == Gate::h;
        }
        for (int wire = 0; wire < drawn.wires; ++wire) {
            const SignedPauli &of_x = left_x[static_cast<std::size_t>(wire)], &of_z = left_z[static_cast<std::size_t>(wire)];
            CHECK((of_x.pauli == Pauli{unit(wire), 0} && !of_x.negative));
            CHECK((of_z.pauli == Pauli{0, unit(wire)} && !of_z.negative));
        }
        Mask flips = 0;
        for (const SignedPauli& one : z) flips |= one.pauli.x;
        CHECK(num_h <= count(flips));
    }
}

TEST_CASE("gates do what they did where wires are 0, but for a phase, and to basis states nothing but X") {
    for (unsigned seed = 0; seed < 400; ++seed) {
        Drawn drawn(seed, 2 + static_cast<int>(seed % 4));
        const bool mixes = seed % 2;
        const Mask zeros = mixes ? drawn.below(unit(drawn.wires)) : below(drawn.wires);
        std::vector<Gate> gates;
        while (gates.size() < seed % 19)
            if (const Gate gate = drawn_gate(drawn); mixes || gate.kind != Gate::h) gates.push_back(gate);
        State expected = drawn.state();
        for (Mask k = 0; k < expected.size(); ++k)
            if (k & zeros) expected[k] = 0;
        State found = expected;
        for (const Gate& gate : gates) expected = acted(gate, expected);
        for (const Gate& gate : on_zeros(gates, zeros)) {
            found = acted(gate, found);
            CHECK((mixes || gate.kind == Gate::x));
        }
        std::complex<double> overlap = 0;
        for (std::size_t k = 0; k < found.size(); ++k) overlap += std::conj(found[k]) * expected[k];
        for (std::complex<double>& one : found) one *= overlap / std::abs(overlap);
        CHECK(distance(found, expected) < 1e-12);
    }
}
