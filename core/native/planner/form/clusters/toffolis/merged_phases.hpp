// Phases of the same wires as one, where nothing between turns these.
#pragma once

#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

// Returns pieces in which phases of the same wires are one, if nothing between them turns these wires; none if it is 0.
Pieces with_merged_phases(const Pieces& given);

}  // namespace qx::form
