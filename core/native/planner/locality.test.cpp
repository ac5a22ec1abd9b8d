// Tests of what work waits for.

#include "planner/locality.hpp"

#include "planner/growth.hpp"
#include "planner/naive.test.hpp"

using namespace qx::plan;
using namespace qx::plan::naive;

namespace {

// Whether two pieces may not change places.
bool meet(const WorkOutline& one, const WorkOutline& other) {
    return one.mixed.units & other.touched || one.touched & other.mixed.units;
}

// Returns all that work mixes which waits for what mixes a bit, and what mixes it.
Mask mixed_behind(const std::vector<WorkOutline>& work, int bit) {
    std::vector<bool> waits(work.size());
    Mask out = 0;
    for (std::size_t k = 0; k < work.size(); ++k) {
        waits[k] = (work[k].mixed.units & unit(bit)) != 0;
        for (std::size_t j = 0; j < k; ++j) waits[k] = waits[k] || (waits[j] && meet(work[j], work[k]));
        if (waits[k]) out |= work[k].mixed.units;
    }
    return out;
}

}  // namespace

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

TEST_CASE("bits are waited for last if they are mixed, and no work waits for them that mixes others") {
    constexpr int size = 6;
    int found = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, size);
        std::vector<Piece> work;
        for (int k = 0; k < 8; ++k) {
            const int target = drawn.bit();
            work.push_back(k % 3 == 0   ? drawn.phases(any_phase)
                           : k % 3 == 1 ? drawn.turn(target)
                                        : drawn.cx(drawn.other(target), target, drawn.below(2)));
        }
        const std::vector<WorkOutline> outlined = outlines(work, work.size(), false, true);
        const Mask last = waited_for_last(outlined);
        for (int bit = 0; bit < size; ++bit)
            CHECK((last >> bit & 1) == (mixed_behind(outlined, bit) == unit(bit) ? 1u : 0u));
        found += last != 0;
    }
    CHECK(found > 30);
    CHECK(found < 300);
}
