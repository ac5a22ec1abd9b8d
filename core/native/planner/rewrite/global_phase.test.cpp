// Tests of the global phase, against the product of all factors.

#include "planner/rewrite/global_phase.hpp"

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

Piece factor(Drawn& drawn, char entry) { return drawn.piece(Kind::diagonal, {}, {}, {}, {entry}); }

// Checks that what is joined of some work does the same as all of it; returns what is left.
std::vector<Piece> same(Drawn& drawn, const std::vector<Piece>& work) {
    const State begin = drawn.state(), expected = applied(work, drawn.context, drawn.operands, begin);
    CoefficientProgram program(static_cast<qx::Int>(drawn.operands.size()));
    GlobalPhase phase;
    std::vector<Piece> left;
    for (const Piece& piece : work)
        if (!phase.takes(piece, drawn.context)) left.push_back(piece);
    phase.join(left, drawn.context, program);
    CHECK(distance(applied(left, drawn.context, numbers_of(program, drawn.context, drawn.operands), begin), expected) <
          near_enough);
    return left;
}

}  // namespace

TEST_CASE("any number of factors that touch no bit is one piece") {
    for (int count = 1; count < 20; ++count) {
        Drawn drawn(static_cast<unsigned>(count), 2);
        std::vector<Piece> work;
        for (int k = 0; k < count; ++k) work.push_back(factor(drawn, k % 3 ? complex_ : unit_imag));
        CHECK(same(drawn, work).size() == 1);
    }
}

TEST_CASE("pieces that touch bits stay, in their order") {
    Drawn drawn(1, 2);
    const std::vector<Piece> left = same(drawn, {factor(drawn, complex_), drawn.turn(1), factor(drawn, eighth),
                                                 drawn.phases(any_phase), factor(drawn, minus_one), drawn.h(0)});
    REQUIRE(left.size() == 4);
    CHECK(left[0].touched == 0);
    CHECK(left[1].touched == 0b10);
    CHECK(left[2].kind == Kind::diagonal);
    CHECK(left[3].touched == 0b01);
}

TEST_CASE("the phase stands behind steps that are no sweeps, if a sweep follows") {
    Drawn drawn(4, 2);
    Piece alone = drawn.turn(0);
    alone.kind = Kind::dense_matrix;
    const Piece turn = drawn.turn(1), phase = factor(drawn, complex_);
    for (const Piece& last : {turn, alone}) {
        CoefficientProgram program(static_cast<qx::Int>(drawn.operands.size()));
        GlobalPhase global;
        CHECK(global.takes(phase, drawn.context));
        std::vector<Piece> work{alone, last};
        global.join(work, drawn.context, program);
        REQUIRE(work.size() == 3);
        CHECK(work[last.in_a_sweep() ? 1 : 2].touched == 0);
    }
}

TEST_CASE("signs that are one together are nothing") {
    Drawn drawn(2, 2);
    CHECK(same(drawn, {factor(drawn, minus_one), drawn.turn(0), factor(drawn, minus_one)}).size() == 1);
    CHECK(same(drawn, {factor(drawn, minus_one), factor(drawn, minus_one), factor(drawn, minus_one)}).size() == 1);
}

TEST_CASE("phases that are made beside Euler angles are late factors") {
    Drawn drawn(3, 1);
    const Piece turn = drawn.turn(0), known = factor(drawn, complex_);
    CoefficientProgram program(static_cast<qx::Int>(drawn.operands.size()));
    GlobalPhase phase;
    const Index first = program.euler(turn.source).first + 6, then = program.euler(turn.source).first + 6;
    phase.take_late(first, 0);
    CHECK(phase.takes(known, drawn.context));
    phase.take_late(then, 0);
    std::vector<Piece> work;
    phase.join(work, drawn.context, program);
    REQUIRE(work.size() == 1);
    CHECK(program.early() == 0);
    const State numbers = numbers_of(program, drawn.context, drawn.operands);
    const Number made = numbers[drawn.context.place(work[0].source, 0)];
    CHECK(std::abs(made - numbers[first] * numbers[known.source.first] * numbers[then]) < near_enough);
}
