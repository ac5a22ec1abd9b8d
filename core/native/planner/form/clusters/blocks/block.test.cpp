// Tests of how few pieces may make a block.

#include "planner/form/clusters/blocks/block.hpp"

#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;
using naive::applied, naive::drawn_turn, naive::Drawn, naive::State;

namespace {

const double root = std::sqrt(0.5);
const Matrix2 h{root, root, root, -root}, h_of_y{root, {0, -root}, root, {0, root}};

void turn(Pieces& to, int wire, const Matrix2& by) { to.carried(wire) = by * to.carried(wire); }

void put_parity(Pieces& to, Mask on, double angle, const Matrix2& around) {
    each(on, [&](int wire) { turn(to, wire, around); });
    Piece piece{Piece::parity, on, angle};
    piece.before.assign(static_cast<std::size_t>(count(on)), identity2);
    to.put(std::move(piece), false);
    each(on, [&](int wire) { turn(to, wire, adjoint(around)); });
}

// Puts XX and YY by one angle.
void put_exchange(Pieces& to, Mask on, double angle) { put_parity(to, on, angle, h), put_parity(to, on, angle, h_of_y); }

std::size_t filled(const std::vector<Complex>& of) {
    return static_cast<std::size_t>(std::count_if(of.begin(), of.end(), [](Complex one) { return std::abs(one) > 1e-11; }));
}

// Puts a block of a cluster and what is left of that; returns how many pieces are the block.
std::size_t put_all(Pieces& given, Mask wires, Pieces& made) {
    Cluster cluster{wires, given.all};
    std::size_t work = 0;
    const std::size_t put = put_block(cluster, count(wires), true, made, work);
    for (std::size_t k = put; k < cluster.pieces.size(); ++k) made.put(cluster.pieces[k], false);
    each(wires, [&](int wire) { turn(made, wire, given.carried(wire)); });
    made.phase += given.phase;
    return put;
}

}  // namespace

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
