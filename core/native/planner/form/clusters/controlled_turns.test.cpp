// Tests of turns under a control that later ones undo: pieces do what they did, and such turns are found.

#include "planner/form/clusters/controlled_turns.hpp"

#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;
using naive::applied, naive::drawn_turn, naive::Drawn, naive::State;

namespace {

constexpr int wires = 4;

// Puts phases of two wires or more, between turns of one of them.
void put(Pieces& to, Mask on, Mask values, double angle, bool parity, int wire, const Matrix2& before) {
    Piece piece{parity ? Piece::parity : Piece::where, on, angle, parity ? 0 : values & on};
    each(on, [&](int one) { piece.before.push_back(one == wire ? before : identity2); });
    to.put(std::move(piece), false);
    to.carried(wire) = adjoint(before) * to.carried(wire);
}

// Puts a turn under a control, others under the same control, and the inverse of the turn, as one of several ways has it;
// now and then something is between that keeps the control.
void put_undone(Drawn& drawn, Pieces& to) {
    const int control = static_cast<int>(drawn.below(wires)),
              wire = (control + 1 + static_cast<int>(drawn.below(3))) % wires;
    const Mask both = unit(control) | unit(wire), values = drawn.below(unit(wires)), more = drawn.below(unit(wires)) & ~both;
    const Matrix2 turn = drawn_turn(drawn);
    const double angle = drawn.below(2) ? 3.14159265358979323846 : drawn.angle();
    put(to, both, values, angle, drawn.below(4) == 0, wire, turn);
    for (std::uint64_t left = drawn.below(3); left-- > 0;) {
        const Mask other = drawn.below(4) ? values : drawn.below(unit(wires));
        put(to, both | more, drawn.below(2) ? other : other ^ more, drawn.angle(), drawn.below(8) == 0, wire,
            drawn_turn(drawn));
        if (drawn.below(6) == 0) to.carried(control) = drawn_turn(drawn) * to.carried(control);
        if (drawn.below(8) == 0) put(to, ~both & 15, values, 1, false, lowest(~both & 15), drawn_turn(drawn));
    }
    const bool flips =
        drawn.below(3) == 0;  // the other value of the wire, by the opposite phase: a phase of the control is left
    put(to, both, flips ? values ^ unit(wire) : values, flips ? angle : -angle, false, wire, turn);
    if (drawn.below(3) == 0) put(to, both, drawn.below(16), drawn.angle(), drawn.below(2), wire, drawn_turn(drawn));
}

}  // namespace

TEST_CASE("pieces without controls of turns that are undone do what they did") {
    std::size_t found = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false);
        for (std::uint64_t left = 1 + drawn.below(4); left-- > 0;) put_undone(drawn, given);
        const State state = drawn.state(), expected = applied(given, state);
        Pieces made = without_controls(given, false, found);
        CHECK(naive::distance(applied(made, state), expected) < 1e-11);
    }
    CHECK(found > 400);
}

TEST_CASE("a turn under a control that is undone has none, and phases between are about another axis") {
    Drawn drawn(1, wires);
    for (const Mask value : {Mask{0}, Mask{1}}) {
        const Matrix2 turn = drawn_turn(drawn);
        Pieces given(wires, false);
        put(given, 0b11, value | 2, 2.5, false, 1, turn);
        put(given, 0b111, value | 6, 0.7, false, 1, identity2);
        put(given, 0b11, value | 2, -2.5, false, 1, turn);
        std::size_t parts = 0;
        const Pieces made = without_controls(given, false, parts);
        CHECK(parts == 2);
        REQUIRE(made.all.size() == 1);
        CHECK(made.all[0].wires == 0b111);
    }
}

TEST_CASE("a phase is not undone twice, as a turn of each of its wires") {
    Drawn drawn(2, wires);
    const State state = drawn.state();
    const Matrix2 flip{0, 1, 1, 0};
    Pieces given(wires, false);
    for (const int flipped : {1, 0, 2}) {
        put(given, 0b11, 0b11, 3.14159265358979323846, false, 0, identity2);
        given.carried(flipped) = flip * given.carried(flipped);
    }
    std::size_t parts = 0;
    const State expected = applied(given, state);
    Pieces made = without_controls(given, false, parts);
    CHECK(made.all.size() == 1);
    CHECK(naive::distance(applied(made, state), expected) < 1e-12);
}
