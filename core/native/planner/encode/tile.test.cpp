// Tests of the places of a tile's bits: items keep their order where it matters, and bits return to their lanes.

#include "planner/encode/tile.hpp"

#include <doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

using namespace qx;
using namespace qx::plan;

namespace {

int below(std::mt19937& random, int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); }

// An item that mixes some bits, and one that reads some.
TouchedBits mixing(Mask bits) { return {nullptr, bits, bits}; }
TouchedBits reading(Mask bits) { return {nullptr, 0, bits}; }

bool same(const std::vector<TouchedBits>& ones, const std::vector<TouchedBits>& others) {
    return std::equal(ones.begin(), ones.end(), others.begin(), others.end(),
                      [](const TouchedBits& a, const TouchedBits& b) { return a.mix == b.mix && a.all == b.all; });
}

std::vector<int> numbers(int first, int count) {
    std::vector<int> out(static_cast<std::size_t>(count));
    std::iota(out.begin(), out.end(), first);
    return out;
}

}  // namespace

TEST_CASE("an item overtakes those with which it shares reads alone") {
    std::vector<TouchedBits> pending{mixing(1), reading(3), mixing(32), mixing(2)}, ready;
    take_runnable(pending, 15, ready);  // bits 0 to 3 are lanes
    CHECK(same(ready, {mixing(32)}));
    CHECK(same(pending, {mixing(1), reading(3), mixing(2)}));
    std::vector<TouchedBits> controlled{{nullptr, 16, 17}}, runs;
    take_runnable(controlled, 15, runs);  // a condition on a lane is no reason to wait
    CHECK(controlled.empty());
    CHECK(runs.size() == 1);
}

TEST_CASE("whatever changes places, the swaps that follow bring each bit that is asked for to its lane") {
    std::mt19937 random(1);
    for (int run = 0; run < 2000; ++run) {
        const int lanes = 1 + below(random, 4), rows = 1 + below(random, 7);
        TileLayout layout{numbers(0, lanes), numbers(lanes, rows)};
        for (int left = below(random, 10); left > 0; --left) layout.exchange({{below(random, lanes), below(random, rows)}});
        std::vector<int> home = numbers(0, lanes + rows);
        std::shuffle(home.begin(), home.end(), random);
        for (const Swaps& swaps : layout.swaps_home(home.data())) layout.exchange(swaps);
        CHECK(std::equal(layout.lanes.begin(), layout.lanes.end(), home.begin()));
    }
}

TEST_CASE("an exchange takes every bit that the first item mixes out of the lanes, and loses none") {
    std::mt19937 random(2);
    for (int run = 0; run < 2000; ++run) {
        const int size = 1 + below(random, 12), lanes = 1 + below(random, 4);
        Mask first = 0;
        for (int left = 1 + below(random, std::min(size, 5)); left > 0; --left) first |= unit(below(random, size));
        std::vector<TouchedBits> work{mixing(first)};
        for (int more = 0; more < 3; ++more) work.push_back(mixing(unit(below(random, size))));
        TileLayout layout;
        layout.first(unit(size) - 1, work, lanes);
        layout.exchange(layout.swaps_for(work));
        CHECK((layout.lane_mask() & first) == 0);
        std::set<int> all(layout.lanes.begin(), layout.lanes.end());
        all.insert(layout.rows.begin(), layout.rows.end());
        CHECK(all.size() == layout.lanes.size() + layout.rows.size());
        for (int bit = 0; bit < size; ++bit) CHECK(all.count(bit) == 1);
    }
}
