// Pieces in the other order: what undoes them.
#pragma once

#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

// Returns what undoes pieces, as pieces, the last one first. zeros: whether all wires are 0 before that. Rotations that were
// read stay as they are: their angles may vary, and pieces come back in their order before they are written.
Pieces reversed(Pieces of, bool zeros);

}  // namespace qx::form
