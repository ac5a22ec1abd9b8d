// Tests of work on directions and parities, and of where index bits become bits of the work, against bits that are moved one
// by one.

#include "planner/linear/frame.hpp"

#include <algorithm>

#include "planner/linear/goals.hpp"
#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

constexpr int size = 4;

}  // namespace

TEST_CASE("a CX changes a frame as it changes bits, and directions stay dual to parities") {
    Drawn drawn(1, size);
    Frame frame(size);
    std::vector<Mask> expected(std::size_t{1} << size);
    for (Mask x = 0; x < expected.size(); ++x) expected[x] = x;
    for (int run = 0; run < 60; ++run) {
        const int target = drawn.bit(), control = drawn.other(target);
        const bool value = drawn.below(2);
        frame.cx(control, target, value);
        for (Mask x = 0; x < expected.size(); ++x) {
            if ((expected[x] >> control & 1) == value) expected[x] ^= unit(target);
            CHECK(seen(frame, x) == expected[x]);
        }
        for (int i = 0; i < size; ++i)
            for (int j = 0; j < size; ++j) CHECK(is_odd(frame.directions[at(i)] & frame.parities[at(j)]) == (i == j));
    }
}

TEST_CASE("framed work moves no amplitude for a CX, and ends in the state of the work seen through the frame") {
    for (unsigned seed = 0; seed < 150; ++seed) {
        Drawn drawn(seed, size);
        const std::vector<Piece> work = work_with_cx(drawn, 20);
        const State begin = drawn.state(), expected = applied(work, drawn.context, drawn.operands, begin);
        const FramedWork made(work, size, drawn.context, false);
        REQUIRE(made.fits());
        State state = begin;
        for (std::size_t k = 0; k < made.size(); ++k) {
            CHECK_FALSE(changes_frame(made[k].piece, drawn.context));
            state = framed(made, made[k], drawn.context, drawn.operands, state);
        }
        for (Mask x = 0; x < state.size(); ++x) CHECK(std::abs(state[x] - expected[seen(made.frame, x)]) < near_enough);
    }
}

TEST_CASE("framed work of a new state leaves out what its zeros decide") {
    for (unsigned seed = 0; seed < 100; ++seed) {
        Drawn drawn(seed, size);
        const std::vector<Piece> work = work_with_cx(drawn, 15);
        State state(std::size_t{1} << size);
        state[0] = 1;
        const State expected = applied(work, drawn.context, drawn.operands, state);
        const FramedWork made(work, size, drawn.context, true);
        REQUIRE(made.fits());
        for (std::size_t k = 0; k < made.size(); ++k) state = framed(made, made[k], drawn.context, drawn.operands, state);
        for (Mask x = 0; x < state.size(); ++x) CHECK(std::abs(state[x] - expected[seen(made.frame, x)]) < near_enough);
    }
}

TEST_CASE("a frame that is turned back inverts no bit") {
    for (unsigned seed = 0; seed < 40; ++seed) {
        Drawn drawn(seed, size);
        const std::vector<Piece> work = work_with_cx(drawn, 12);
        State state = drawn.state();
        const State expected = applied(work, drawn.context, drawn.operands, state);
        FramedWork made(work, size, drawn.context, false);
        made.turn_back(drawn.context);
        CHECK(made.frame.flip == 0);
        for (std::size_t k = 0; k < made.size(); ++k) state = framed(made, made[k], drawn.context, drawn.operands, state);
        for (Mask x = 0; x < state.size(); ++x) CHECK(std::abs(state[x] - expected[seen(made.frame, x)]) < near_enough);
    }
}

TEST_CASE("matched gives each direction a goal of its own, the same one where there is one") {
    std::mt19937 random(3);
    for (int run = 0; run < 50; ++run) {
        Vectors now = units(5), goals = now;
        std::shuffle(goals.begin(), goals.end(), random);
        const Span all(now);
        const std::vector<int> found = matched(now, goals, {&all});
        for (std::size_t k = 0; k < now.size(); ++k) CHECK(goals[static_cast<std::size_t>(found[k])] == now[k]);
    }
}
