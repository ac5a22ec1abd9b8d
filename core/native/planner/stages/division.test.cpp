// Tests of the division of work into passes and stages: all of it runs, in an order that changes nothing, on local bits.

#include "planner/stages/division.hpp"

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

constexpr int size = 7;

Levels levels_of(int local, int peers, int slice, int ranks = 0) { return {local, peers, slice, ranks, false, {}}; }

// Divides work; the last state that the divider was in.
Divider::State divided(const std::vector<Piece>& work, const Levels& levels, Mask fresh, Division& out,
                       bool nested = false) {
    const std::vector<WorkOutline> outlines(work.begin(), work.end());
    const Shape shape{};
    Divider divider(outlines, outlines, size, levels, fresh, {{size, shape, 0, 0, 1, true}, nested, 0});
    Divider::State state = Divider::State::busy;
    while ((state = divider.advance()) == Divider::State::busy) {
    }
    if (state == Divider::State::done) out = divider.take();
    return state;
}

}  // namespace

TEST_CASE("stages run all work once, mix no more bits than are local, and do what the work does in its own order") {
    for (unsigned seed = 0; seed < 120; ++seed) {
        Drawn drawn(seed, size);
        const std::vector<Piece> work = work_with_cx(drawn, 25);
        Levels levels =
            levels_of(3 + static_cast<int>(seed % 3), static_cast<int>(seed % 3), static_cast<int>(seed % 2), seed % 5 == 4);
        if (levels.peers == 2) levels.layers = {{1, 1e11}, {1, 1e9}};
        Division division;
        REQUIRE(divided(work, levels, 0, division, levels.peers == 2 && seed % 4 < 2) == Divider::State::done);
        std::vector<int> runs(work.size());
        State state = drawn.state();
        const State expected = applied(work, drawn.context, drawn.operands, state);
        for (const auto& pass : division.passes)
            for (const StageWork& stage : pass) {
                Mask mixed = 0;
                for (Index number : stage.work) {
                    ++runs[number], mixed |= work[number].mixed.units;
                    state = applied(work[number], drawn.context, drawn.operands, state);
                }
                CHECK((mixed & ~stage.needs) == 0);
                CHECK(count(stage.needs & ~division.low) <= levels.local - levels.slice);
            }
        CHECK(runs == std::vector<int>(work.size(), 1));
        CHECK(count(division.low) == levels.slice);
        CHECK(distance(state, expected) < near_enough);
    }
}

TEST_CASE("work on bits that can all be local is one stage, and an operation on more is too wide") {
    Drawn drawn(1, size);
    std::vector<Piece> work{drawn.turn(0), drawn.turn(6), drawn.cx(5, 6), drawn.phases(any_phase)};
    Division division;
    REQUIRE(divided(work, levels_of(3, 2, 1), 0, division) == Divider::State::done);
    REQUIRE(division.passes.size() == 1);
    CHECK(division.passes[0].size() == 1);
    work.push_back(drawn.piece(Kind::dense_matrix, {0, 1, 2, 3}, {}, {}, std::vector<char>(256, complex_)));
    CHECK(divided(work, levels_of(3, 2, 1), 0, division) == Divider::State::too_wide);
    CHECK(divided(work, levels_of(4, 2, 1), 0, division) == Divider::State::done);
}

TEST_CASE("bits that nothing mixes are those that are far first, whichever they are") {
    Drawn drawn(2, size);
    std::vector<Piece> work;
    for (const int bit : {1, 3, 5, 1, 3}) work.push_back(drawn.turn(bit));
    Division division;
    REQUIRE(divided(work, levels_of(4, 0, 1), 0, division) == Divider::State::done);
    REQUIRE(division.passes.size() == 1);
    CHECK((division.far & (unit(1) | unit(3) | unit(5))) == 0);
    CHECK(count(division.far) == 3);
}

TEST_CASE("bits of a new state that all are local have their own places below the slice") {
    Drawn drawn(3, size);
    const std::vector<Piece> work{drawn.turn(0), drawn.turn(5), drawn.cx(0, 6)};
    for (const int slice : {1, 2, 3}) {
        Division division;
        REQUIRE(divided(work, levels_of(size, 0, slice), below(size), division) == Divider::State::done);
        CHECK(division.low == below(slice));
    }
}
