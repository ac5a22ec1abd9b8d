// Tests of what work waits for.

#include "planner/locality.hpp"

#include "planner/growth.hpp"
#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

TEST_CASE("reasons with no bit near tell those with some bits near") {
    constexpr int size = 8, capacity = 5;
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, size);
        const std::vector<Piece> work = work_with_cx(drawn, 40);
        const std::vector<WorkOutline> outlined = outlines(work, work.size(), false, true);
        const Pending pending = Pending::of(outlined);
        const Directions near{drawn.mask() & (unit(size) - 1)};
        if (near.size() >= capacity) continue;
        const int room = capacity - near.size();
        Reasons found, expected;
        found.find(pending, {}, capacity);
        expected.find(pending, near, room);
        REQUIRE(found.narrow(near, room));
        REQUIRE(found.distinct().size() == expected.distinct().size());
        for (std::size_t k = 0; k < found.distinct().size(); ++k) {
            const Reasons::Distinct &one = found.distinct()[k], &other = expected.distinct()[k];
            CHECK((one.missing == other.missing && one.weight == other.weight && one.work == other.work));
        }
        CHECK(found.arithmetic(near) == expected.arithmetic(near));
        for (std::size_t k = 0; k < std::min(found.size(), expected.size()); ++k) CHECK(found[k] == expected[k]);
    }
}

TEST_CASE("diagonals that are counted with what mixed their bits last leave all reasons as they were") {
    constexpr int size = 6;
    std::size_t fewer = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, size);
        const std::vector<Piece> work = work_with_cx(drawn, 40);
        const std::vector<WorkOutline> apart = outlines(work, work.size(), false, true), joined = with_diagonals(apart);
        const Pending all = Pending::of(apart), fewer_all = Pending::of(joined);
        fewer += apart.size() - joined.size();
        const Directions near{drawn.mask() & (unit(size) - 1)};
        Reasons found, expected;
        found.find(fewer_all, near, 3);
        expected.find(all, near, 3);
        REQUIRE(found.distinct().size() == expected.distinct().size());
        for (std::size_t k = 0; k < found.distinct().size(); ++k) {
            const Reasons::Distinct &one = found.distinct()[k], &other = expected.distinct()[k];
            CHECK((one.missing == other.missing && one.weight == other.weight));
            CHECK(one.work == doctest::Approx(other.work));
        }
        if (fewer_all.size() == found.size() && all.size() == expected.size())
            CHECK(found.arithmetic(near) == doctest::Approx(expected.arithmetic(near)));
    }
    CHECK(fewer > 50);
}
