// Turns of one wire as few rotations by their whole angles.
#pragma once

#include <vector>

#include "planner/form/gates/rounding.hpp"

namespace qx::form {

// Finds fewer rotations that make up a turn, each by its whole angle; returns whether there are so few. rounding: of which
// what they are off is taken. quarters: rather so that others than quarter turns are fewest.
bool fewer(const Turn& whole, std::size_t than, Rounding& rounding, bool quarters, std::vector<AxisRotation>& out);

}  // namespace qx::form
