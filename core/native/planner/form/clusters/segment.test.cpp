// Tests of operators on few wires: what they are by definition, and which are diagonal but for turns.

#include "planner/form/clusters/segment.hpp"

#include "planner/form/clusters/joint_phases.hpp"
#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;
using naive::drawn_turn, naive::Drawn, naive::State, naive::turned, naive::with_phase;

namespace {

State applied(const Segment& segment, const State& to) {
    const State matrix = segment.dense();
    State out(to.size());
    for (std::size_t k = 0; k < matrix.size(); ++k) out[k / to.size()] += matrix[k] * to[k % to.size()];
    return out;
}

// Draws joint phases and turns of some wires, for an operator and a state.
void act(Drawn& drawn, Segment& segment, State& state, int number) {
    for (int k = 0; k < number; ++k) {
        const int wire = static_cast<int>(drawn.below(static_cast<std::uint64_t>(drawn.wires)));
        const Matrix2 turn = drawn_turn(drawn);
        segment.turn(wire, turn), state = turned(state, wire, turn);
        const Mask wires = 1 + drawn.below(unit(drawn.wires) - 1), values = wires & drawn.below(unit(drawn.wires));
        const double angle = drawn.angle();
        if (drawn.below(2)) segment.phase(wires, values, angle), state = with_phase(state, wires, values, angle);
        else segment.parity(wires, angle), state = naive::rotated({0, wires}, angle, state);
    }
}

}  // namespace

TEST_CASE("an operator on few wires does what its turns and phases do by definition") {
    for (unsigned seed = 0; seed < 60; ++seed) {
        Drawn drawn(seed, 1 + static_cast<int>(seed % Segment::most_wires));
        Segment segment;
        for (int wire = 0; wire < drawn.wires; ++wire) segment.add_wire();
        const State first = drawn.state();
        State state = first;
        act(drawn, segment, state, 4);
        CHECK(naive::distance(applied(segment, first), state) < 1e-11);
    }
}

TEST_CASE("phases between turns are found, and what mixes wires is none") {
    for (unsigned seed = 0; seed < 60; ++seed) {
        Drawn drawn(seed, 2 + static_cast<int>(seed % 4));
        Segment segment, mixed;
        std::vector<Matrix2> before, behind;
        for (int wire = 0; wire < drawn.wires; ++wire) {
            segment.add_wire(), mixed.add_wire();
            segment.turn(wire, drawn_turn(drawn));
        }
        for (int k = 0; k < 4; ++k) {
            const Mask wires = 1 + drawn.below(unit(drawn.wires) - 1);
            segment.phase(wires, wires & drawn.below(unit(drawn.wires)), drawn.angle());
        }
        for (int wire = 0; wire < drawn.wires; ++wire) segment.turn(wire, drawn_turn(drawn));
        LocalDiagonal found;
        REQUIRE(segment.diagonal(1e-9, found));
        const State first = drawn.state();
        State state = first;
        for (int wire = 0; wire < drawn.wires; ++wire)
            state = turned(state, wire, found.before[static_cast<std::size_t>(wire)]);
        for (std::size_t k = 0; k < state.size(); ++k) state[k] *= std::polar(1.0, found.phases[k]);
        for (int wire = 0; wire < drawn.wires; ++wire)
            state = turned(state, wire, found.behind[static_cast<std::size_t>(wire)]);
        CHECK(naive::distance(applied(segment, first), state) < 1e-8);
        State other = first;
        act(drawn, mixed, other, 40);
        int most = 0;
        for (int wire = 0; wire < drawn.wires; ++wire) most = std::max(most, mixed.rank(wire));
        if (drawn.wires < 3) continue;
        CHECK(most == 3);
        CHECK(!mixed.diagonal(1e-12, found));
    }
}

TEST_CASE("joint phases make up the phases of each index, and one of them is found as one") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, 2 + static_cast<int>(seed % 5));
        State state(unit(drawn.wires), 1);
        const int number = static_cast<int>(seed % 4);
        for (int k = 0; k < number; ++k) {
            const Mask wires = 1 + drawn.below(unit(drawn.wires) - 1);
            if (seed % 3) state = with_phase(state, wires, wires & drawn.below(unit(drawn.wires)), drawn.angle());
            else state = naive::rotated({0, wires}, drawn.angle(), state);
        }
        std::vector<double> phases;
        for (const Complex& one : state) phases.push_back(std::arg(one));
        const JointPhases found = joint_phases(phases, 1e-12);
        State made(state.size(), std::polar(1.0, found.all));
        for (const JointPhase& one : found.joint)
            made = found.parities ? naive::rotated({0, one.bits}, one.angle, made)
                                  : with_phase(made, one.bits, one.values, one.angle);
        for (std::size_t bit = 0; bit < found.single.size(); ++bit)
            made = with_phase(made, Mask{1} << bit, Mask{1} << bit, found.single[bit]);
        CHECK(naive::distance(made, state) < 1e-8);
        if (number == 1) CHECK(found.joint.size() <= 1);
    }
}
