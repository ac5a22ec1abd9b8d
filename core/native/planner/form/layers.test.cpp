// Tests of lists of rotations in layers, against the action of what was added on states.

#include "planner/form/layers.hpp"

#include <algorithm>

#include "planner/form/naive.test.hpp"
#include "planner/form/synthesis.hpp"

using namespace qx::form;
using namespace qx::form::naive;

namespace {

constexpr double half_pi = 1.57079632679489661923, tolerance = 1e-12;

struct Added {
    Pauli pauli;
    double angle;
};

State applied(const std::vector<Added>& all, State to) {
    for (const Added& one : all) to = rotated(one.pauli, one.angle, to);
    return to;
}

// What is listed, and then the frame's operator: its turns, and the phase that makes it the one of the frame.
State applied(const Layers& layers, const Frame& frame, State to) {
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
        for (const Index number : layers.layer(layer))
            to = rotated(layers.item(number).pauli, layers.item(number).angle.value, to);
    StabilizerState own(frame.tableau.wires());
    for (const QuarterTurn& turn : quarter_turns(frame.tableau)) {
        to = rotated(turn.pauli, turn.quarters * half_pi, to);
        own.turn(turn.pauli, turn.quarters);
    }
    for (auto& one : to) one *= std::polar(1.0, (frame.first_phase() - own.first_phase()) * half_pi / 2);
    return to;
}

std::size_t size(const Layers& layers) {
    std::size_t out = 0;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) out += layers.layer(layer).size();
    return out;
}

struct Listed {
    Frame frame;
    Rounding rounding{tolerance, 0, 1};
    Layers layers{frame, rounding, true};

    Listed(int wires, const std::vector<Added>& all) : frame(wires) {
        // A quarter turn goes behind all rotations, so those that come after it are about what it makes of their strings.
        for (const Added& one : all) {
            const SignedPauli image = frame.tableau.image(one.pauli);
            layers.add(image.pauli, {image.negative ? -one.angle : one.angle});
        }
    }
    // The strings of all layers.
    std::vector<std::vector<Pauli>> strings() {
        layers.sort();
        std::vector<std::vector<Pauli>> out(layers.size());
        for (std::size_t layer = 0; layer < layers.size(); ++layer)
            for (const Index number : layers.layer(layer)) out[layer].push_back(layers.item(number).pauli);
        return out;
    }
};

}  // namespace

TEST_CASE("what is listed does what was added, whatever merges, vanishes, becomes a quarter turn or is written anew") {
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, 1 + static_cast<int>(seed % 5));
        const double angles[] = {0.3, -0.3, half_pi, half_pi / 2, -half_pi / 2, 3 * half_pi + 0.2, 1.1};
        std::vector<Added> all;
        std::vector<Pauli> known;
        for (int k = 0; k < 3; ++k) known.push_back(drawn.pauli());
        for (int k = 0; k < 40; ++k)
            all.push_back({drawn.below(4) ? known[drawn.below(3)] : drawn.pauli(), angles[drawn.below(7)]});
        const Listed listed(drawn.wires, all);
        const State state = drawn.state();
        CHECK(distance(applied(all, state), applied(listed.layers, listed.frame, state)) < 1e-11);
    }
}

TEST_CASE("what stands in one layer commutes, and does not commute with something of the layer before") {
    for (unsigned seed = 0; seed < 100; ++seed) {
        Drawn drawn(seed, 6);
        std::vector<Added> all;
        for (int k = 0; k < 40; ++k) all.push_back({drawn.pauli(), 0.1 + 0.01 * k});
        Listed listed(6, all);
        if (listed.layers.changes()) continue;
        const auto strings = listed.strings();
        for (std::size_t layer = 0; layer < strings.size(); ++layer)
            for (const Pauli& one : strings[layer]) {
                for (const Pauli& other : strings[layer]) CHECK(!anticommute(one, other));
                const auto& before = strings[layer ? layer - 1 : 0];
                const bool stuck =
                    std::any_of(before.begin(), before.end(), [&](const Pauli& p) { return anticommute(p, one); });
                CHECK((!layer || stuck));
            }
    }
}

TEST_CASE("rotations in another order, in which only those that commute have changed places, have the same layers") {
    for (unsigned seed = 0; seed < 100; ++seed) {
        Drawn drawn(seed, 7);
        std::vector<Added> all;
        for (int k = 0; k < 30; ++k)
            all.push_back({{drawn.below(128), drawn.below(4) ? 0 : 1 + drawn.below(127)}, 0.2 + 0.01 * k});
        for (Added& one : all)
            if (one.pauli.is_identity()) one.pauli.z = 1;
        Listed before(7, all);
        for (int k = 0; k < 500; ++k) {
            const std::size_t at = drawn.below(29);
            if (!anticommute(all[at].pauli, all[at + 1].pauli)) std::swap(all[at], all[at + 1]);
        }
        Listed after(7, all);
        if (before.layers.changes() || after.layers.changes()) continue;
        CHECK(before.strings() == after.strings());
    }
}

TEST_CASE("a rotation merges with an equal one past all that commutes with it, and with nothing else") {
    const Pauli x{1, 0}, z{0, 1}, zz{0, 3}, xx{3, 0};
    CHECK(size(Listed(2, {{z, 0.3}, {zz, 0.4}, {z, 0.5}}).layers) == 2);
    CHECK(size(Listed(2, {{xx, 0.3}, {zz, 0.4}, {xx, 0.5}}).layers) == 2);
    CHECK(size(Listed(2, {{z, 0.3}, {xx, 0.4}, {z, 0.5}}).layers) == 3);
    CHECK(size(Listed(2, {{z, 0.3}, {xx, 0.4}, {zz, 0.6}, {xx, -0.4}, {z, -0.3}}).layers) == 1);
    CHECK(size(Listed(1, {{z, 0.3}, {x, 0.4}, {z, half_pi - 0.3}, {x, 0.2}, {z, 0.5}}).layers) == 3);
}

TEST_CASE("four rotations of a virtual qubit are three, and its axes do not matter") {
    const Pauli p{0b001, 0b110}, q{0b010, 0b010};
    REQUIRE(anticommute(p, q));
    const Pauli r = third(p, q).pauli;
    CHECK(size(Listed(3, {{p, 0.3}, {q, 0.4}, {p, 0.5}, {q, 0.6}, {r, 0.7}, {p, 0.8}}).layers) == 3);
    // The same turn, written about two other axes: its layers have the same strings.
    const Turn turn = Turn::about(0, 0.5) * Turn::about(1, 0.4) * Turn::about(0, 0.3);
    const SignedPauli c = third(p, q);
    const Pauli axes[] = {p, q, c.pauli};
    const Rotations other = fewest_rotations(turn, {2, 1, 0}, tolerance);
    std::vector<Added> again;
    for (int k = 0; k < other.num_generic; ++k) {
        const AxisRotation& one = other.generic[static_cast<std::size_t>(k)];
        again.push_back({axes[one.axis], one.axis == 2 && c.negative ? -one.angle : one.angle});
    }
    CHECK(Listed(3, {{p, 0.3}, {q, 0.4}, {p, 0.5}}).strings() == Listed(3, again).strings());
}
