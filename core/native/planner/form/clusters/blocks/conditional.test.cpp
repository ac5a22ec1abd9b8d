// Tests of turns of one wire under conditions of two others.

#include "planner/form/clusters/blocks/conditional.hpp"

#include <numbers>

#include "planner/form/clusters/blocks/controlled.hpp"
#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;
using naive::applied, naive::drawn_turn, naive::Drawn, naive::State;

namespace {

constexpr int wires = 3;
constexpr double pi = std::numbers::pi;

void turn(Pieces& to, int wire, const Matrix2& by) { to.carried(wire) = by * to.carried(wire); }

void put(Pieces& to, Mask on, Mask values, double angle) {
    Piece piece{Piece::where, on, angle, values & on};
    piece.before.assign(static_cast<std::size_t>(count(on)), identity2);
    to.put(std::move(piece), false);
}

void put_cx(Pieces& to, int control, int target) {
    const Matrix2 h = to_z(true, false);
    turn(to, target, h), put(to, unit(control) | unit(target), ~Mask{0}, pi), turn(to, target, h);
}

// Puts turns of a wire where the others have some values, between CX of these, and turns of all wires around.
void put_hidden(Pieces& to, int mixed, Mask which, Drawn& drawn) {
    const int low = mixed == 0 ? 1 : 0, high = mixed == 2 ? 1 : 2;
    for (int wire = 0; wire < wires; ++wire) turn(to, wire, drawn_turn(drawn));
    put_cx(to, low, high);
    for (int value = 0; value < 4; ++value) {
        if (!(which >> value & 1)) continue;
        const Matrix2 by = drawn_turn(drawn);
        const Mask values = (value & 1 ? unit(low) : 0) | (value & 2 ? unit(high) : 0);
        turn(to, mixed, by), put(to, below(wires), values | unit(mixed), drawn.angle()), turn(to, mixed, adjoint(by));
        if (drawn.below(2)) put(to, unit(low) | unit(high), values, drawn.angle());
    }
    put_cx(to, low, high);
    for (int wire = 0; wire < wires; ++wire) turn(to, wire, drawn_turn(drawn));
}

Segment segment_of(const Pieces& pieces) {
    Segment out;
    std::vector<int> on;
    for (int wire = 0; wire < wires; ++wire) on.push_back(wire), out.add_wire();
    for (const Piece& piece : pieces.all) act(piece, out, on);
    return out;
}

}  // namespace

TEST_CASE("what mixes one wire is as many turns of it as values of the others differ, and does what its pieces did") {
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, wires);
        const int mixed = static_cast<int>(drawn.below(wires));
        const Mask which = 1 + drawn.below(15);
        Pieces given(wires, false), made(wires, false);
        put_hidden(given, mixed, which, drawn);
        for (int wire = 0; wire < wires; ++wire) turn(made, wire, drawn_turn(drawn));  // which are carried before all
        const State state = drawn.state();
        State before = state;
        for (int wire = 0; wire < wires; ++wire) before = naive::turned(before, wire, made.carried(wire));
        const State expected = applied(given, before);
        const auto found = conditional(segment_of(given));
        REQUIRE(found.has_value() == (count(which) > 1));  // one alone mixes no wire between turns
        if (!found) continue;
        CHECK(found->mixed == static_cast<std::size_t>(mixed));
        CHECK(found->turns.size() == static_cast<std::size_t>(std::min(count(which), 3)));
        CHECK(found->phases.joint.size() < 2);
        put_conditional(*found, {below(wires), given.all}, made);
        for (int wire = 0; wire < wires; ++wire) turn(made, wire, given.carried()[static_cast<std::size_t>(wire)]);
        made.phase += given.phase;
        CHECK(naive::distance(applied(made, state), expected) < 1e-10);
    }
}

TEST_CASE("where nothing on three wires is mixed, or two wires are, there is none") {
    Drawn drawn(1, wires);
    Pieces phases(wires, false), two(wires, false);
    put(phases, below(wires), ~Mask{0}, 0.4), put(phases, 0b011, ~Mask{0}, 0.3);
    CHECK(!conditional(segment_of(phases)));
    for (int k = 0; k < 6; ++k) {
        for (int wire = 0; wire < 2; ++wire) turn(two, wire, drawn_turn(drawn));
        put(two, k % 2 ? 0b011 : 0b111, ~Mask{0}, drawn.angle());
    }
    CHECK(!conditional(segment_of(two)));
}

TEST_CASE("turns under conditions are found from three pieces on, where they are fewer") {
    std::size_t found = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false), made(wires, false);
        put_hidden(given, 1, 0b0110, drawn);
        const State state = drawn.state(), expected = applied(given, state);
        std::size_t work = 0;
        const std::size_t number = put_controlled({below(wires), given.all}, made, work);
        for (std::size_t k = number; k < given.all.size(); ++k) made.put(given.all[k], false);
        for (int wire = 0; wire < wires; ++wire) turn(made, wire, given.carried()[static_cast<std::size_t>(wire)]);
        made.phase += given.phase;
        found += made.all.size() < given.all.size();
        CHECK(naive::distance(applied(made, state), expected) < 1e-10);
    }
    CHECK(found > 30);
}

TEST_CASE("of small turns under conditions only those are found that are known to be under these") {
    const Matrix2 to_x = to_z(true, false);
    std::size_t found = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false);
        const double small = std::pow(10, -1 - 0.1 * seed);
        for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn_turn(drawn));
        for (int k = 0; k < 8; ++k) {
            const double angle = drawn.angle();
            naive::put_parity(given, 0b110, angle, identity2), naive::put_parity(given, 0b011, small, to_x);
            naive::put_parity(given, 0b110, -angle, identity2);
        }
        Segment segment = segment_of(given);
        const std::optional<Conditional> own = conditional(segment);
        if (!own) continue;
        Cluster of{below(wires), given.all, false};
        Pieces made(wires, false);
        put_conditional(*own, of, made);
        for (int wire = 0; wire < wires; ++wire) turn(made, wire, given.carried(wire));
        made.add_phase(given.phase);
        const State state = drawn.state();
        ++found;
        CHECK(naive::distance(applied(made, state), applied(given, state)) < 2e-11);
    }
    CHECK(found > 10);
}
