// Tests of tableaus, against the action of turns on states.

#include "planner/form/tableau.hpp"

#include "planner/form/naive.test.hpp"
#include "planner/form/synthesis.hpp"

using namespace qx::form;
using namespace qx::form::naive;

namespace {

constexpr double half_pi = 1.57079632679489661923;

// A drawn Clifford operator: turns in the order in which they act, and its tableau.
struct Clifford {
    std::vector<QuarterTurn> turns;
    Tableau tableau;

    Clifford(Drawn& drawn, int length) : tableau(drawn.wires) {
        for (int k = 0; k < length; ++k) {
            const QuarterTurn turn{drawn.pauli(), static_cast<int>(drawn.below(8))};
            const bool before = drawn.below(3) == 0;
            turns.insert(before ? turns.begin() : turns.end(), turn);
            if (before) tableau.turn_before(turn.pauli, turn.quarters);
            else tableau.turn(turn.pauli, turn.quarters);
        }
    }
};

State applied(const std::vector<QuarterTurn>& turns, State to) {
    for (const QuarterTurn& turn : turns) to = rotated(turn.pauli, turn.quarters * half_pi, to);
    return to;
}

}  // namespace

TEST_CASE("an image is what a string becomes in front of the operator, and a preimage is one behind it") {
    for (unsigned seed = 0; seed < 60; ++seed) {
        Drawn drawn(seed, 1 + static_cast<int>(seed % 5));
        const Clifford c(drawn, 12);
        const State state = drawn.state();
        for (int k = 0; k < 10; ++k) {
            const Pauli q = drawn.pauli();
            const State after = applied(q, applied(c.turns, state));  // Q C = C (C† Q C)
            CHECK(distance(after, applied(c.turns, applied(c.tableau.image(q), state))) < 1e-12);
            const State before = applied(c.turns, applied(q, state));  // C P = (C P C†) C
            CHECK(distance(before, applied(c.tableau.preimage(q), applied(c.turns, state))) < 1e-12);
        }
    }
}

TEST_CASE("a tableau of more than 64 wires does on a few of them what one of these wires does") {
    constexpr int wires = 150;
    Drawn drawn(7, 4);
    const int places[] = {3, 63, 64, 149};
    Tableau narrow(4), wide(wires);
    REQUIRE(wide.words() == 3);
    const auto spread = [&](const Pauli& of) {
        std::vector<Mask> out(6);
        for (int k = 0; k < 4; ++k) {
            out[static_cast<std::size_t>(places[k] / 64)] |= (of.x >> k & 1) << places[k] % 64;
            out[static_cast<std::size_t>(3 + places[k] / 64)] |= (of.z >> k & 1) << places[k] % 64;
        }
        return out;
    };
    for (int round = 0; round < 200; ++round) {
        const Pauli p = drawn.pauli();
        const int quarters = static_cast<int>(drawn.below(4));
        if (round % 3) narrow.turn(p, quarters), wide.turn(spread(p).data(), quarters);
        else narrow.turn_before(p, quarters), wide.turn_before(spread(p).data(), quarters);
        const Pauli q = drawn.pauli();
        std::vector<Mask> image(6), preimage(6);
        CHECK(wide.image(spread(q).data(), image.data()) == narrow.image(q).negative);
        CHECK(image == spread(narrow.image(q).pauli));
        CHECK(wide.preimage(spread(q).data(), preimage.data()) == narrow.preimage(q).negative);
        CHECK(preimage == spread(narrow.preimage(q).pauli));
    }
}

TEST_CASE("the quarter turns of a tableau have that tableau, and are at most six a wire") {
    for (unsigned seed = 0; seed < 60; ++seed) {
        Drawn drawn(seed, 1 + static_cast<int>(seed % 7));
        const Clifford c(drawn, 20);
        const std::vector<QuarterTurn> turns = quarter_turns(c.tableau);
        CHECK(turns.size() <= static_cast<std::size_t>(6 * drawn.wires));
        Tableau again(drawn.wires);
        for (const QuarterTurn& turn : turns) again.turn(turn.pauli, turn.quarters);
        for (int wire = 0; wire < drawn.wires; ++wire)
            for (const Pauli& q : {Pauli{unit(wire), 0}, Pauli{0, unit(wire)}}) {
                CHECK(again.image(q).pauli == c.tableau.image(q).pauli);
                CHECK(again.image(q).negative == c.tableau.image(q).negative);
            }
    }
}
