// Tests of how phases are written as they stay.

#include "planner/form/clusters/pieces.hpp"

#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;
using naive::applied, naive::drawn_turn, naive::Drawn, naive::State;

TEST_CASE("phases that settle do what they did, are where two wires are 1, and have no X before them") {
    constexpr int wires = 4;
    const std::array<Matrix2, 3> turns{identity2, operator_matrix(true, false), operator_matrix(true, true)};
    std::size_t flipped = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, wires);
        Pieces as_they_are(wires, false), settled(wires, false);
        for (int k = 0; k < 8; ++k) {
            const Mask on = 1 + drawn.below(15);
            if (count(on) < 2) continue;
            const bool parity = drawn.below(3) == 0;
            Piece piece{parity ? Piece::parity : Piece::where, on, drawn.angle(), parity ? 0 : drawn.below(16) & on};
            each(on, [&](int) {
                const std::uint64_t which = drawn.below(4);
                piece.before.push_back(which < 3 ? turns[which] : drawn_turn(drawn));
                flipped += which == 1;
            });
            as_they_are.put(piece, false), settled.put(piece, true);
        }
        const State state = drawn.state();
        CHECK(naive::distance(applied(settled, state), applied(as_they_are, state)) < 1e-11);
        for (const Piece& one : settled.all) {
            if (one.kind == Piece::where && count(one.wires) == 2) CHECK(one.values == one.wires);
            each(one.wires, [&](int wire) { CHECK(std::abs(one.turn_of(wire)[0]) > 1e-9); });
        }
    }
    CHECK(flipped > 100);
}

TEST_CASE("turns of both wires pass a swap under a control if both have one, and nothing else passes it") {
    constexpr Mask both = 0b011, control = 0b100;
    for (unsigned seed = 0; seed < 30; ++seed) {
        Drawn drawn(seed, 3);
        Pieces made(3, false);
        for (int wire = 0; wire < 2; ++wire)
            made.carried(wire) = seed % 3 == 2 || wire == static_cast<int>(seed % 3) ? drawn_turn(drawn) : identity2;
        Piece piece{Piece::controlled, both | control, 0, control, {identity2, identity2, identity2}};
        piece.entries.assign(16, 0);
        piece.control = control, piece.entries[0] = piece.entries[6] = piece.entries[9] = piece.entries[15] = 1;
        made.put(piece, false);
        const Piece& one = made.all[0];
        int before = 0, behind = 0;
        for (int wire = 0; wire < 2; ++wire) {
            before += std::abs(one.turn_of(wire)[1]) > 1e-9;
            behind += std::abs(made.carried(wire)[1]) > 1e-9;
        }
        CHECK(before == 1);
        CHECK(behind == (seed % 3 == 2 ? 2 : 0));
    }
}
