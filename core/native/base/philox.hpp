// Philox4x64-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): the numbers
// of NumPy's generator for many keys at once. The counter of the k-th four numbers is k, from 1 on.
#pragma once

#include <cstdint>

#include "base/int.hpp"

namespace qx {

struct Four {
    std::uint64_t x[4];
};

// Returns four random 64-bit numbers: those of numbers 4·block … 4·block + 3 of the generator with key (seed, key).
static inline __attribute__((always_inline)) Four philox(std::uint64_t seed, std::uint64_t key, std::uint64_t block) {
    constexpr std::uint64_t first = 0xD2E7470EE14C6C93, second = 0xCA5A826395121157;
    constexpr std::uint64_t golden = 0x9E3779B97F4A7C15, root = 0xBB67AE8584CAA73B;
    std::uint64_t x0 = block + 1, x1 = 0, x2 = 0, x3 = 0;
    for (int round = 0; round < 10; ++round, seed += golden, key += root) {
        auto a = static_cast<unsigned __int128>(first) * x0, b = static_cast<unsigned __int128>(second) * x2;
        x0 = static_cast<std::uint64_t>(b >> 64) ^ x1 ^ seed;
        x1 = static_cast<std::uint64_t>(b);
        x2 = static_cast<std::uint64_t>(a >> 64) ^ x3 ^ key;
        x3 = static_cast<std::uint64_t>(a);
    }
    return {{x0, x1, x2, x3}};
}

// Returns the number in [0, 1) that NumPy makes of 64 random bits: their highest 53.
static inline double unit(std::uint64_t x) { return static_cast<double>(x >> 11) * 0x1p-53; }

}  // namespace qx
