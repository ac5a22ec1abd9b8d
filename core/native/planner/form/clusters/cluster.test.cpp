// Tests of which pieces of a cluster may come last.

#include "planner/form/clusters/cluster.hpp"

#include "planner/form/clusters/naive_phases.test.hpp"
#include "planner/form/clusters/order/piece_order.hpp"

using namespace qx::form;
using naive::drawn_turn;

namespace {

Piece joint(Mask wires, Index number = 0) {
    Piece out{Piece::parity, wires};
    out.number = number;
    return out;
}

}  // namespace

TEST_CASE("pieces that come last are on wires ahead, or on two alone, and pass none that shares a wire") {
    constexpr Mask ahead = 0b1111;
    std::size_t moved = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        naive::Drawn drawn(seed, 6);
        std::vector<Piece> given;
        while (given.size() < 12)
            if (const Mask on = drawn.below(64); count(on) == 2 || count(on) == 3) given.push_back(joint(on, given.size()));
        std::vector<Piece> found = given;
        const std::size_t first = put_last(found, ahead);
        REQUIRE(found.size() == given.size());
        moved += first < found.size();
        for (std::size_t k = 0; k < found.size(); ++k) {
            CHECK(found[k].wires == given[found[k].number].wires);
            CHECK((k < first || count(found[k].wires) == 2 || !(found[k].wires & ~ahead)));
            for (std::size_t j = k + 1; j < found.size(); ++j)
                CHECK((!(found[k].wires & found[j].wires) || found[k].number < found[j].number));
        }
    }
    CHECK(moved > 100);
}

TEST_CASE("all of what comes next comes last, with pairs alone on their wires; all are first where none would be") {
    std::vector<Piece> pieces{joint(0b11), joint(0b110000), joint(0b110), joint(0b1100000), joint(0b1100)};
    CHECK(put_last(pieces, 0b1110) == 2);
    CHECK(pieces[0].wires == 0b11);
    CHECK(pieces[1].wires == 0b110000);
    CHECK(pieces[3].wires == 0b1100000);
    std::vector<Piece> pairs{joint(0b11), joint(0b1100), joint(0b11)};
    CHECK(put_last(pairs, 0) == 3);
}

TEST_CASE("wires ahead are those of pieces on few wires, until one that shares a wire is on too many") {
    const std::vector<Piece> pieces{joint(0b11),   joint(0b110000), joint(0b110),
                                    joint(0b1100), joint(0b11000),  joint(0b1000001)};
    CHECK(wires_ahead(pieces, 0, 0b1, 4) == 0b1111);
    CHECK(wires_ahead(pieces, 1, 0b1, 4) == 0b1000001);
    CHECK(wires_ahead(pieces, 6, 0b1, 4) == 0b1);
}

TEST_CASE("signs where other wires are 1 are given up as one phase by what they do there, before all of them is known") {
    naive::Drawn drawn(3, 5);
    Cluster of;
    of.wires = 0b11111;
    for (int k = 0; k < 40; ++k) {
        const Mask wires = k % 2 ? 0b10011 : 0b11100;
        of.pieces.push_back({Piece::where, wires, 3.14159265358979323846, wires & 0b1111});
        for (int wire = 0; wire < 3; ++wire) of.pieces.back().before.push_back(wire < 2 ? identity2 : drawn_turn(drawn));
    }
    std::size_t work = 0;
    CHECK(find_whole(of, work).pieces == 0);
    CHECK(work < 8000);  // 15,000 if those wires are 0
}
