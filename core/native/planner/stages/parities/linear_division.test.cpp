// Tests of divisions with far parities: how often a division moves the state, and where far parities are looked for.

#include "planner/stages/parities/linear_division.hpp"

#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

constexpr int size = 7;

Division of_portions(const std::vector<std::vector<Mask>>& needs) {
    Division out;
    for (const std::vector<Mask>& portions : needs) {
        out.passes.emplace_back();
        for (Mask bits : portions) out.passes.back().push_back({{}, bits, {}});
    }
    return out;
}

}  // namespace

TEST_CASE("a division has a motion for each stage, and one more if the first one needs bits that are away and not zero") {
    const Levels levels{4, 3, 1, 0, false, {}};
    const Division at_home = of_portions({{0b0001111, 0b0010001, 0b1000000}}), away = of_portions({{0b0010001, 0b0000010}});
    CHECK(motions(at_home, size, levels, 0) == 3);
    CHECK(motions(away, size, levels, 0) == 3);
    CHECK(motions(away, size, levels, unit(4)) == 2);
    CHECK(motions(away, size, levels, unit(0) | unit(5)) == 3);
    const Levels of_host{3, 1, 1, 0, false, {}};  // where passes are counted
    CHECK(motions(of_portions({{1, 2}, {4}, {8, 16}}), size, of_host, 0) == 3);
}

TEST_CASE("parities are far where there is room for those of two stages above the lowest bits, and nowhere else") {
    for (const int slice : {0, 1, 2, 3}) {
        Drawn drawn(1, size);
        std::vector<Piece> work;
        for (int k = 1; k < 5; ++k) work.push_back(drawn.cx(0, k));
        work.push_back(drawn.turn(0));  // which mixes one direction, of five bits
        for (int k = 1; k < 5; ++k) work.push_back(drawn.cx(0, k));
        for (std::size_t k = 0; k < work.size(); ++k) work[k].order = static_cast<Index>(k);
        const CandidatePlan candidate{std::make_unique<PlanContext>(drawn.context), CoefficientProgram(2), work, {}, {}};
        const Levels levels{4, 3, slice, 0, false, {}};
        LinearSearch search(candidate, size, levels, 0, 3, false);
        while (search.advance()) {
        }
        CHECK(search.found() == (slice <= 1));
        if (search.found()) CHECK(motions(search.division, size, levels, 0) <= 3);
    }
}
