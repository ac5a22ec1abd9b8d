// Tests of the bits that a sweep leaves on the lowest places for the next one.

#include "planner/tiles/floating.hpp"

#include <doctest.h>

using namespace qx::plan;

namespace {

// Returns work of which each piece mixes some bits.
std::vector<WorkOutline> mixing(const std::vector<Mask>& masks) {
    std::vector<WorkOutline> out;
    for (Mask bits : masks) {
        Outline piece;
        piece.mixed = {bits}, piece.touched = bits, piece.work = 4;
        out.push_back(piece);
    }
    return out;
}

// Returns which bits of the tile 0, 1, 2, 3 a sweep of the first two pieces leaves lowest.
Mask left_low(const std::vector<WorkOutline>& work, Mask low) {
    Shape shape{};
    shape.tile = 4, shape.low = 2;
    const std::vector<Index> ready{0, 1};
    std::vector<Index> behind;
    for (std::size_t k = 2; k < work.size(); ++k) behind.push_back(static_cast<Index>(k));
    Reasons reasons;
    const Directions every{below(8)};
    Directions lowest{low};
    next_low(ready, Pending::of(work, &behind), {0b1111}, lowest, every, every, shape, reasons);
    return lowest.units;
}

}  // namespace

TEST_CASE("bits that the next tile does not want go lowest: those that no piece mixes, then those that early ones do") {
    CHECK(left_low(mixing({unit(3), unit(2), unit(4) | unit(5)}), 0b1100) == 0b0011);
    CHECK(left_low(mixing({unit(3), unit(2) | unit(1), unit(4) | unit(5)}), 0b0110) == 0b1001);
    CHECK(left_low(mixing({unit(1) | unit(2), unit(0) | unit(3), unit(4) | unit(5)}), 0b1001) == 0b0110);
}

TEST_CASE("of bits that are needed as long those stay that are lowest already, and then the first ones") {
    CHECK(left_low(mixing({unit(4), unit(4), unit(4) | unit(5)}), 0b1010) == 0b1010);
    CHECK(left_low(mixing({0b1111, 0b1111, unit(4) | unit(5)}), 0b1000) == 0b1001);
}

TEST_CASE("without work behind a sweep, or before a step that is none, the lowest bits stay") {
    CHECK(left_low(mixing({unit(3), unit(2)}), 0b1100) == 0b1100);
    std::vector<WorkOutline> work = mixing({unit(3), unit(2), unit(4)});
    work[2].kind = Kind::dense_matrix;
    CHECK(left_low(work, 0b1100) == 0b1100);
}
