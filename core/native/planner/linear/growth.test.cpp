// Tests of the tiles of a plan in a CNOT frame: each holds the directions of its work, and together they do all of it.

#include "planner/linear/growth.hpp"

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

constexpr int size = 7;

Shape shape_of(bool floats, double balance) {
    Shape out{};
    out.tile = 4, out.low = 1, out.start = 2, out.floats = floats, out.balance = balance;
    return out;
}

}  // namespace

TEST_CASE("tiles have room for the directions of their work, all of which runs in an order that changes nothing") {
    for (unsigned seed = 0; seed < 150; ++seed) {
        Drawn drawn(seed, size);
        const bool grows = seed % 2;
        const FramedWork work(work_with_cx(drawn, 30), size, drawn.context, grows);
        const Order order(work);
        const Shape shape = shape_of(seed % 3 != 0, seed % 5 ? 60 : 1);
        GrowingSpace space(work, order, shape, grows, 1);
        while (!space.done() && space.advance()) {
        }
        CHECK(space.done());
        State expected = drawn.state();
        if (grows) {
            expected.assign(expected.size(), 0);
            expected[0] = 1;
        }
        State state = expected;
        for (std::size_t k = 0; k < work.size(); ++k)
            expected = framed(work, work[k], drawn.context, drawn.operands, expected);
        std::vector<int> runs(work.size());
        Span mixed;
        for (const TileVisit& visit : space.visits) {
            const Span tile(visit.tile);
            CHECK(tile.size() <= shape.tile);
            for (Mask lane : visit.lanes) CHECK(tile.has(lane));
            if (&visit != &space.visits[0]) {  // what the tile before it has left there
                const Span before((&visit)[-1].tile);
                for (Mask lane : visit.lanes) CHECK(before.has(lane));
                CHECK(static_cast<int>(visit.lanes.size()) == shape.low);
            }
            for (Index number : visit.work) {
                ++runs[number];
                for (int k = 0; k < work[number].piece.num_mixed; ++k) CHECK(tile.has(work.directions(work[number])[k]));
                state = framed(work, work[number], drawn.context, drawn.operands, state);
            }
            if (grows)
                for (Mask vector : visit.mixed) CHECK(mixed.has(vector));
            mixed.add_all(visit.tile);
        }
        CHECK(runs == std::vector<int>(work.size(), 1));
        CHECK(distance(state, expected) < near_enough);
        CHECK(static_cast<int>(space.lowest.size()) >= shape.low);
    }
}

TEST_CASE("a new state grows late: for little work in few tiles, for much in tiles of a small state") {
    for (const double balance : {60.0, 1.0}) {
        Drawn drawn(3, size);
        std::vector<Piece> pieces;
        for (int bit = 0; bit < size; ++bit) {
            pieces.push_back(drawn.turn(bit));
            pieces.back().work = 4;
        }
        const FramedWork work(pieces, size, drawn.context, true);
        const Order order(work);
        const Shape shape = shape_of(true, balance);
        GrowingSpace space(work, order, shape, true, 1);
        while (!space.done() && space.advance()) {
        }
        REQUIRE(space.visits.size() >= 2);
        CHECK((space.visits.size() == 2) == (balance == 60.0));
        CHECK(space.visits[0].mixed.empty());
        for (std::size_t k = 1; k < space.visits.size(); ++k)
            CHECK(space.visits[k].mixed.size() >= space.visits[k - 1].mixed.size());
        CHECK(space.left.empty());
    }
}
