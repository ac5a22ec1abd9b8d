// Tests of turns of wires that only rounding has made.

#include "planner/form/clusters/settled_turns.hpp"

#include "planner/form/clusters/naive_phases.test.hpp"

using namespace qx::form;

TEST_CASE("before a matrix nothing is left of a rest of rounding, and all of what is more") {
    for (const double rest : {1e-13, 3e-12, 1e-10, 1e-9}) {
        const double c = std::cos(rest), s = std::sin(rest);
        Pieces pieces(2, false);
        Piece block{Piece::block, 0b11, 0, 0, {{s, c, c, -s}, {c, -s, s, c}}, std::vector<Complex>(16, 0.25)};
        pieces.all.push_back(block);
        settle_turns(pieces);
        const std::vector<Matrix2>& found = pieces.all[0].before;
        CHECK((found[0] == operator_matrix(true, false)) == (rest < 1e-11));
        CHECK((found[1] == identity2) == (rest < 1e-11));
        CHECK((found[0] == block.before[0]) == (rest > 1e-11));
    }
}
