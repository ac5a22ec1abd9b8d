// Where in memory a growing state lies before each sweep, found backwards from a plain end; see
// qsim_ex.planning.linear.backward, which this file reads like.
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
