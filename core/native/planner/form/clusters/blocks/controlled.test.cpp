// Tests of matrices of two wires under the control of a third one.

#include "planner/form/clusters/blocks/controlled.hpp"

#include <numbers>

#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;
using naive::applied, naive::drawn_turn, naive::Drawn, naive::State;

namespace {

constexpr int wires = 3;
constexpr double pi = std::numbers::pi;

void put(Pieces& to, Mask on, Mask values, double angle) {
    Piece piece{Piece::where, on, angle, values & on};
    piece.before.assign(static_cast<std::size_t>(count(on)), identity2);
    to.put(std::move(piece), false);
}

void turn(Pieces& to, Mask on, Drawn& drawn) {
    each(on, [&](int wire) { to.carried(wire) = drawn_turn(drawn) * to.carried(wire); });
}

void put_cx(Pieces& to, int control, int target) {
    const Matrix2 h = to_z(true, false);
    to.carried(target) = h * to.carried(target);
    put(to, unit(control) | unit(target), ~Mask{0}, pi);
    to.carried(target) = h * to.carried(target);
}

// Puts phases of two wires and turns, phases of these under the other wire as a control, and the inverse of the first ones.
void put_under_control(Drawn& drawn, int control, Pieces& to) {
    const Mask both = below(wires) & ~unit(control);
    const double around = drawn.angle();
    put(to, both, drawn.below(8), around);
    const Mask values = to.all.back().values;
    turn(to, both, drawn);
    const std::array<Matrix2, 3> turned{to.carried(0), to.carried(1), to.carried(2)};
    const Mask value = drawn.below(2) ? unit(control) : 0;
    for (std::uint64_t left = 4 + drawn.below(3); left-- > 0;)
        put(to, unit(control) | (drawn.below(2) ? both : both & (drawn.below(2) ? both & -both : both & (both - 1))),
            (drawn.below(8) & both) | value, drawn.angle());
    each(both, [&](int wire) { to.carried(wire) = adjoint(turned[static_cast<std::size_t>(wire)]) * to.carried(wire); });
    put(to, both, values, -around);
}

// Puts the beginning of pieces that is found, and the rest; returns how many pieces are the beginning.
std::size_t put_again(const Pieces& given, Pieces& made) {
    const Cluster of{below(wires), given.all};
    std::size_t work = 0;
    const std::size_t found = put_controlled(of, made, work);
    for (std::size_t k = found; k < given.all.size(); ++k) made.put(given.all[k], false);
    for (int wire = 0; wire < wires; ++wire)
        made.carried(wire) = given.carried()[static_cast<std::size_t>(wire)] * made.carried(wire);
    made.phase += given.phase;
    return found;
}

}  // namespace

TEST_CASE("what is under a control is one matrix, or fewer phases, and does what its pieces did") {
    std::size_t found = 0, matrices = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false), made(wires, false);
        turn(given, below(wires), drawn);
        put_under_control(drawn, static_cast<int>(drawn.below(wires)), given);
        turn(given, below(wires), drawn);
        if (drawn.below(2)) put(given, 0b11 << drawn.below(2), drawn.below(8), drawn.angle());
        if (drawn.below(2)) turn(made, below(wires), drawn);  // which are carried before all
        const State state = drawn.state();
        State before = state;
        for (int wire = 0; wire < wires; ++wire) before = naive::turned(before, wire, made.carried(wire));
        const State expected = applied(given, before);
        put_again(given, made);
        found += made.all.size() < given.all.size();
        for (const Piece& one : made.all) matrices += one.kind == Piece::controlled;
        CHECK(naive::distance(applied(made, state), expected) < 1e-10);
    }
    CHECK(found > 300);
    CHECK(matrices > 200);
}

TEST_CASE("swaps under a control that a transpiler takes apart are swaps, and turns of both wires pass them") {
    for (unsigned seed = 0; seed < 60; ++seed) {
        Drawn drawn(seed, wires);
        const int control = static_cast<int>(drawn.below(wires)), low = control == 0 ? 1 : 0, high = control == 2 ? 1 : 2;
        Pieces given(wires, false), made(wires, false);
        turn(given, below(wires), drawn);
        put_cx(given, high, low);
        const Matrix2 h = to_z(true, false);
        given.carried(high) = h * given.carried(high);
        put(given, below(wires), seed % 2 ? ~Mask{0} : ~unit(control), pi);
        given.carried(high) = h * given.carried(high);
        put_cx(given, high, low);
        turn(given, below(wires), drawn);
        const State state = drawn.state(), expected = applied(given, state);
        REQUIRE(put_again(given, made) == 3);
        CHECK(naive::distance(applied(made, state), expected) < 1e-10);
        REQUIRE(made.all.size() == 1);
        const Piece& one = made.all[0];
        CHECK(one.control == unit(control));
        for (std::size_t k = 0; k < 16; ++k)
            CHECK(std::abs(one.entries[k] - (k == 0 || k == 6 || k == 9 || k == 15 ? 1.0 : 0.0)) < 1e-10);
        CHECK(is_identity(one.turn_of(low)));
    }
}

TEST_CASE("what is turns for no value of a control does what its pieces did") {
    for (int control = 0; control < wires; ++control) {
        Drawn drawn(static_cast<unsigned>(control), wires);
        const int low = control == 0 ? 1 : 0, high = control == 2 ? 1 : 2;
        for (const bool more : {false, true}) {
            Pieces given(wires, false), made(wires, false);
            put_cx(given, low, high);
            for (int k = 0; k < 3; ++k) {
                put(given, unit(control) | unit(low), ~Mask{0}, 0.4);
                put_cx(given, k % 2 ? low : high, k % 2 ? high : low);
            }
            if (more) put_cx(given, control, low);
            const State state = drawn.state(), expected = applied(given, state);
            put_again(given, made);
            CHECK(naive::distance(applied(made, state), expected) < 1e-10);
        }
    }
}

TEST_CASE("what reads no wire, or mixes one alone, is no matrix under a control") {
    for (unsigned seed = 0; seed < 60; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false), made(wires, false);
        for (int k = 0; k < 6; ++k) {
            turn(given, seed % 2 ? below(wires) : Mask{1}, drawn);
            put(given, k % 2 ? 0b11 : 0b101, ~Mask{0}, 1.0 + drawn.angle() / 10);
        }
        put_again(given, made);
        for (const Piece& one : made.all) CHECK(one.kind != Piece::controlled);
    }
}
