// Tests of phases in eighth turns, and of trial numbers, against the numbers that they stand for.

#include "planner/rewrite/controls/eighths.hpp"

#include "planner/naive.test.hpp"
#include "planner/rewrite/trial.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

Number turned_by(int turns) { return std::polar(1.0, 6.283185307179586 / 8 * turns); }

}  // namespace

TEST_CASE("eighths names each phase that is known by its eighth turns, and no other number") {
    int known = 0;
    for (int entry = zero; entry <= minus_three_eighths; ++entry) {
        const int turns = eighths(static_cast<char>(entry));
        if (turns < 0) continue;
        ++known;
        CHECK(std::abs(value_of(static_cast<char>(entry), 0) - turned_by(turns)) < near_enough);
    }
    CHECK(known == 8);
}

TEST_CASE("a matrix that is turned is an H between phases, and has the numbers of all phases that are made of it") {
    const char entries[] = {root_half, minus_root_half, imag_root_half, minus_imag_root_half};
    int found = 0;
    for (int k = 0; k < 256; ++k) {
        Drawn drawn(1, 1);
        const Piece piece =
            drawn.piece(Kind::mix, {0}, {}, {}, {entries[k & 3], entries[k >> 2 & 3], entries[k >> 4 & 3], entries[k >> 6]});
        CoefficientProgram program(static_cast<qx::Int>(drawn.operands.size()));
        Eighths rule(drawn.context, program);
        Number m[4];
        for (Index place = 0; place < 4; ++place) m[place] = drawn.operands[drawn.context.place(piece.source, place)];
        const bool unitary = std::abs(std::conj(m[0]) * m[1] + std::conj(m[2]) * m[3]) < near_enough;
        Turned out{};
        if (!rule.turned(piece, out)) continue;
        ++found;
        REQUIRE(unitary);
        const Number gamma = turned_by(out.gamma), alpha = turned_by(out.alpha), beta = turned_by(out.beta);
        const double root = std::sqrt(0.5);
        CHECK(std::abs(m[0] - gamma * root) < near_enough);
        CHECK(std::abs(m[1] - gamma * beta * root) < near_enough);
        CHECK(std::abs(m[2] - gamma * alpha * root) < near_enough);
        CHECK(std::abs(m[3] + gamma * alpha * beta * root) < near_enough);
        for (const int turns : {4, out.alpha, out.beta, out.gamma, out.gamma + out.alpha, out.gamma + out.beta}) {
            Piece phase;
            if (!rule.phases_of(piece, 1, 0, turns, phase)) continue;
            const State numbers = numbers_of(program, drawn.context, drawn.operands);
            CHECK(distance(applied(phase, drawn.context, numbers, {1, 1}), {1, turned_by(turns)}) < near_enough);
        }
    }
    CHECK(found == 20);
}

TEST_CASE("a phase undoes another one exactly if both do nothing together") {
    Drawn drawn(2, 2);
    CoefficientProgram program(10000);
    const Eighths rule(drawn.context, program);
    for (const char first : eighth_turns)
        for (const char second : eighth_turns)
            for (const char other : {static_cast<char>(one), second}) {
                const Piece phase = drawn.piece(Kind::diagonal, {}, {0b11}, {}, {other, first});
                const Piece then = drawn.piece(Kind::diagonal, {}, {0b11}, {}, {other, second});
                const State state = drawn.state();
                const bool nothing =
                    distance(applied({phase, then}, drawn.context, drawn.operands, state), state) < near_enough;
                CHECK(rule.undoes(then, phase) == nothing);
            }
}

TEST_CASE("a phase with a shift in place of a bit is the phase with that bit computed") {
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, 4);
        CoefficientProgram program(10000);
        Eighths rule(drawn.context, program);
        const Piece phase = drawn.phases(eighth_turns);
        const int bit = 0;
        const Shift shift{drawn.mask() & ~unit(bit), drawn.below(2) != 0};
        Piece made;
        const bool any = rule.in_place_of(phase, bit, shift, made);
        for (Mask x = 0; x < 16; x += 2) {  // the bit itself is not read any more
            const Mask value = is_odd(x & shift.mask) != shift.inverted;
            State before(16), after(16);
            before[x | value] = 1, after[x] = 1;
            const Number wanted = applied(phase, drawn.context, drawn.operands, before)[x | value];
            const Number found = any ? applied(made, drawn.context, drawn.operands, after)[x] : 1;
            CHECK(std::abs(wanted - found) < near_enough);
        }
        if (any) CHECK((made.touched & unit(bit)) == 0);
    }
}

TEST_CASE("products of trial numbers are products, up to their scale") {
    for (const int size : {2, 4})
        for (unsigned seed = 0; seed < 50; ++seed) {
            Drawn drawn(seed, 2);
            Trial left, right;
            for (int k = 0; k < size * size; ++k) {
                left.set(k, static_cast<char>(drawn.below(entry_classes)), static_cast<Index>(drawn.below(1000)));
                right.set(k, static_cast<char>(drawn.below(entry_classes)), static_cast<Index>(drawn.below(1000)));
            }
            Trial made = right;
            made.multiply(left, size);
            for (int draw = 0; draw < Trial::draws; ++draw) {
                Number expected[16], scale = 0;
                for (int row = 0; row < size; ++row)
                    for (int column = 0; column < size; ++column) {
                        Number sum = 0;
                        for (int k = 0; k < size; ++k)
                            sum += left.entry[draw][row * size + k] * right.entry[draw][k * size + column];
                        expected[row * size + column] = sum;
                        if (std::abs(made.entry[draw][row * size + column]) > 0.5)
                            scale = sum / made.entry[draw][row * size + column];
                    }
                const auto is_zero = [](Number number) { return std::abs(number) < near_enough; };
                if (std::all_of(expected, expected + size * size, is_zero)) continue;  // no product of unitary matrices
                CHECK(std::abs(scale) > 0);
                for (int k = 0; k < size * size; ++k)
                    CHECK(std::abs(expected[k] - scale * made.entry[draw][k]) < near_enough * std::abs(scale));
            }
        }
}

TEST_CASE("H times H leaves zeros beside the diagonal, which patterns of products do not show") {
    Patterns patterns;
    const char h[] = {root_half, root_half, root_half, minus_root_half};
    Trial one_h, made;
    for (int k = 0; k < 4; ++k) one_h.set(k, h[k], static_cast<Index>(k));
    made = one_h;
    made.multiply(one_h, 2);
    CHECK(made.is_known(4));
    const Index real_matrix = patterns.of({"\3\3\3\3", 4});
    CHECK(patterns[made.without_zeros(patterns.product(real_matrix, real_matrix, 2), 4, patterns)] ==
          Interned::Bytes("\3\0\0\3", 4));
}

TEST_CASE("trials are kept with as few numbers as there are, and come back as they were") {
    Trials kept;
    Trial two, four;
    for (int k = 0; k < 16; ++k) two.set(k, complex_, static_cast<Index>(k)), four.set(k, real, static_cast<Index>(k));
    const Index first = kept.put(two, 4), second = kept.put(four, 16);
    for (int draw = 0; draw < Trial::draws; ++draw) {
        for (int k = 0; k < 4; ++k) CHECK(kept.entry(first, 4, draw, k) == two.entry[draw][k]);
        for (int k = 0; k < 16; ++k) CHECK(kept.entry(second, 16, draw, k) == four.entry[draw][k]);
    }
    kept.drop(first, 4);
    CHECK(kept.put(four, 4) == first);
}
