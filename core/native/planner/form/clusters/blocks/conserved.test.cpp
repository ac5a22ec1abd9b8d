// Tests of matrices of which turns of their wires hide the zeros, and of pieces that are one.

#include "planner/form/clusters/blocks/conserved.hpp"

#include "planner/form/clusters/blocks/block.hpp"
#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;
using naive::applied, naive::drawn_turn, naive::Drawn, naive::put_parity, naive::State;

namespace {

constexpr int wires = 4;
constexpr std::size_t size = 1 << wires;

const double root = std::sqrt(0.5);
const Matrix2 h{root, root, root, -root}, h_of_y{root, {0, -root}, root, {0, root}};

void turn(Pieces& to, int wire, const Matrix2& by) { to.carried(wire) = by * to.carried(wire); }

Mask two_of(Drawn& drawn, int from, int number) {
    const int one = static_cast<int>(drawn.below(static_cast<unsigned>(number)));
    const int other = (one + 1 + static_cast<int>(drawn.below(static_cast<unsigned>(number - 1)))) % number;
    return unit(from + one) | unit(from + other);
}

// Puts pieces that keep how many wires are 1, as many as make a block.
void put_particles(Drawn& drawn, Pieces& to) {
    for (int k = 0; k < 16; ++k) {
        const Mask on = two_of(drawn, 0, wires);
        const double angle = drawn.angle();
        put_parity(to, on, angle, h), put_parity(to, on, angle, h_of_y);
        put_parity(to, two_of(drawn, 0, wires), drawn.angle(), identity2);
    }
}

std::size_t zeros(const std::vector<Complex>& of) {
    return static_cast<std::size_t>(std::count_if(of.begin(), of.end(), [](Complex one) { return std::abs(one) < 1e-11; }));
}

}  // namespace

TEST_CASE("turns that hide zeros are taken off a matrix that keeps a number of particles, and are the rest of it") {
    for (unsigned seed = 0; seed < 50; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false);
        for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn_turn(drawn));
        put_particles(drawn, given);
        for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn_turn(drawn));
        const std::vector<Complex> matrix = naive::matrix_of(given);
        std::vector<Complex> left = matrix;
        const Turns found = take_turns(left, wires);
        CHECK(zeros(matrix) == 0);
        CHECK(zeros(left) == 256 - 70);  // two states of n particles are mixed alone
        State state = drawn.state();
        const State whole = naive::multiplied(matrix, state);
        for (int wire = 0; wire < wires; ++wire)
            state = naive::turned(state, wire, found.before[static_cast<std::size_t>(wire)]);
        state = naive::multiplied(left, state);
        for (int wire = 0; wire < wires; ++wire)
            state = naive::turned(state, wire, found.behind[static_cast<std::size_t>(wire)]);
        CHECK(naive::distance(state, whole) < 1e-9);
    }
}

TEST_CASE("a matrix that conserves nothing keeps its turns") {
    Drawn drawn(1, wires);
    Pieces given(wires, false);
    for (int k = 0; k < 40; ++k) put_parity(given, two_of(drawn, 0, wires), drawn.angle(), drawn_turn(drawn));
    std::vector<Complex> matrix = naive::matrix_of(given);
    const std::vector<Complex> before = matrix;
    take_turns(matrix, wires);
    CHECK(matrix == before);
}

TEST_CASE("pieces that keep a number of particles are a block without those at their end that do not") {
    for (unsigned seed = 0; seed < 30; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false);
        for (int wire = 0; wire < wires; ++wire) turn(given, wire, drawn_turn(drawn));
        put_particles(drawn, given);
        const std::size_t number = given.all.size();
        for (std::uint64_t left = drawn.below(3); left-- > 0;) put_parity(given, 0b0011, drawn.angle(), drawn_turn(drawn));
        for (std::uint64_t left = drawn.below(3); left-- > 0;) put_parity(given, 0b1100, drawn.angle(), drawn_turn(drawn));
        const State first = drawn.state(), whole = applied(given, first);
        Cluster cluster{0b1111, given.all};
        Pieces made(wires, false);
        std::size_t work = 0;
        const std::size_t put = put_block(cluster, wires, made, work);
        CHECK(put >= number);
        REQUIRE(made.all.size() == 1);
        CHECK(zeros(made.all[0].entries) == 256 - 70);
        for (std::size_t k = 0; k < size; ++k) CHECK(std::abs(made.all[0].entries[(size + 1) * k]) > 0);  // no flips left
        for (std::size_t k = put; k < cluster.pieces.size(); ++k) made.put(cluster.pieces[k], false);
        Pieces again(wires, false);  // as the next pass puts them
        for (const Piece& piece : made.all) again.put(piece, false);
        for (int wire = 0; wire < wires; ++wire) turn(again, wire, made.carried(wire));
        again.phase += made.phase;
        made = again;
        for (int wire = 0; wire < wires; ++wire) turn(made, wire, given.carried(wire));
        made.phase += given.phase;
        CHECK(naive::distance(applied(made, first), whole) < 1e-9);
    }
}

TEST_CASE("a block of which one wire is read takes pieces at its end on the others, too") {
    for (unsigned seed = 0; seed < 20; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given(wires, false);
        const auto put_on_three = [&](int pieces) {
            for (int k = 0; k < pieces; ++k) put_parity(given, two_of(drawn, 0, 3), drawn.angle(), drawn_turn(drawn));
        };
        for (int k = 0; k < 14; ++k) {  // the highest wire is read
            put_on_three(2);
            const int other = static_cast<int>(drawn.below(3));
            turn(given, other, drawn_turn(drawn));
            put_parity(given, unit(3) | unit(other), drawn.angle(), identity2);
        }
        put_on_three(16);
        Cluster cluster{0b1111, given.all};
        Pieces made(wires, false);
        std::size_t work = 0;
        CHECK(put_block(cluster, wires, made, work) == given.all.size());
        REQUIRE(made.all.size() == 1);
        CHECK(zeros(made.all[0].entries) == 128);
        for (int wire = 0; wire < wires; ++wire) turn(made, wire, given.carried(wire));
        made.phase += given.phase;
        const State first = drawn.state();
        CHECK(naive::distance(applied(made, first), applied(given, first)) < 1e-9);
    }
}
