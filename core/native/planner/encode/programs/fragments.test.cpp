// Tests of dense matrices on four bits for the tensor cores: who loads which entry, and how tiles are laid out for it.

#include "planner/encode/programs/fragments.hpp"

#include <doctest.h>

#include <algorithm>
#include <set>

using namespace qx::plan;

TEST_CASE("each entry of a matrix is loaded once, by the lane and as the number that mma.m16n8 says") {
    for (const int depth : {4, 8}) {
        // Rows and columns in the order of the bits, so that an entry's place is that of the matrix itself.
        const FragmentPlaces plain{{5, 3, 8, 6}, {5, 3, 8, 6}, {5, 3, 8, 6}, {}, {}, {}};
        const std::array<int, 256> found = plain.entries(depth);
        CHECK(std::set<int>(found.begin(), found.end()).size() == 256);
        std::size_t at = 0;
        for (int step = 0; step < 16 / depth; ++step)
            for (int lane = 0; lane < 32; ++lane)
                for (int number = 0; number < depth / 2; ++number) {
                    // Of the fragment of A (PTX, "mma.m16n8k4" and "mma.m16n8k8" for .tf32 and .f64): a lane's group is a
                    // row, and odd numbers are 8 rows below; its place in the group is a column, and numbers from 2 on are
                    // 4 columns further.
                    const int row = lane / 4 + (number % 2 ? 8 : 0),
                              column = depth * step + lane % 4 + (number >= 2 ? 4 : 0);
                    CHECK(found[at++] == 16 * row + column);
                }
        // Another order of the bits permutes rows or columns alone.
        const FragmentPlaces turned{{5, 3, 8, 6}, {5, 3, 8, 6}, {3, 5, 8, 6}, {}, {}, {}};
        const std::array<int, 256> other = turned.entries(depth);
        for (std::size_t k = 0; k < 256; ++k) {
            const int row = found[k] / 16, swapped = (row & ~3) | (row & 1) << 1 | (row >> 1 & 1);
            CHECK(other[k] == 16 * swapped + found[k] % 16);
        }
    }
}

TEST_CASE("the lanes of a tile are all of its bits, each in one place") {
    const FragmentPlaces found = fragment_places({0, 2, 4, 7}, 11, 5);
    std::vector<int> mixed(found.columns.begin(), found.columns.end()), rows(found.rows.begin(), found.rows.end());
    std::sort(mixed.begin(), mixed.end()), std::sort(rows.begin(), rows.end());
    CHECK(mixed == std::vector<int>{0, 2, 4, 7});
    CHECK(rows == mixed);
    std::vector<int> others(found.groups.begin(), found.groups.end());
    others.insert(others.end(), found.loops.begin(), found.loops.end());
    others.insert(others.end(), found.warps.begin(), found.warps.end());
    std::sort(others.begin(), others.end());
    CHECK(others == std::vector<int>{1, 3, 5, 6, 8, 9, 10});
}
