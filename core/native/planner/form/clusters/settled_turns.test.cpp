// Tests of turns of wires that only rounding has made.

#include "planner/form/clusters/settled_turns.hpp"

#include <numbers>

#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;

TEST_CASE("before a matrix nothing is left of a rest of rounding, and all of what is more") {
    for (const double rest : {1e-13, 3e-12, 1e-10, 1e-9}) {
        const double c = std::cos(rest), s = std::sin(rest);
        Pieces pieces(2, false);
        Piece block{Piece::block, 0b11, 0, 0, {{s, c, c, -s}, {c, -s, s, c}}, std::vector<Complex>(16, 0.25)};
        pieces.all.push_back(block);
        settle_turns(pieces, {});
        const std::vector<Matrix2>& found = pieces.all[0].before;
        CHECK((found[0] == operator_matrix(true, false)) == (rest < 1e-11));
        CHECK((found[1] == identity2) == (rest < 1e-11));
        CHECK((found[0] == block.before[0]) == (rest > 1e-11));
    }
}

TEST_CASE("before a joint phase nothing is left of a rest that the numbers of all that was read may be off") {
    for (const double rounded : {0.0, 1e-11})
        for (const double rest : {3e-12, 3e-11}) {
            const double c = std::cos(rest), s = std::sin(rest);
            Pieces pieces(2, false);
            const Matrix2 first{c, -s, s, c};
            pieces.all.push_back({Piece::where, 0b11, std::numbers::pi, 0b11, {first, identity2}});
            settle_turns(pieces, {0, rounded, rounded});
            CHECK((pieces.all[0].before[0] == identity2) == (rest < rounded));
            CHECK((pieces.all[0].before[0] == first) == (rest > rounded));
            CHECK(pieces.carried(0) == identity2);
        }
}
