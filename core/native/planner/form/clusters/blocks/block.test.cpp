// Tests of which pieces are a block: those at its end that are left to what comes next, and how few may make one.

#include "planner/form/clusters/blocks/block.hpp"

#include "planner/form/clusters/blocks/conserved.hpp"
#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;
using naive::applied, naive::drawn_turn, naive::Drawn, naive::put_parity, naive::State;

namespace {

const double root = std::sqrt(0.5);
const Matrix2 h{root, root, root, -root}, h_of_y{root, {0, -root}, root, {0, root}};

void turn(Pieces& to, int wire, const Matrix2& by) { to.carried(wire) = by * to.carried(wire); }

// Puts XX and YY by one angle.
void put_exchange(Pieces& to, Mask on, double angle) { put_parity(to, on, angle, h), put_parity(to, on, angle, h_of_y); }

// Puts pieces that keep the spin of three wires, as many as make a block: XX, YY and ZZ about any three axes.
void put_spins(Drawn& drawn, Pieces& to) {
    for (int k = 0; k < 5; ++k)
        for (const Mask on : {0b011, 0b110, 0b101}) {
            const double angle = drawn.angle();
            const Matrix2 any = drawn_turn(drawn);
            for (const Matrix2& axis : {h, h_of_y, identity2}) put_parity(to, on, angle, axis * any);
        }
}

std::size_t filled(const std::vector<Complex>& of) {
    return static_cast<std::size_t>(std::count_if(of.begin(), of.end(), [](Complex one) { return std::abs(one) > 1e-11; }));
}

// Puts a block of a cluster and what is left of that; returns how many pieces are the block.
std::size_t put_all(Pieces& given, Mask wires, Pieces& made) {
    Cluster cluster{wires, given.all};
    std::size_t work = 0;
    const std::size_t put = put_block(cluster, count(wires), made, work);
    for (std::size_t k = put; k < cluster.pieces.size(); ++k) made.put(cluster.pieces[k], false);
    each(wires, [&](int wire) { turn(made, wire, given.carried(wire)); });
    made.phase += given.phase;
    return put;
}

}  // namespace

TEST_CASE("where spins are kept about any axis, that about Z is taken, without what rounding leaves") {
    for (unsigned seed = 0; seed < 20; ++seed) {
        Drawn drawn(seed, 3);
        Pieces given(3, false);
        put_spins(drawn, given);
        std::vector<Complex> matrix = naive::matrix_of(given);
        const Turns found = take_turns(matrix, 3);
        CHECK(filled(matrix) == 20);
        for (const Matrix2& one : found.before) CHECK(std::abs(one[1]) < 1e-11);
        for (const Matrix2& one : found.behind) CHECK(std::abs(one[1]) < 1e-11);
    }
}

TEST_CASE("a block on three wires leaves pieces at its end on two of them that fill its zeros") {
    for (unsigned seed = 0; seed < 20; ++seed) {
        Drawn drawn(seed, 3);
        Pieces given(3, false);
        for (int wire = 0; wire < 3; ++wire) turn(given, wire, drawn_turn(drawn));
        put_spins(drawn, given);
        const std::size_t number = given.all.size();
        for (int k = 0; k < 2; ++k) turn(given, 1, drawn_turn(drawn)), put_parity(given, 0b110, drawn.angle(), h);
        Pieces made(3, false);
        CHECK(put_all(given, 0b111, made) == number);
        REQUIRE(made.all.size() == 3);
        CHECK(filled(made.all[0].entries) == 20);
        const State state = drawn.state();
        CHECK(naive::distance(applied(made, state), applied(given, state)) < 1e-9);
    }
}

TEST_CASE("few pieces are a block on four wires if it has few entries, and not if it has more, or pairs count as one") {
    for (unsigned seed = 0; seed < 20; ++seed) {
        Drawn drawn(seed, 4);
        for (const bool crosses : {false, true})
            for (const Mask between : {0b0011, 0b0101}) {
                Pieces given(4, false);
                for (int k = 0; k < 5; ++k) {
                    put_exchange(given, 0b0101, drawn.angle()), put_exchange(given, 0b1010, drawn.angle());
                    put_parity(given, between, drawn.angle(), identity2);
                    if (crosses) put_exchange(given, 0b1001, drawn.angle());
                    else put_parity(given, 0b1001, drawn.angle(), identity2);
                }
                Pieces made(4, false);
                const std::size_t put = put_all(given, 0b1111, made);
                CHECK(put == (crosses || between == 0b0101 ? 0 : given.all.size()));
                if (put) CHECK(filled(made.all[0].entries) == 36);
                const State state = drawn.state();
                CHECK(naive::distance(applied(made, state), applied(given, state)) < 1e-9);
            }
    }
}
