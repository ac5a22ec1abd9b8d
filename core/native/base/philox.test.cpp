// Tests of random numbers, against those that NumPy's generator Philox gives for the same keys.

#include "base/philox.hpp"

#include <doctest.h>

#include <vector>

using qx::Int;

extern "C" Int qx_philox_fill(const std::uint64_t* seeds, const std::uint64_t* keys, Int begin, double* out, Int count,
                              Int size, Int each, Int chunk, Int threads, Int slice);

TEST_CASE("the numbers are those of Philox4x64-10 with the same key") {
    struct Row {
        std::uint64_t seed, key, block, expected[4];
    };
    const Row rows[] = {
        {0x0, 0x0, 0, {0x2f4ba6408e4d89b, 0x3dd62b0b9ca8c5b2, 0x1c8667a55d902e79, 0x907d7a052fd5b4dc}},
        {0x0, 0x0, 1, {0x809bf322883987c3, 0x471128b9e807f7dd, 0xf250ba0dbec065b7, 0xfc6ed66767a457bc}},
        {0x1, 0x2, 0, {0x4f2f4313b5536b09, 0x5b617be3219ff32a, 0x97293476f9275cb, 0xf63f3bf4962c3942}},
        {0x1, 0x2, 1, {0x4dcc60473aa0f43, 0x6d905c9b986b0028, 0x559a6c953d16fe9d, 0xbd24fd1da9945eea}},
        {0xffffffffffffffff,
         0x2bdc545d6b4b87,
         0,
         {0xbe95cdba73455e5f, 0x5b87edb2d9e2c8a8, 0x4756fab48821e32f, 0x38e8de191dfc635a}},
        {0xffffffffffffffff,
         0x2bdc545d6b4b87,
         1,
         {0x48dba66b126d6ef6, 0x1c323511fd4eca10, 0x95e7567044ed80e3, 0x7e85532f09d8400b}},
    };
    for (const Row& row : rows) {
        const qx::Four found = qx::philox(row.seed, row.key, row.block);
        for (int k = 0; k < 4; ++k) CHECK(found.x[k] == row.expected[k]);
    }
}

TEST_CASE("unit takes the highest 53 bits, and stays below 1") {
    CHECK(qx::unit(0) == 0.0);
    CHECK(qx::unit(~std::uint64_t{0}) == 1 - 0x1p-53);
    CHECK(qx::unit(std::uint64_t{1} << 63) == 0.5);
    CHECK(qx::unit(2047) == 0.0);
}

TEST_CASE("philox_fill writes numbers of each seed and key from a block on, as many as are asked for") {
    const std::vector<std::uint64_t> seeds{3, 1ull << 40, 3}, keys{11, 11, 1ull << 63};
    for (const Int begin : {0, 5})
        for (const Int count : {1, 3, 4, 9}) {
            std::vector<double> out(3 * static_cast<std::size_t>(count), -1);
            CHECK(qx_philox_fill(seeds.data(), keys.data(), begin, out.data(), count, 3, count, 0, 2, 0) == 0);
            for (std::size_t row = 0; row < 3; ++row)
                for (Int k = 0; k < count; ++k) {
                    const auto at = row * static_cast<std::size_t>(count) + static_cast<std::size_t>(k);
                    const qx::Four four = qx::philox(seeds[row], keys[row], static_cast<std::uint64_t>(begin + k / 4));
                    CHECK(out[at] == qx::unit(four.x[k % 4]));
                }
        }
}
