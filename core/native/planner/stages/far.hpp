// The choice of bits that are far: the reverse of locality.hpp, where few bits are far and most are near.
//
// All work runs whose reason contains none of the far bits. The far bits that lose least work are chosen one after
// another, and the best few sets are kept, for a search that looks several stages ahead.
#pragma once

#include "planner/locality.hpp"

namespace qx::plan {

// The bits that may be far: not those below Levels::slice.
struct Freedom {
    Mask pinned;  // bits that are known to be below the slice
    Mask fresh;   // bits that are fresh at the start, which may change places at no cost
    int most;     // how many bits `ever` may have
    Mask ever = 0;  // the fresh bits that are far in some stage

    bool allows(Mask far) const { return !(far & pinned) && count(ever | (far & fresh)) <= most; }
    Freedom after(Mask far) const { return {pinned, fresh, most, ever | (far & fresh)}; }
};

// A set of far bits, and the freedom that it leaves.
struct FarSet {
    Mask far;
    Freedom freedom;
};

// Work is weighed in thousandths of a piece; keeping a bit far that is far already counts as one of them.
inline Int weight_of(const Outline& piece) { return 100 * piece.weight(); }

// Returns for each piece the bits that it waits for, given those that are near; no window ends the scan.
std::vector<Mask> reasons_of(const std::vector<WorkOutline>& work, const std::vector<Index>& pending, Mask near);

// Returns at most `most` sets of `size` bits of `allowed` that may be far, those that let most work run first; each lets
// some run. stays: bits that are far already.
std::vector<FarSet> far_sets(const std::vector<WorkOutline>& work, const std::vector<Index>& pending,
                             const std::vector<Mask>& found, int size, Mask allowed, const Freedom& freedom, Mask stays,
                             std::size_t most);

// Divides pieces into those whose reasons have no far bit, and the others; both in order.
void split(const std::vector<Index>& pending, const std::vector<Mask>& found, Mask far, std::vector<Index>& ready,
           std::vector<Index>& left);

}  // namespace qx::plan
