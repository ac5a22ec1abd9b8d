// Tests of the coordinates of a tile: items on its positions do what the work does along directions in memory.

#include "planner/linear/coordinates.hpp"

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

constexpr int size = 6, low = 1;

// Returns a map from the frame's bits to memory that has an inverse.
Map drawn_map(Drawn& drawn) {
    Map out = units(size);
    for (int k = 0; k < 10; ++k) {
        const int target = drawn.bit();
        out[at(target)] ^= out[at(drawn.other(target))];
    }
    return out;
}

// Returns a state with what is at x at the image of x.
State mapped(const State& state, const Map& columns) {
    State out(state.size());
    for (Mask x = 0; x < state.size(); ++x) out[image(columns, x)] = state[x];
    return out;
}

}  // namespace

TEST_CASE("work on positions is the work along directions, and leaves each amplitude where the map back says") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, size);
        const FramedWork work(work_with_cx(drawn, 12), size, drawn.context, false);
        const Map before = drawn_map(drawn);
        Span tile(units(low));
        std::vector<Oriented> basis;
        std::size_t runs = 0;
        for (; runs < work.size(); ++runs) {  // as many pieces as have room
            const Framed& piece = work[runs];
            Span wider = tile;
            for (int k = 0; k < piece.piece.num_mixed; ++k) wider.add(image(before, work.directions(piece)[k]));
            if (wider.size() > 4) break;
            tile = wider;
            for (int k = 0; k < piece.piece.num_mixed; ++k)
                basis.push_back({image(before, work.directions(piece)[k]), work.rows(piece)[k]});
        }
        const State in_frame = drawn.state();
        Coordinates made(inverse(before), basis, low, 0, drawn.context);
        CHECK(count(made.tile) == tile.size());
        State expected = in_frame;
        for (std::size_t k = 0; k < runs; ++k) {
            made.place(work, work[k]);
            expected = framed(work, work[k], drawn.context, drawn.operands, expected);
        }
        const Map store = made.arrive(before, seed % 2);
        for (const Piece& piece : made.work) CHECK((piece.mixed.units & ~made.tile) == 0);
        const State on_positions = mapped(mapped(in_frame, before), inverse(made.load));
        const State after = applied(made.work, drawn.context, drawn.operands, on_positions);
        CHECK(distance(mapped(after, store), mapped(expected, before)) < near_enough);
    }
}
