// Tests of pairs of CX that disappear, against the action of all work on states.

#include "planner/rewrite/cancel.hpp"

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

struct Cancelled {
    std::vector<Piece> work;
    std::vector<int> to;
};

Cancelled cancelled(const std::vector<Piece>& work, PlanContext& context, Rules rules) {
    Cancelled out;
    Canceller canceller(context, static_cast<qx::Int>(work.size()), rules);
    auto take = [&](const Piece& piece) { out.work.push_back(piece); };
    for (const Piece& piece : work) canceller.add(piece, take);
    while (!canceller.finish(3, take));
    out.to = canceller.to();
    return out;
}

std::size_t permutations(const std::vector<Piece>& work) {
    std::size_t found = 0;
    for (const Piece& piece : work) found += piece.kind == Kind::permute;
    return found;
}

// Checks that work does the same once pairs of CX are gone, but for bits that are exchanged; returns what is left.
Cancelled same(Drawn& drawn, const std::vector<Piece>& work, Rules rules = {}) {
    const State begin = drawn.state(), expected = applied(work, drawn.context, drawn.operands, begin);
    Cancelled out = cancelled(work, drawn.context, rules);
    CHECK(distance(applied(out.work, drawn.context, drawn.operands, begin), moved(expected, out.to)) < near_enough);
    return out;
}

}  // namespace

TEST_CASE("two equal CX around phases are gone, and the phases read parities") {
    Drawn drawn(1, 4);
    for (const bool value : {false, true}) {
        const Piece phase = drawn.piece(Kind::diagonal, {}, {0b0010, 0b0110}, {}, {one, complex_, complex_, complex_});
        Cancelled out = same(drawn, {drawn.cx(0, 1, value), phase, drawn.cx(0, 1, value)});
        CHECK(out.work.size() == 1);
        CHECK(drawn.context.reads(out.work[0])[0] == 0b0011);
        CHECK(drawn.context.reads(out.work[0])[1] == 0b0111);
    }
}

TEST_CASE("a phase under a condition on the target reads the parity instead") {
    Drawn drawn(2, 3);
    for (const bool value : {false, true})
        for (const bool wanted : {false, true}) {
            const When when{0b010, wanted ? Mask{0b010} : 0};
            const Piece phase = drawn.piece(Kind::diagonal, {}, {0b100}, when, {complex_, complex_});
            Cancelled out = same(drawn, {drawn.cx(0, 1, value), phase, drawn.cx(0, 1, value)});
            CHECK(out.work.size() == 1);
            CHECK(out.work[0].when.mask == 0);
        }
}

TEST_CASE("two CX in opposite directions become one and an exchange of the bits behind them") {
    Drawn drawn(3, 3);
    Cancelled out = same(drawn, {drawn.cx(0, 1), drawn.cx(1, 0), drawn.turn(0), drawn.turn(1)});
    CHECK(permutations(out.work) == 1);
    CHECK(out.to[0] == 1);
    CHECK(out.to[1] == 0);
    CHECK(out.to[2] == 2);
}

TEST_CASE("without the rule for it nothing is exchanged") {
    Drawn drawn(3, 3);
    Cancelled out = same(drawn, {drawn.cx(0, 1), drawn.cx(1, 0)}, Rules(unit(static_cast<int>(Rule::exchange))));
    CHECK(permutations(out.work) == 2);
    CHECK(out.to[0] == 0);
}

TEST_CASE("a matrix on the control or the target keeps a pair apart, one beside it does not") {
    Drawn drawn(4, 3);
    CHECK(permutations(same(drawn, {drawn.cx(0, 1), drawn.turn(0), drawn.cx(0, 1)}).work) == 2);
    CHECK(permutations(same(drawn, {drawn.cx(0, 1), drawn.turn(1), drawn.cx(0, 1)}).work) == 2);
    CHECK(permutations(same(drawn, {drawn.cx(0, 1), drawn.turn(2), drawn.cx(0, 1)}).work) == 0);
    CHECK(permutations(same(drawn, {drawn.cx(0, 1), drawn.cx(2, 1), drawn.cx(0, 1)}).work) == 1);
}

TEST_CASE("work that is drawn does the same without its pairs of CX") {
    std::size_t gone = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, 4);
        std::vector<Piece> work;
        for (int k = 0; k < 30; ++k) {
            const int target = drawn.bit(), kind = drawn.below(8);
            if (kind < 4) work.push_back(drawn.cx(drawn.other(target), target, drawn.below(3) > 0));
            else if (kind == 4) work.push_back(drawn.turn(target));
            else if (kind == 5) work.push_back(drawn.x(target));
            else work.push_back(drawn.phases(any_phase));
        }
        gone += permutations(work) - permutations(same(drawn, work).work);
    }
    CHECK(gone > 600);
}

TEST_CASE("a window that is shorter than the work changes what is found and never what is done") {
    const qx::Thresholds usual = qx::thresholds;
    for (const qx::Int window : {1, 2, 5}) {
        qx::thresholds.window = window;
        for (unsigned seed = 0; seed < 40; ++seed) {
            Drawn drawn(seed, 3);
            std::vector<Piece> work;
            for (int k = 0; k < 25; ++k) {
                const int target = drawn.bit();
                if (drawn.below(3)) work.push_back(drawn.cx(drawn.other(target), target));
                else work.push_back(drawn.phases(any_phase));
            }
            same(drawn, work);
        }
    }
    qx::thresholds = usual;
}
