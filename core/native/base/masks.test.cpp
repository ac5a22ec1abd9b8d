// Tests of masks of index bits, against lists of bits.

#include "base/masks.hpp"

#include <doctest.h>

#include <random>
#include <vector>

using namespace qx::plan;

namespace {

std::vector<int> bits_in(Mask mask) {
    std::vector<int> out;
    for (int bit = 0; bit < 64; ++bit)
        if (mask >> bit & 1) out.push_back(bit);
    return out;
}

}  // namespace

TEST_CASE("count, lowest, highest and each agree with the bits of a mask") {
    std::mt19937_64 random(1);
    for (int run = 0; run < 200; ++run) {
        const Mask mask = random() & random() & random();
        const std::vector<int> expected = bits_in(mask);
        std::vector<int> found;
        each(mask, [&](int bit) { found.push_back(bit); });
        CHECK(found == expected);
        CHECK(count(mask) == static_cast<int>(expected.size()));
        if (!mask) continue;
        CHECK(lowest(mask) == expected.front());
        CHECK(highest(mask) == expected.back());
    }
}

TEST_CASE("below has all bits under one, all 64 too") {
    for (int bit = 0; bit <= 64; ++bit) CHECK(count(below(bit)) == bit);
    CHECK(below(64) == ~Mask{0});
    CHECK((below(17) & unit(17)) == 0);
}

TEST_CASE("directions are compared as sets") {
    const Directions one{0b0110}, other{0b0111}, apart{0b1000};
    CHECK(one.within(other));
    CHECK_FALSE(other.within(one));
    CHECK(one.meets(other));
    CHECK_FALSE(one.meets(apart));
    CHECK(other.without(one) == Directions{0b0001});
    CHECK(other.common(one) == one);
    CHECK((one | apart).size() == 3);
    CHECK(Directions{}.empty());
    CHECK(Directions{}.within(apart));
}

TEST_CASE("fill adds directions from one end until a set has its size") {
    std::mt19937_64 random(2);
    for (int run = 0; run < 200; ++run) {
        const Directions chosen{random() & 0xff}, allowed{random() & 0xffff};
        const int size = static_cast<int>(random() % 20);
        for (const bool lowest_first : {true, false}) {
            std::vector<int> rest = bits_in(allowed.units & ~chosen.units);
            Mask expected = chosen.units;
            for (int have = chosen.size(); have < size && !rest.empty(); ++have) {
                const auto at = lowest_first ? rest.begin() : rest.end() - 1;
                expected |= unit(*at);
                rest.erase(at);
            }
            CHECK(fill(chosen, allowed, size, lowest_first).units == expected);
        }
    }
}
