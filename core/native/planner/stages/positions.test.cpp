// Tests of the motions that bring bits near: the bits that are needed come, the slice stays, and places are as motions say.

#include "planner/stages/positions.hpp"

#include <doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace qx::plan;

namespace {

constexpr int size = 8;

Mask drawn(std::mt19937_64& random, Mask among, int most) {
    Mask out = 0;
    for (int k = static_cast<int>(random() % static_cast<unsigned>(most + 1)); k > 0; --k) {
        const Mask one = unit(static_cast<int>(random() % size));
        out |= one & among;
    }
    return out;
}

}  // namespace

TEST_CASE("an exchange makes bits local by swaps of local positions above the slice with device bits") {
    std::mt19937_64 random(1);
    for (int run = 0; run < 300; ++run) {
        const Levels levels{5, 3, static_cast<int>(random() % 3), 0, random() % 2 == 0, {}};
        Division division;
        division.low = below(levels.slice);
        Positions positions(size, levels, 0, division, {});
        std::vector<int> at = positions.at;
        for (int stage = 0; stage < 4; ++stage) {
            const int room = levels.local - levels.slice;
            const Needs later{drawn(random, ~division.low, room), drawn(random, ~division.low, room)};
            Motion motion;
            REQUIRE(positions.exchange(later, motion));
            CHECK((later[0] & ~positions.local()) == 0);
            CHECK((division.low & ~positions.local()) == 0);
            for (auto [local, device] : motion.swaps) {
                CHECK(levels.slice <= local);
                CHECK((local < levels.local && levels.local <= device && device < size));
                for (int& place : at) place = place == local ? device : place == device ? local : place;
            }
            CHECK((motion.kind == Motion::none) == motion.swaps.empty());
            CHECK(at == positions.at);
        }
    }
}

TEST_CASE("a pass permutes the bits of a state at home, and keeps them in the order that their places have") {
    std::mt19937_64 random(2);
    for (int run = 0; run < 200; ++run) {
        const Levels levels{4, 1, 1, 0, false, {}};
        Division division;
        division.low = 1;
        Positions positions(size, levels, 0, division, {});
        for (int pass = 0; pass < 3; ++pass) {
            const Mask local = drawn(random, ~Mask{1}, 3), needed = local | drawn(random, ~Mask{1}, 1);
            if (count(needed) > 4) continue;
            const std::vector<int> homes = positions.homes();
            const Motion motion = positions.migrate(needed, {local}, {needed}, {});
            CHECK(motion.kind == Motion::migration);
            CHECK((local & ~positions.local()) == 0);
            CHECK((needed & ~positions.window()) == 0);
            std::vector<int> sorted = motion.bits;
            std::sort(sorted.begin(), sorted.end());
            for (int bit = 0; bit < size; ++bit) {
                CHECK(sorted[static_cast<std::size_t>(bit)] == bit);
                // A bit's position holds its home.
                const auto place = static_cast<std::size_t>(positions.at[static_cast<std::size_t>(bit)]);
                CHECK(motion.bits[place] == homes[static_cast<std::size_t>(bit)]);
            }
            CHECK(std::is_sorted(motion.bits.begin() + 5, motion.bits.end()));
            CHECK(motion.bits[0] == 0);
            CHECK(positions.homes() == homes);  // amplitudes are written back to where they came from
        }
    }
}

TEST_CASE("known zeros come near by another name, which moves nothing") {
    const Levels levels{4, 4, 0, 0, false, {}};
    Positions positions(size, levels, below(size), {}, {});
    Motion motion;
    REQUIRE(positions.exchange({unit(6) | unit(7)}, motion));
    CHECK(motion.kind == Motion::none);
    CHECK(((unit(6) | unit(7)) & ~positions.local()) == 0);
    std::vector<int> at = positions.at;
    std::sort(at.begin(), at.end());
    for (int bit = 0; bit < size; ++bit) CHECK(at[static_cast<std::size_t>(bit)] == bit);
}

TEST_CASE(
    "of bits that nothing needs, a fresh one is local, where it halves the work, before it is a device bit, which idles") {
    const Levels levels{4, 1, 1, 0, false, {}};
    Division division;
    division.low = 1;
    Positions positions(size, levels, 0b11110000, division, {});
    positions.migrate(0b111, {0b111}, {0b111}, {});
    CHECK(count(positions.local()) == 4);
    CHECK((positions.local() & 0b11110000) != 0);
    CHECK((positions.window() & ~positions.local()) == 0b1000);
}

TEST_CASE("bits of the farthest layer that is crossed come along if they are needed next, where exchanges are joined") {
    const Levels levels{4, 4, 0, 0, false, {{1, 1e11}, {3, 1e9}}};
    for (const bool together : {true, false}) {
        Positions positions(size, levels, 0, {}, {{}, 0, true, false, together});
        Motion motion;
        REQUIRE(positions.exchange({unit(4) | unit(7), unit(5) | unit(6)}, motion));
        CHECK(motion.swaps.size() == (together ? 4 : 2));
        CHECK(((unit(5) | unit(6)) & positions.local()) == (together ? unit(5) | unit(6) : 0));
    }
}
