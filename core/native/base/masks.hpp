// Masks of index bits, and the near set.
#pragma once

#include <cstdint>

#include "base/int.hpp"

namespace qx::plan {

using Mask = std::uint64_t;
using Index = std::uint32_t;

inline int count(Mask mask) { return __builtin_popcountll(mask); }
inline int lowest(Mask mask) { return __builtin_ctzll(mask); }
inline int highest(Mask mask) { return 63 - __builtin_clzll(mask); }
inline Mask unit(int bit) { return Mask{1} << bit; }
inline Mask below(int bit) { return bit >= 64 ? ~Mask{0} : unit(bit) - 1; }

// Calls act(bit) for each bit of a mask, the lowest first.
template <class Act>
inline void each(Mask mask, Act act) {
    for (; mask; mask &= mask - 1) act(lowest(mask));
}

// A set of directions: the index bits that flip together with one bit of a gate. Work that mixes a direction needs it in
// the near set. Today every direction is one index bit, so a set is a mask, and bit k stands for direction 1 << k.
//
// All of planning asks these few questions and no others. Where a layout is an affine map, directions are any masks and
// a set is the subspace that they span: its basis in echelon form takes the place of `units`, and nothing else changes.
struct Directions {
    Mask units = 0;

    int size() const { return count(units); }
    bool empty() const { return units == 0; }
    bool within(Directions other) const { return !(units & ~other.units); }
    bool meets(Directions other) const { return units & other.units; }
    Directions without(Directions other) const { return {units & ~other.units}; }
    Directions common(Directions other) const { return {units & other.units}; }
    Directions operator|(Directions other) const { return {units | other.units}; }
    Directions& operator|=(Directions other) { return units |= other.units, *this; }
    bool operator==(const Directions& other) const = default;
};

// Returns a set with directions of `allowed` added until it has `size`, the lowest or the highest first.
inline Directions fill(Directions chosen, Directions allowed, int size, bool lowest_first) {
    Mask rest = allowed.units & ~chosen.units;
    int missing = size - chosen.size();
    for (; missing > 0 && rest; --missing) {
        Mask one = lowest_first ? rest & -rest : unit(highest(rest));
        chosen.units |= one;
        rest ^= one;
    }
    return chosen;
}

}  // namespace qx::plan
