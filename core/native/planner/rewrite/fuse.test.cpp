// Tests of merging, of joined runs, and of phases and rotations that are drawn out of matrices, against the action of all
// work on states.

#include "planner/rewrite/fuse.hpp"

#include "planner/naive.test.hpp"
#include "planner/rewrite/rotate.hpp"
#include "planner/rewrite/runs.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

// Work as it is drawn, and what becomes of it step by step.
struct Rewritten {
    Rewritten(Drawn& drawn, const std::vector<Piece>& work, double item_work, Rules rules = {})
        : drawn(drawn), program(static_cast<qx::Int>(drawn.operands.size())), rules(rules), item_work(item_work),
          begin(drawn.state()), expected(applied(work, drawn.context, drawn.operands, begin)) {
        Fuser fuser(drawn.context, program, trials, item_work, rules);
        for (const Piece& piece : work) fuser.add(piece);
        pieces = fuser.finish();
    }
    void join() {
        RunJoiner joiner(std::move(pieces), drawn.context, program, trials, item_work, rules);
        while (joiner.advance());
        pieces = joiner.finish();
    }
    void gather() { pieces = qx::plan::gather(std::move(pieces), drawn.context, program); }
    void rotate() {
        GlobalPhase global;
        pieces = qx::plan::rotate(std::move(pieces), drawn.context, program, trials, global, rules);
        global.join(pieces, drawn.context, program);
    }
    double error() const {
        return distance(applied(pieces, drawn.context, numbers_of(program, drawn.context, drawn.operands), begin), expected);
    }
    double work() const {
        double sum = 0;
        for (const Piece& piece : pieces) sum += work_of(piece, drawn.context) + item_work;
        return sum;
    }

    Drawn& drawn;
    CoefficientProgram program;
    Trials trials;
    Rules rules;
    double item_work;
    State begin, expected;
    std::vector<Piece> pieces;
};

std::vector<Piece> dense_work(Drawn& drawn, int size, int num_kinds) {
    std::vector<Piece> work;
    for (int k = 0; k < size; ++k) {
        const int target = drawn.bit();
        switch (drawn.below(num_kinds)) {
            case 0: work.push_back(drawn_cx(drawn, target)); break;
            case 1:
            case 2: work.push_back(drawn.turn(target)); break;
            case 3: work.push_back(drawn.phases(any_phase)); break;
            case 4: work.push_back(drawn.h(target)); break;
            case 5: work.push_back(drawn.phases(eighth_turns)); break;
            case 6: work.push_back(drawn.x(target)); break;
            default: work.push_back(drawn.swap(target, drawn.other(target)));
        }
    }
    return work;
}

}  // namespace

TEST_CASE("matrices on one bit that follow each other become one, their product") {
    Drawn drawn(1, 2);
    Rewritten made(drawn, {drawn.turn(0), drawn.turn(1), drawn.turn(0), drawn.turn(0)}, 0);
    CHECK(made.pieces.size() == 2);
    CHECK(made.error() < near_enough);
}

TEST_CASE("what commutes on other bits does not keep neighbours apart, what stands between them does") {
    Drawn drawn(2, 3);
    Rewritten beside(drawn, {drawn.turn(0), drawn.cx(1, 2), drawn.turn(0)}, 0);
    CHECK(beside.pieces.size() == 2);
    Drawn other(3, 4);
    const Piece wide = other.piece(Kind::diagonal, {}, {0b0111}, {}, {one, complex_});
    Rewritten between(other, {other.turn(0), wide, other.turn(0)}, 0);
    CHECK(between.pieces.size() == 3);
    CHECK(between.error() < near_enough);
}

TEST_CASE("a product is made only if it costs no more than its factors") {
    for (unsigned seed = 0; seed < 120; ++seed) {
        Drawn drawn(seed, 4);
        const std::vector<Piece> work = dense_work(drawn, 25, 8);
        double before = 0;
        for (Piece piece : work) {
            piece.pattern = drawn.context.patterns.plain(piece.pattern);
            before += work_of(piece, drawn.context) + 1;
        }
        Rewritten made(drawn, work, 1);
        CHECK(made.error() < near_enough);
        CHECK(made.work() <= before);
        CHECK(made.pieces.size() <= work.size());
    }
}

TEST_CASE("pieces are numbered in their order") {
    Drawn drawn(4, 3);
    Rewritten made(drawn, dense_work(drawn, 20, 8), 0);
    number_pieces(made.pieces, drawn.context);
    for (std::size_t k = 0; k < made.pieces.size(); ++k) CHECK(made.pieces[k].order == k);
}

TEST_CASE("three CX with matrices between them become one matrix on two bits") {
    Drawn drawn(5, 3);
    std::vector<Piece> work;
    for (int k = 0; k < 3; ++k)
        for (const Piece& piece : {drawn.turn(0), drawn.turn(1), drawn.cx(0, 1)}) work.push_back(piece);
    work.push_back(drawn.turn(0)), work.push_back(drawn.turn(1));
    Rewritten made(drawn, work, 1);
    made.join();
    CHECK(made.error() < near_enough);
    REQUIRE(made.pieces.size() == 1);
    CHECK(made.pieces[0].touched == 0b011);
}

TEST_CASE("runs that are joined do the same as the work that was drawn") {
    for (unsigned seed = 0; seed < 120; ++seed) {
        Drawn drawn(seed, 3);
        Rewritten made(drawn, dense_work(drawn, 40, 8), 1);
        const double before = made.work();
        made.join();
        CHECK(made.error() < near_enough);
        CHECK(made.work() <= before);
    }
}

TEST_CASE("phases that are gathered, and matrices that are split, do the same") {
    for (unsigned seed = 0; seed < 120; ++seed)
        for (const bool cheap : {false, true}) {
            Drawn drawn(seed, 3);
            Rewritten made(drawn, dense_work(drawn, 25, 7), cheap ? 0 : 4);
            if (seed % 2) made.join();
            made.gather();
            CHECK(made.error() < near_enough);
            if (!cheap) continue;
            made.rotate();
            CHECK(made.error() < near_enough);
        }
}

TEST_CASE("whatever rules are left out, work does the same") {
    for (unsigned seed = 0; seed < 120; ++seed) {
        Drawn drawn(seed, 3);
        const std::vector<Piece> work = dense_work(drawn, 30, 8);
        const Mask left_out = static_cast<Mask>(drawn.below(1 << 16)) << 4;
        Rewritten made(drawn, work, 1, Rules(left_out));
        made.join();
        made.gather();
        made.rotate();
        CHECK(made.error() < near_enough);
    }
}

TEST_CASE("a complex matrix on one bit becomes a real rotation between phases") {
    Drawn drawn(6, 2);
    Rewritten made(drawn, {drawn.turn(0)}, 0);
    REQUIRE(splits(made.pieces[0], drawn.context));
    made.rotate();
    CHECK(made.error() < near_enough);
    std::size_t complex_matrices = 0, rotations = 0;
    for (const Piece& piece : made.pieces) {
        if (piece.kind != Kind::mix) continue;
        const Interned::Bytes of = drawn.context.patterns[piece.pattern];
        ++(of.find(complex_) == Interned::Bytes::npos ? rotations : complex_matrices);
    }
    CHECK(complex_matrices == 0);
    CHECK(rotations == 1);
}

TEST_CASE("phases that read the same parities become one") {
    Drawn drawn(7, 3);
    auto phase = [&](Mask read) { return drawn.piece(Kind::diagonal, {}, {read}, {}, {one, complex_}); };
    Rewritten made(drawn, {phase(0b111), phase(0b101), phase(0b111), drawn.turn(1), phase(0b101)}, 0);
    const std::size_t before = made.pieces.size();
    made.gather();
    CHECK(made.error() < near_enough);
    CHECK(made.pieces.size() < before);
}

TEST_CASE("work_of counts a condition by the share of amplitudes at which it holds") {
    Drawn drawn(8, 4);
    const Piece whole = drawn.turn(0);
    Piece half = whole, quarter = whole;
    half.when = {0b10, 0b10}, quarter.when = {0b110, 0b010};
    CHECK(work_of(half, drawn.context) == work_of(whole, drawn.context) / 2);
    CHECK(work_of(quarter, drawn.context) == work_of(whole, drawn.context) / 4);
    CHECK(work_of(drawn.cx(0, 1), drawn.context) == 0);
}

TEST_CASE("joined labels name each label once, the latest first, and end in an ellipsis where they are long") {
    PlanContext context;
    const Index empty = context.labels.of({}), h = context.labels.of("h"), cx = context.labels.of("cx");
    CHECK(context.labels[joined_label({h, cx, h, empty}, context)] ==
          "h\xc2\xb7"
          "cx");
    const Index wide = context.labels.of("0123456789012345678901234567890123456789");
    CHECK(context.labels[joined_label({wide}, context)] == context.labels[wide]);
    const Interned::Bytes cut = context.labels[joined_label({h, wide}, context)];
    CHECK(cut.substr(cut.size() - 3) == "\xe2\x80\xa6");
    CHECK(cut.substr(0, 39) == context.labels[wide].substr(0, 39));
}
