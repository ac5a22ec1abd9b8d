// Tests of matrices on four wires of which matrices of two wires each hide the zeros.

#include "planner/form/clusters/blocks/halves.hpp"

#include "planner/form/clusters/blocks/block.hpp"
#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;
using naive::applied, naive::drawn_turn, naive::Drawn, naive::State;

namespace {

constexpr int wires = 4;
constexpr std::size_t size = 1 << wires;

void put_parity(Pieces& to, Mask on, double angle, Drawn& drawn) {
    each(on, [&](int wire) { to.carried(wire) = drawn_turn(drawn) * to.carried(wire); });
    Piece piece{Piece::parity, on, angle};
    piece.before.assign(static_cast<std::size_t>(count(on)), identity2);
    to.put(std::move(piece), false);
}

// Puts a matrix of two wires, as three pieces between turns.
void put_half(Drawn& drawn, Mask on, Pieces& to) {
    for (int k = 0; k < 3; ++k) put_parity(to, on, drawn.angle(), drawn);
    each(on, [&](int wire) { to.carried(wire) = drawn_turn(drawn) * to.carried(wire); });
}

// Puts phases of all wires between phases of pairs and turns that undo each other: a matrix that reads all of them, in
// halves.
void put_phases(Drawn& drawn, Pieces& to) {
    for (int k = 0; k < 24; ++k) {
        Mask on = 0;
        while (count(on) < 2) on |= unit(static_cast<int>(drawn.below(wires)));
        Piece piece{Piece::parity, on, drawn.angle()};
        piece.before.assign(2, identity2);
        to.put(std::move(piece), false);
    }
}

Pieces between_halves(Drawn& drawn, Mask low) {
    Pieces out(wires, false);
    for (const Mask half : {low, below(wires) & ~low}) put_half(drawn, half, out);
    put_phases(drawn, out);
    for (const Mask half : {low, below(wires) & ~low}) put_half(drawn, half, out);
    return out;
}

// Puts pieces again, and turns among them.
void put_all(const std::vector<Piece>& pieces, Pieces& to) {
    for (const Piece& one : pieces) to.put(one, false);
}

// What a matrix in halves does to a state, as pieces.
State applied_to(const State& state, const Halves& found) {
    Pieces made(wires, false);
    for (std::size_t half = 0; half < 2; ++half) put_all(pieces_of(found.before[half], found.bits[half], made.phase), made);
    made.put({Piece::block, below(wires), 0, 0, {}, found.left}, false);
    for (std::size_t half = 0; half < 2; ++half) put_all(pieces_of(found.behind[half], found.bits[half], made.phase), made);
    return applied(made, state);
}

}  // namespace

TEST_CASE("a matrix of two wires is its pieces") {
    for (unsigned seed = 0; seed < 60; ++seed) {
        Drawn drawn(seed, 2);
        Pieces given(2, false);
        const std::uint64_t number = drawn.below(4);
        for (std::uint64_t k = 0; k < number; ++k)
            put_parity(given, 0b11, seed % 3 ? drawn.angle() : 1.5 * 3.14159265358979323846, drawn);
        Matrix4 matrix;
        for (std::size_t column = 0; column < 4; ++column) {
            State one(4);
            one[column] = 1;
            const State image = applied(given, one);
            for (std::size_t row = 0; row < 4; ++row) matrix[4 * row + column] = image[row];
        }
        Pieces made(2, false);
        put_all(pieces_of(matrix, 0b11, made.phase), made);
        CHECK(made.all.size() <= number);
        const State state = drawn.state();
        CHECK(naive::distance(applied(made, state), applied(given, state)) < 1e-10);
    }
}

TEST_CASE("matrices of two wires each that hide zeros are taken off, and are the rest of a matrix") {
    for (unsigned seed = 0; seed < 40; ++seed) {
        Drawn drawn(seed, wires);
        const Mask low = std::array<Mask, 3>{0b0011, 0b0101, 0b1001}[seed % 3];
        Pieces given = between_halves(drawn, low);
        const std::vector<Complex> matrix = naive::matrix_of(given);
        const Halves found = take_halves(matrix, low);
        CHECK(found.filled == size);
        const State state = drawn.state();
        CHECK(naive::distance(applied_to(state, found), naive::multiplied(matrix, state)) < 1e-9);
        CHECK(take_halves(matrix, low == 0b0011 ? 0b0101 : 0b0011).filled > 64);
    }
}

TEST_CASE("matrices of two wires are taken off where states are in none of what is left for them") {
    // A conference matrix: each of its states is in three of four others, and in them alike.
    constexpr std::array<std::array<double, 4>, 4> signs{{{0, 1, 1, 1}, {-1, 0, 1, -1}, {-1, -1, 0, 1}, {-1, 1, -1, 0}}};
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    Drawn drawn(1, wires);
    do {
        std::vector<Complex> matrix(size * size);
        for (std::size_t value = 0; value < size; ++value) {
            const Complex phase = std::polar(1.0, drawn.angle());
            for (std::size_t row = 0; row < size; ++row)
                for (std::size_t column = 0; column < size; ++column)
                    if (row >> 2 == value >> 2 && column >> 2 == value >> 2)
                        matrix[size * row + column] +=
                            phase * signs[order[row & 3]][value & 3] * signs[order[column & 3]][value & 3] / 3.0;
        }
        const Halves found = take_halves(matrix, 0b0011);
        CHECK(found.filled == size);
        const State state = drawn.state();
        CHECK(naive::distance(applied_to(state, found), naive::multiplied(matrix, state)) < 1e-9);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a block between matrices of two wires is put without those behind it, which are pieces of the cluster") {
    for (unsigned seed = 0; seed < 20; ++seed) {
        Drawn drawn(seed, wires);
        Pieces given = between_halves(drawn, 0b0011);
        while (given.all.size() < 48) put_parity(given, 0b0011, drawn.angle(), drawn);
        const State state = drawn.state(), whole = applied(given, state);
        Cluster cluster{0b1111, given.all};
        Pieces made(wires, false);
        std::size_t work = 0;
        const std::size_t put = put_block(cluster, wires, made, work);
        REQUIRE(put == given.all.size());
        const auto is_block = [](const Piece& one) { return one.kind == Piece::block; };
        REQUIRE(std::count_if(made.all.begin(), made.all.end(), is_block) == 1);
        const auto block = std::find_if(made.all.begin(), made.all.end(), is_block);
        CHECK(std::count_if(block->entries.begin(), block->entries.end(),
                            [](Complex one) { return std::abs(one) > 1e-11; }) == 16);
        CHECK(block + 1 == made.all.end());
        for (std::size_t k = put; k < cluster.pieces.size(); ++k) made.put(cluster.pieces[k], false);
        for (int wire = 0; wire < wires; ++wire) made.carried(wire) = given.carried(wire) * made.carried(wire);
        made.phase += given.phase;
        CHECK(naive::distance(applied(made, state), whole) < 1e-9);
    }
}
