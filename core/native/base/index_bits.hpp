// Numbers of amplitudes as sets of bits.
#pragma once

#include <bit>

#include "base/int.hpp"

namespace qx {

// Returns the bits of `number` spread over the bits in `mask`.
static inline Int placed(Int number, Int mask) {
    Int out = 0;
    for (auto left = static_cast<std::uint64_t>(mask); left; left &= left - 1, number >>= 1)
        if (number & 1) out |= static_cast<Int>(left & -left);
    return out;
}

// Returns the value after `x` among those that have bits in `mask` alone.
static inline Int next_placed(Int x, Int mask) { return ((x | ~mask) + 1) & mask; }

// Returns the number of ones.
static inline int ones(Int mask) { return std::popcount(static_cast<std::uint64_t>(mask)); }

// Returns whether the number of ones is odd.
static inline bool odd(Int mask) { return ones(mask) & 1; }

}  // namespace qx
