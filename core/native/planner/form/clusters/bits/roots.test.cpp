// Tests of phases under many conditions that are made of parts of turns, and of pairs of pieces that are one.

#include <numbers>

#include "planner/form/clusters/bits/axis_pieces.hpp"
#include "planner/form/clusters/bits/evaluated.hpp"
#include "planner/form/clusters/bits/evaluation.hpp"
#include "planner/form/clusters/bits/naive_axes.test.hpp"

using namespace qx::form;
using naive::applied, naive::drawn_turn, naive::Drawn, naive::State;

namespace {

constexpr double pi = std::numbers::pi;
const double root = std::sqrt(0.5);
const Matrix2 h{root, root, root, -root};

void turn(Pieces& to, int wire, const Matrix2& by) { to.carried(wire) = by * to.carried(wire); }

// A phase where two wires are 1, as that, or as the product of both operators and turns of each wire.
void put(Pieces& to, int one, int other, double angle, bool as_parity) {
    const Mask wires = unit(one) | unit(other);
    const std::vector<Matrix2> none(2, identity2);
    if (!as_parity) return to.put({Piece::where, wires, angle, wires, none}, false);
    to.put({Piece::parity, wires, -angle / 2, wires, none}, false);
    turn(to, one, phase2(angle / 2)), turn(to, other, phase2(angle / 2));
    to.phase -= angle / 4;
}

// A part of X of a wire where another one is 1.
void put_root(Pieces& to, int control, int target, double angle, bool as_parity) {
    turn(to, target, h), put(to, control, target, angle, as_parity), turn(to, target, h);
}

// Adds the first bit to the number of those behind it, up to one: the carry flips a bit as the difference of the numbers
// below it before and behind. A. J. da Silva and D. K. Park, Physical Review A 106, 042602 (2022).
void put_sum(Pieces& to, int bits, bool inverse, bool as_parity) {
    const auto roots = [&](int target, bool behind) {
        const double unit_angle = pi / static_cast<double>(unit(target - 1));
        for (int k = 1; k < target; ++k)
            put_root(to, k, target, (behind ? -1 : 1) * unit_angle * static_cast<double>(unit(k - 1)), as_parity);
        if (behind == inverse) put_root(to, 0, target, inverse ? -unit_angle : unit_angle, as_parity);
    };
    for (int target = bits - 1; target > 0; --target) roots(target, false);
    for (int target = 1; target < bits; ++target) roots(target, true);
}

void put_phase(Pieces& to, int controls, double angle, bool as_parity) {
    const double part = angle / static_cast<double>(unit(controls - 1));
    const auto phases = [&](double sign) {
        for (int k = 1; k < controls; ++k) put(to, k, controls, sign * part * static_cast<double>(unit(k - 1)), as_parity);
    };
    phases(1), put(to, 0, controls, part, as_parity);
    put_sum(to, controls, false, as_parity);
    phases(-1);
    put_sum(to, controls, true, as_parity);
}

}  // namespace

TEST_CASE("a phase under many conditions is one, by whatever parts of turns it is made") {
    for (const int controls : {3, 5, 7, 9}) {
        for (const bool as_parity : {false, true}) {
            const int wires = controls + 1;
            Drawn drawn(static_cast<unsigned>(controls), wires);
            Pieces given(wires, false);
            for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn_turn(drawn));
            put_phase(given, controls, 0.7, as_parity);
            for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn_turn(drawn));
            const State first = drawn.state(), before = applied(given, first);
            double left = HUGE_VAL;
            std::size_t work = 0, parts = 0;
            Pieces made = evaluated(given, false, 10'000'000, left, work, parts);
            CHECK(naive::distance(applied(made, first), before) < 1e-9);
            CHECK(parts == given.all.size());
            REQUIRE(made.all.size() == 1);
            CHECK(made.all[0].wires == unit(wires) - 1);
        }
    }
}

TEST_CASE("pieces on the same two wires with an axis in common are one, and do what they did") {
    constexpr int wires = 3;
    std::size_t fewer = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false);
        for (int k = 0; k < 8; ++k) {
            const int one = static_cast<int>(drawn.below(2)), other = one + 1;
            put(given, one, other, drawn.below(2) ? pi : drawn.angle(), drawn.below(3) == 0);
            turn(given, drawn.below(2) ? one : other, drawn.below(3) ? drawn_turn(drawn) : h);
            if (drawn.below(3) == 0) turn(given, one, Matrix2{0, 1, 1, 0});
        }
        const State first = drawn.state(), before = applied(given, first);
        AxisPieces joined(given);
        joined.join_pairs();
        Pieces made = joined.pieces(false);
        CHECK(naive::distance(applied(made, first), before) < 1e-9);
        fewer += made.all.size() < given.all.size();
    }
    CHECK(fewer > 150);
}

TEST_CASE("parts of turns of which some take too many steps do what they did, as far as they act") {
    std::size_t refused = 0, written = 0;
    for (std::size_t most = 1; most < 150; ++most) {
        constexpr int controls = 5, wires = controls + 1;
        Drawn drawn(static_cast<unsigned>(most), wires);
        Pieces given(wires, false);
        for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn_turn(drawn));
        put_phase(given, controls, 0.7, most % 2);
        Diagrams diagrams(most % 3 ? most : 10'000, most % 40);
        Evaluation made(diagrams, wires, 0, Evaluation::Frames::guessed);
        const State first = drawn.state();
        State expected = first;
        for (const AxisPieces::Item& one : AxisPieces(given).all) {
            if (made.act(one.own, -1)) expected = applied(one.own, expected);
            else ++refused;
            const auto all = made.in_all();
            if (!all) continue;
            ++written;
            State found = first;
            for (const AxisPiece& piece : all->pieces) found = applied(piece, found);
            for (Complex& amplitude : found) amplitude *= std::polar(1.0, all->phase);
            CHECK(naive::distance(found, expected) < 1e-9);
        }
    }
    CHECK(refused > 20);
    CHECK(written > 1'000);
}
