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

std::vector<Piece> drawn_work(Drawn& drawn, int count) {
    std::vector<Piece> work;
    for (int k = 0; k < count; ++k) {
        const int target = drawn.bit();
        switch (drawn.below(4)) {
            case 0: work.push_back(drawn.cx(drawn.other(target), target, drawn.below(2))); break;
            case 1: work.push_back(drawn.turn(target)); break;
            case 2: work.push_back(drawn.x(target)); break;
            default: work.push_back(drawn.phases(any_phase));
        }
    }
    return work;
}

// Applies framed work to a state as it is in memory: bit k of a piece flips along a direction, and a parity says its value.
State framed(const FramedWork& work, const Framed& of, const Book& book, const State& numbers, const State& state) {
    State out(state.size());
    const Piece& piece = of.piece;
    for (Mask x = 0; x < state.size(); ++x) {
        bool holds = true;
        for (int k = 0; k < of.num_conditions; ++k)
            holds = holds && is_odd(work.conditions(of)[k] & x) == (of.values >> k & 1);
        if (!holds) {
            out[x] += state[x];
            continue;
        }
        Index block = 0, column = 0;
        const Index rows = static_cast<Index>(piece.size());
        for (int k = 0; k < piece.num_reads; ++k)
            block |= static_cast<Index>(is_odd(work.reads(of)[k] & x) != (of.read_flips >> k & 1)) << k;
        for (int k = 0; k < piece.num_mixed; ++k)
            column |= static_cast<Index>(is_odd(work.rows(of)[k] & x) != (of.flips >> k & 1)) << k;
        for (Index row = 0; row < rows; ++row) {
            Mask to = x;
            for (int k = 0; k < piece.num_mixed; ++k)
                if ((row ^ column) >> k & 1) to ^= work.directions(of)[k];
            const Index entry = (block * rows + row) * rows + column;
            Number factor = piece.kind == Kind::rename
                                ? Number(book.values[piece.to + column] == row)
                                : value_of(book.patterns[piece.pattern][entry], numbers[book.place(piece.source, entry)]);
            out[to] += factor * state[x];
        }
    }
    return out;
}

// The value of the work's bits at an index in memory.
Mask seen(const Frame& frame, Mask x) {
    Mask out = 0;
    for (int bit = 0; bit < size; ++bit) out |= Mask{is_odd(frame.parities[at(bit)] & x)} << bit;
    return out ^ frame.flip;
}

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
        const std::vector<Piece> work = drawn_work(drawn, 20);
        const State begin = drawn.state(), expected = applied(work, drawn.book, drawn.operands, begin);
        const FramedWork made(work, size, drawn.book, false);
        REQUIRE(made.fits());
        State state = begin;
        for (std::size_t k = 0; k < made.size(); ++k) {
            CHECK_FALSE(changes_frame(made[k].piece, drawn.book));
            state = framed(made, made[k], drawn.book, drawn.operands, state);
        }
        for (Mask x = 0; x < state.size(); ++x) CHECK(std::abs(state[x] - expected[seen(made.frame, x)]) < near);
    }
}

TEST_CASE("framed work of a new state leaves out what its zeros decide") {
    for (unsigned seed = 0; seed < 100; ++seed) {
        Drawn drawn(seed, size);
        const std::vector<Piece> work = drawn_work(drawn, 15);
        State state(std::size_t{1} << size);
        state[0] = 1;
        const State expected = applied(work, drawn.book, drawn.operands, state);
        const FramedWork made(work, size, drawn.book, true);
        REQUIRE(made.fits());
        for (std::size_t k = 0; k < made.size(); ++k) state = framed(made, made[k], drawn.book, drawn.operands, state);
        for (Mask x = 0; x < state.size(); ++x) CHECK(std::abs(state[x] - expected[seen(made.frame, x)]) < near);
    }
}

TEST_CASE("a frame that is turned back inverts no bit") {
    for (unsigned seed = 0; seed < 40; ++seed) {
        Drawn drawn(seed, size);
        const std::vector<Piece> work = drawn_work(drawn, 12);
        State state = drawn.state();
        const State expected = applied(work, drawn.book, drawn.operands, state);
        FramedWork made(work, size, drawn.book, false);
        made.turn_back(drawn.book);
        CHECK(made.frame.flip == 0);
        for (std::size_t k = 0; k < made.size(); ++k) state = framed(made, made[k], drawn.book, drawn.operands, state);
        for (Mask x = 0; x < state.size(); ++x) CHECK(std::abs(state[x] - expected[seen(made.frame, x)]) < near);
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
