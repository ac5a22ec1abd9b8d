// Where in memory a growing state lies before each sweep, found backwards from a plain end.
//
// Any linear map may be the layout of a state that begins in |0…0⟩, since 0 stays 0. So the layout behind the last sweep
// is plain, and each sweep undoes what the next one needs: the directions that were lowest go to the lowest bits, the
// space that was there before to bits that are not fresh. A sweep may do that to the directions of its tile alone; to all
// others it adds directions of its tile, which is enough, since a space lies on bits that a reduced basis of the tile has.
#pragma once

#include "planner/linear/growth.hpp"

namespace qx::plan {

// Where directions are before a sweep and behind it: what flips in memory with each bit of the frame.
struct Around {
    Map before, after;
    Mask fresh;  // the index bits at whose 1 the state is zero before the sweep
};

// Returns the layouts around all sweeps, given the one at the end and the bits that are fresh there.
std::vector<Around> placed(const std::vector<TileVisit>& visits, Map end, Mask fresh, int low);

}  // namespace qx::plan
