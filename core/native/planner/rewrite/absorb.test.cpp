// Tests of what is left of instructions when SWAPs and Xs change the layout, against all of them applied on wires.

#include "planner/rewrite/absorb.hpp"

#include <algorithm>
#include <numeric>

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

constexpr int size = 5;

Shape shape_of(bool relabels) {
    Shape out{};
    out.registers = out.dense = 4, out.relabels = relabels;
    return out;
}

// Returns pieces on wires as the rows of a circuit; their numbers are operands.
Circuit circuit_of(const std::vector<Piece>& pieces, const PlanContext& context) {
    Circuit out;
    for (const Piece& piece : pieces) {
        out.rows.push_back({piece.source.first, piece.when, piece.pattern, 0, piece.num_reads, piece.num_mixed, Circuit::op,
                            piece.unitary});
        for (int k = 0; k < piece.num_mixed; ++k) out.mixes.push_back(static_cast<std::uint8_t>(context.bit(piece, k)));
        out.reads.insert(out.reads.end(), context.reads(piece), context.reads(piece) + piece.num_reads);
    }
    return out;
}

std::vector<Piece> absorbed(const std::vector<Piece>& pieces, Absorber& absorber, const PlanContext& context) {
    const Circuit circuit = circuit_of(pieces, context);
    std::vector<Piece> work;
    Piece piece;
    for (absorber.begin(circuit); !absorber.done();)
        if (absorber.next(piece)) work.push_back(piece);
    return work;
}

// Returns a state on wires as a layout stores it.
State stored(const State& state, const Layout& layout) {
    const State at_home = moved(state, layout.address);
    State out(state.size());
    for (Mask x = 0; x < state.size(); ++x) out[x ^ layout.flip] = at_home[x];
    return out;
}

// Y, which is an X and phases; the like on two wires is iSWAP.
Piece y(Drawn& drawn, int wire) { return drawn.piece(Kind::mix, {wire}, {}, {}, {zero, minus_unit_imag, unit_imag, zero}); }
Piece iswap(Drawn& drawn, int one_wire, int other) {
    return drawn.piece(
        Kind::mix, {one_wire, other}, {}, {},
        {one, zero, zero, zero, zero, zero, unit_imag, zero, zero, unit_imag, zero, zero, zero, zero, zero, one});
}

std::vector<Piece> drawn_instructions(Drawn& drawn, int count) {
    std::vector<Piece> out;
    for (int k = 0; k < count; ++k) {
        const int target = drawn.bit(), other = drawn.other(target);
        switch (drawn.below(7)) {
            case 0: out.push_back(drawn.cx(other, target, drawn.below(2))); break;
            case 1: out.push_back(drawn.swap(target, other)); break;
            case 2: out.push_back(drawn.x(target)); break;
            case 3: out.push_back(y(drawn, target)); break;
            case 4: out.push_back(iswap(drawn, target, other)); break;
            case 5: out.push_back(drawn.turn(target)); break;
            default: out.push_back(drawn.phases(any_phase));
        }
    }
    return out;
}

}  // namespace

TEST_CASE("work on index bits does what instructions do on wires, from any layout to the one in which it ends") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, size);
        const std::vector<Piece> pieces = drawn_instructions(drawn, 12);
        Layout start{std::vector<int>(size), drawn.mask()};
        std::iota(start.address.begin(), start.address.end(), 0);
        std::shuffle(start.address.begin(), start.address.end(), std::mt19937(seed));
        const State before = drawn.state(), expected = applied(pieces, drawn.context, drawn.operands, before);
        const Shape shape = shape_of(seed % 3 != 0);
        Absorber absorber(start, shape, 0, drawn.context);
        const std::vector<Piece> work = absorbed(pieces, absorber, drawn.context);
        const State found = applied(work, drawn.context, drawn.operands, stored(before, start));
        CHECK(distance(found, stored(expected, absorber.layout())) < near_enough);
        if (!shape.relabels) {
            CHECK(absorber.layout().address == start.address);
            CHECK(absorber.layout().flip == start.flip);
        }
    }
}

TEST_CASE("SWAP and X leave no work, Y and iSWAP leave phases, and none of them does where layouts stay") {
    for (const bool relabels : {true, false}) {
        Drawn drawn(1, size);
        const std::vector<Piece> pieces{drawn.swap(0, 3), drawn.x(1), y(drawn, 2), iswap(drawn, 0, 4)};
        const Shape shape = shape_of(relabels);
        Absorber absorber({{0, 1, 2, 3, 4}, 0}, shape, 0, drawn.context);
        const std::vector<Piece> work = absorbed(pieces, absorber, drawn.context);
        CHECK(work.size() == (relabels ? 2u : 4u));
        for (const Piece& piece : work) CHECK((piece.kind == Kind::diagonal) == relabels);
        CHECK(absorber.layout().address == (relabels ? std::vector{4, 1, 2, 0, 3} : std::vector{0, 1, 2, 3, 4}));
        CHECK(absorber.layout().flip == (relabels ? unit(1) | unit(2) : 0));
    }
}

TEST_CASE("identities leave no work, whether layouts change or stay") {
    for (const bool relabels : {true, false}) {
        Drawn drawn(1, size);
        const std::vector<char> one_wire{one, zero, zero, one};
        std::vector<char> two_wires(16, zero);
        for (std::size_t k = 0; k < 4; ++k) two_wires[5 * k] = one;
        const std::vector<Piece> pieces{drawn.piece(Kind::mix, {1}, {}, {}, one_wire), drawn.turn(0),
                                        drawn.piece(Kind::mix, {2, 4}, {}, {}, two_wires),
                                        drawn.piece(Kind::mix, {3}, {}, {unit(2), unit(2)}, one_wire)};
        const Shape shape = shape_of(relabels);
        Absorber absorber({{0, 1, 2, 3, 4}, 0}, shape, 0, drawn.context);
        const std::vector<Piece> work = absorbed(pieces, absorber, drawn.context);
        REQUIRE(work.size() == 1);
        CHECK(work[0].mixed.units == unit(0));
    }
}

TEST_CASE("nothing asks for bits that are 0 in all of the state: conditions are decided, and tables have one value") {
    for (unsigned seed = 0; seed < 100; ++seed) {
        Drawn drawn(seed, size);
        const std::vector<Piece> pieces = drawn_instructions(drawn, 8);
        const Mask zeros = drawn.mask();
        State before = drawn.state();
        for (Mask x = 0; x < before.size(); ++x)
            if (x & zeros) before[x] = 0;
        const State expected = applied(pieces, drawn.context, drawn.operands, before);
        const Layout start{{0, 1, 2, 3, 4}, 0};
        const Shape shape = shape_of(true);
        Absorber absorber(start, shape, zeros, drawn.context);
        const std::vector<Piece> work = absorbed(pieces, absorber, drawn.context);
        Mask still = zeros;
        for (const Piece& piece : work) {
            CHECK((piece.touched & ~piece.mixed.units & still) == 0);
            still &= ~piece.mixed.units;
        }
        const State found = applied(work, drawn.context, drawn.operands, before);
        CHECK(distance(found, stored(expected, absorber.layout())) < near_enough);
    }
}
