// Tests of H with known phases between them that become X under conditions, against the action of all work on states.

#include "planner/rewrite/controls/controls.hpp"

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

// Checks that work does the same after the rule; returns what it made of it.
std::vector<Piece> same(Drawn& drawn, const std::vector<Piece>& work, Rules rules = {}) {
    const State begin = drawn.state(), expected = applied(work, drawn.context, drawn.operands, begin);
    std::vector<Piece> out;
    CoefficientProgram program(static_cast<qx::Int>(drawn.operands.size()));
    Controls controls(drawn.context, program, static_cast<qx::Int>(work.size()), rules);
    auto take = [&](const Piece& piece) { out.push_back(piece); };
    for (const Piece& piece : work) controls.add(piece, take);
    while (!controls.finish(2, take));
    const State numbers = numbers_of(program, drawn.context, drawn.operands);
    CHECK(distance(applied(out, drawn.context, numbers, begin), expected) < near_enough);
    return out;
}

std::size_t mixes(const std::vector<Piece>& work) {
    std::size_t found = 0;
    for (const Piece& piece : work) found += piece.kind == Kind::mix;
    return found;
}

Piece cz(Drawn& drawn, Mask bits) { return drawn.piece(Kind::diagonal, {}, {}, {bits, bits}, {minus_one}); }

}  // namespace

TEST_CASE("H and CZ and H are a CX, with two controls as well") {
    Drawn drawn(1, 4);
    for (const Mask others : {Mask{0b0010}, Mask{0b0110}, Mask{0b1110}}) {
        const std::vector<Piece> out = same(drawn, {drawn.h(0), cz(drawn, others | 1), drawn.h(0)});
        REQUIRE(out.size() == 1);
        CHECK(out[0].kind == Kind::permute);
        CHECK(out[0].when.mask == others);
        CHECK(out[0].when.value == others);
    }
}

TEST_CASE("two H with nothing between them are nothing") {
    Drawn drawn(2, 3);
    CHECK(same(drawn, {drawn.h(1), drawn.h(1)}).empty());
    CHECK(same(drawn, {drawn.h(1), drawn.turn(0), drawn.h(1)}).size() == 1);
}

TEST_CASE("H around an eighth turn of the bit stays, around a half turn it is an X") {
    Drawn drawn(3, 2);
    const Piece eighth_turn = drawn.piece(Kind::diagonal, {}, {1}, {}, {one, eighth});
    CHECK(mixes(same(drawn, {drawn.h(0), eighth_turn, drawn.h(0)})) == 2);
    const Piece half_turn = drawn.piece(Kind::diagonal, {}, {1}, {}, {one, minus_one});
    CHECK(mixes(same(drawn, {drawn.h(0), half_turn, drawn.h(0)})) == 0);
}

TEST_CASE("a matrix that is not known keeps two H apart") {
    Drawn drawn(4, 2);
    CHECK(mixes(same(drawn, {drawn.h(0), drawn.turn(0), drawn.h(0)})) == 3);
    const Piece phase = drawn.piece(Kind::diagonal, {}, {1}, {}, {one, complex_});
    CHECK(mixes(same(drawn, {drawn.h(0), phase, drawn.h(0)})) == 2);
}

TEST_CASE("the decomposition of a Toffoli gate in H, T and CX loses its H") {
    Drawn drawn(5, 3);
    auto t = [&](int bit, char by) { return drawn.piece(Kind::diagonal, {}, {unit(bit)}, {}, {one, by}); };
    const std::vector<Piece> out =
        same(drawn, {drawn.h(2), drawn.cx(1, 2), t(2, minus_eighth), drawn.cx(0, 2), t(2, eighth), drawn.cx(1, 2),
                     t(2, minus_eighth), drawn.cx(0, 2), t(1, eighth), t(2, eighth), drawn.h(2), drawn.cx(0, 1),
                     t(0, eighth), t(1, minus_eighth), drawn.cx(0, 1)});
    CHECK(mixes(out) == 0);
}

TEST_CASE("circuits in H, phases of eighth turns, X and CX that are drawn do the same") {
    std::size_t gone = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, 4);
        std::vector<Piece> work;
        for (int k = 0; k < 30; ++k) {
            const int target = drawn.bit(), kind = drawn.below(10);
            if (kind < 4) work.push_back(drawn.h(target));
            else if (kind < 6) work.push_back(drawn.cx(drawn.other(target), target, drawn.below(2)));
            else if (kind == 6) work.push_back(drawn.x(target));
            else if (kind == 7) work.push_back(drawn.turn(target));
            else work.push_back(drawn.phases(eighth_turns));
        }
        gone += mixes(work) - mixes(same(drawn, work));
    }
    CHECK(gone > 100);
}

TEST_CASE("short windows and few parities change what is found and never what is done") {
    const qx::Thresholds usual = qx::thresholds;
    for (const qx::Int size : {1, 2, 3}) {
        qx::thresholds.window = 2 * size, qx::thresholds.parities = size - 1, qx::thresholds.looked_at = 2 * size;
        for (unsigned seed = 0; seed < 40; ++seed) {
            Drawn drawn(seed, 3);
            std::vector<Piece> work;
            for (int k = 0; k < 20; ++k) {
                if (drawn.below(2)) work.push_back(drawn.h(drawn.bit()));
                else work.push_back(drawn.phases(eighth_turns));
            }
            same(drawn, work, Rules(drawn.mask() << static_cast<int>(Rule::settle)));
        }
    }
    qx::thresholds = usual;
}
