// Tests of turns of one qubit, against matrices on states.

#include "planner/form/gates/turn.hpp"

#include "planner/form/naive.test.hpp"

using namespace qx::form;
using namespace qx::form::naive;

namespace {

constexpr double half_pi = 1.57079632679489661923;

Turn drawn_clifford(Drawn& drawn) {
    Turn out;
    for (int k = 0; k < 6; ++k)
        out = Turn::about(static_cast<int>(drawn.below(3)), half_pi * static_cast<double>(drawn.below(8))) * out;
    return out;
}

}  // namespace

TEST_CASE("a turn is that of its matrix, and products of turns are those of matrices") {
    Drawn drawn(1, 1);
    const Pauli axes[] = {{1, 0}, {1, 1}, {0, 1}};
    for (int k = 0; k < 100; ++k) {
        Complex matrix[4];
        const int a = static_cast<int>(drawn.below(3)), b = static_cast<int>(drawn.below(3));
        const double one = drawn.angle(), other = drawn.angle(), shift = drawn.angle();
        for (std::size_t column = 0; column < 2; ++column) {
            State state(2);
            state[column] = std::polar(1.0, shift);
            state = rotated(axes[b], other, rotated(axes[a], one, state));
            for (std::size_t row = 0; row < 2; ++row) matrix[2 * row + column] = state[row];
        }
        double phase = 0;
        const Turn turn = Turn::of(matrix, phase), expected = Turn::about(b, other) * Turn::about(a, one);
        const Complex sign = std::polar(1.0, phase - shift);  // 1 or -1, as that of the turn
        CHECK(std::fabs(sign.imag()) < 1e-14);
        CHECK((sign.real() < 0 ? Turn{-turn.w, {-turn.v[0], -turn.v[1], -turn.v[2]}} : turn).distance(expected) < 1e-14);
    }
}

TEST_CASE("an angle is its quarter turns and a rest of at most an eighth turn") {
    Drawn drawn(2, 1);
    for (int k = 0; k < 1000; ++k) {
        const double angle = 10 * drawn.angle();
        const SplitAngle split = split_angle(angle, 1e-12);
        CHECK(std::fabs(split.rest) <= half_pi / 2);
        CHECK(Turn::about(0, angle).distance(Turn::about(0, split.quarters * half_pi + split.rest)) < 1e-14);
    }
    CHECK(split_angle(-half_pi / 2 + 1e-15, 1e-12).rest > 0);
    CHECK(split_angle(5 * half_pi - 1e-13, 1e-12).rest == 0);
    CHECK(split_angle(5 * half_pi - 1e-11, 1e-12).rest != 0);
}

TEST_CASE("a turn is three rotations and quarter turns, and fewer if it is a product of fewer") {
    Drawn drawn(3, 1);
    for (int k = 0; k < 3000; ++k) {
        const int most = static_cast<int>(drawn.below(4));
        Turn turn = drawn_clifford(drawn);
        int axis = -1;
        for (int j = 0; j < most; ++j) {
            const int other = static_cast<int>(drawn.below(3));
            if (other != axis) turn = Turn::about(axis = other, drawn.angle()) * turn;
        }
        turn = drawn_clifford(drawn) * turn;
        const int first = static_cast<int>(drawn.below(3));
        const Rotations found = fewest_rotations(turn, {first, (first + 1) % 3, (first + 2) % 3}, 1e-12);
        CHECK(found.num_generic <= most);
        CHECK(product(found).distance(turn) < 1e-12);
        for (int j = 0; j < found.num_generic; ++j) CHECK(std::fabs(found.generic[j].angle) <= half_pi / 2 + 1e-12);
    }
}

TEST_CASE("outer angles of a small turn that only rounding has made are gone") {
    for (const double small : {1e-2, 1e-4, 1e-8}) {
        const double off = 1e-16 / small;
        const Turn turn = Turn::about(2, half_pi + off) * Turn::about(0, small) * Turn::about(2, -half_pi - off + 1e-16);
        const Rotations found = fewest_rotations(turn, {2, 0, 1}, 1e-12);
        CHECK(found.num_generic == 1);
        CHECK(product(found).distance(turn) < 1e-14);
    }
}
