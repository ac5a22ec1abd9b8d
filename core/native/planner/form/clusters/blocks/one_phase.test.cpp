// Tests of many pieces that are one phase.

#include "planner/form/clusters/blocks/one_phase.hpp"

#include <numbers>

#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;

namespace {

// Puts a phase where some wires are 1 as phases of two wires each.
void put_phase(Pieces& to, Mask wires, double angle) {
    const auto put_two = [&](Mask both, double by) {
        to.put({Piece::where, both, by, both, {identity2, identity2}}, false);
    };
    if (count(wires) == 2) return put_two(wires, angle);
    const Mask target = unit(highest(wires)), rest = wires & ~target, last = unit(highest(rest));
    const Matrix2 h = to_z(true, false);
    const auto flip = [&] {
        Matrix2& own = to.carried(highest(rest));
        own = h * own;
        put_phase(to, rest, std::numbers::pi);
        own = h * own;
    };
    put_two(last | target, angle / 2), flip();
    put_two(last | target, -angle / 2), flip();
    put_phase(to, wires & ~last, angle / 2);
}

}  // namespace

TEST_CASE("a phase under four controls or five is one again, whatever 53 or 161 pieces it was, between turns of its wires") {
    for (const int wires : {5, 6}) {
        naive::Drawn drawn(static_cast<unsigned>(wires), wires);
        Pieces given(wires, false), made(wires, false);
        const auto turn = [&] {
            for (int wire = 0; wire < wires; ++wire) given.carried(wire) = naive::drawn_turn(drawn) * given.carried(wire);
        };
        turn(), put_phase(given, below(wires), 0.7), turn();
        REQUIRE(given.all.size() == (wires == 5 ? 53 : 161));
        const Cluster of{below(wires), given.all};
        std::size_t work = 0;
        const Beginning found = find_phase(of, work);
        REQUIRE(found.pieces == given.all.size());
        CHECK(found.phases.joint.size() == 1);
        put_phases(of, found, made);
        for (int wire = 0; wire < wires; ++wire)
            made.carried(wire) = given.carried()[static_cast<std::size_t>(wire)] * made.carried(wire);
        made.phase += given.phase;
        const naive::State state = drawn.state();
        CHECK(naive::distance(naive::applied(made, state), naive::applied(given, state)) < 1e-9);
    }
}

TEST_CASE("of a phase under four controls less is one phase where a piece is missing, and what comes behind is left out") {
    Pieces given(5, false);
    put_phase(given, below(5), 0.7), given.carried(4) = to_z(true, false) * given.carried(4);
    for (int k = 0; k < 6; ++k) put_phase(given, 0b11000, 0.4);
    std::size_t work = 0;
    CHECK(find_phase({below(5), given.all}, work).pieces == 53);
    given.all.erase(given.all.begin());
    CHECK(find_phase({below(5), given.all}, work).pieces < 53);
}

TEST_CASE("pieces that come next are taken on the same wires and few more, unless others are there before") {
    const auto joint = [](Mask wires) {
        return Piece{Piece::where, wires, 1, wires, std::vector<Matrix2>(static_cast<std::size_t>(count(wires)), identity2)};
    };
    std::vector<Piece> given;
    for (const Mask wires : {0b11, 0b110, 0b11000, 0b10010, 0b1100000, 0b101, 0b1000001}) given.push_back(joint(wires));
    const LongCluster made({0b11, {given[0]}}, given, 1, 0b1000000000);
    CHECK(made.taken == std::vector<std::size_t>{1, 5});  // wires 3 to 6 have others before
    CHECK(made.of.wires == 0b111);
    CHECK(LongCluster({0b11, {given[0]}}, given, 1, 0b100).taken.empty());
}
