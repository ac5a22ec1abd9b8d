// Tests of many turns that are each as small as rounding, and mean something together.

#include <functional>

#include "planner/form/clusters/controlled_turns.hpp"
#include "planner/form/clusters/naive_phases.test.hpp"
#include "planner/form/clusters/toffolis/merged_phases.hpp"

using namespace qx::form;
using naive::applied, naive::Drawn, naive::State;

namespace {

constexpr int wires = 3, number = 300;
constexpr Pauli x0{1, 0};

void turn(Pieces& to, int wire, const Matrix2& by) { to.carried(wire) = by * to.carried(wire); }

// Puts small phases of two wires, each between a turn of one of them and its opposite.
Pieces small_phases(Drawn& drawn, double small) {
    Pieces out(wires, false);
    for (int k = 0; k < number; ++k) {
        const double angle = drawn.angle();
        turn(out, 0, turn_about(x0, angle));
        out.put({Piece::where, 0b11, small, 0b11, {identity2, identity2}}, false);
        turn(out, 0, turn_about(x0, -angle));
    }
    return out;
}

// How far pieces that were made of others are from these.
double lost(Drawn& drawn, Pieces given, const std::function<Pieces(Pieces)>& by) {
    const State first = drawn.state(), before = applied(given, first);
    Pieces made = by(std::move(given));
    return naive::distance(applied(made, first), before);
}

}  // namespace

TEST_CASE("an operator of few wires is turned however small its turns are") {
    Segment small;
    small.add_wire();
    for (int k = 0; k < number; ++k) small.turn(0, turn_about(x0, 9e-13));
    const Matrix2 all = turn_about(x0, number * 9e-13);
    for (std::size_t k = 0; k < 4; ++k) CHECK(std::abs(small.dense()[k] - all[k]) < 1e-13);
}

TEST_CASE("small phases stay where the turns around them cancel") {
    constexpr double small = 5e-13;
    Drawn drawn(1, wires);
    std::size_t parts = 0;
    const auto merged = [](const Pieces& of) { return with_merged_phases(of); };
    const auto without = [&](Pieces of) { return without_controls(std::move(of), false, parts); };
    CHECK(lost(drawn, small_phases(drawn, small), merged) < 1e-13);
    CHECK(lost(drawn, small_phases(drawn, small), without) < 10 * small);
}
