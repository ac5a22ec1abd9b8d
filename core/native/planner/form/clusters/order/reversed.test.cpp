// Tests of pieces in the other order.

#include "planner/form/clusters/order/reversed.hpp"

#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;
using naive::applied, naive::drawn_turn, naive::Drawn, naive::State;

namespace {

constexpr int wires = 4;

// Draws a piece on two wires or more, of any kind but those that are written as they were read.
Piece drawn_piece(Drawn& drawn) {
    constexpr std::array<Piece::Kind, 6> kinds{Piece::parity, Piece::where,      Piece::block,
                                               Piece::pair,   Piece::controlled, Piece::swap};
    const Piece::Kind kind = kinds[drawn.below(6)];
    const Mask low = unit(static_cast<int>(drawn.below(wires - 2))), two = low | low << 1;
    Piece piece{kind, two};
    if (kind == Piece::swap) return piece;
    if (kind == Piece::parity || kind == Piece::where) {
        piece.wires = 0b0110 | drawn.below(16), piece.angle = drawn.angle();
        if (kind == Piece::where) piece.values = drawn.below(16) & piece.wires;
    } else {  // what mixes 01 and 10 alone, or a swap, which any turn of both wires passes
        const bool swaps = drawn.below(2);
        const Matrix2 turn = swaps ? Matrix2{0, 1, 1, 0} : drawn_turn(drawn);
        const Complex first = swaps ? 1 : std::polar(1.0, drawn.angle()), last = swaps ? 1 : std::polar(1.0, drawn.angle());
        piece.entries = {first, 0, 0, 0, 0, turn[0], turn[1], 0, 0, turn[2], turn[3], 0, 0, 0, 0, last};
    }
    if (kind == Piece::controlled)
        piece.control = low << 2, piece.wires |= low << 2, piece.values = drawn.below(2) * (low << 2);
    for (int k = 0; k < count(piece.wires); ++k) piece.before.push_back(drawn_turn(drawn));
    return piece;
}

Pieces drawn_pieces(Drawn& drawn) {
    Pieces out(wires, false);
    for (int k = 0; k < 6; ++k) out.put(drawn_piece(drawn), false);
    for (int wire = 0; wire < wires; ++wire) out.carried(wire) = drawn_turn(drawn) * out.carried(wire);
    out.phase += drawn.angle();
    return out;
}

}  // namespace

TEST_CASE("reversed pieces undo what the pieces did, phase included") {
    for (unsigned seed = 0; seed < 400; ++seed) {
        Drawn drawn(seed, wires);
        Pieces pieces = drawn_pieces(drawn), back = reversed(pieces, false);
        const State state = drawn.state();
        CHECK(naive::distance(applied(back, applied(pieces, state)), state) < 1e-11);
    }
}

TEST_CASE("pieces that are reversed again and again stay what they are, to within rounding") {
    for (unsigned seed = 0; seed < 100; ++seed) {
        Drawn drawn(seed, wires);
        Pieces pieces = drawn_pieces(drawn);
        const State state = drawn.state(), expected = applied(pieces, state);
        for (int k = 0; k < 60; ++k) pieces = reversed(std::move(pieces), false);
        CHECK(naive::distance(applied(pieces, state), expected) < 1e-10);
    }
}
