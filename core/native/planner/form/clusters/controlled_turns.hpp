// Turns of a wire under a control that later ones undo, without their control.
//
// Where a circuit is put under a control, a transpiler puts turns under it, too: H under a control, then phases under it,
// then H under it again. What is between two such turns does nothing where the control has another value, so there turns
// without a control do the same, as long as all of them together do nothing.
#pragma once

#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

// Returns the pieces with turns in place of such phases of two wires, and adds how much of what was read these were.
// zeros: whether all wires are 0 at first.
Pieces without_controls(Pieces given, bool zeros, std::size_t& parts);

}  // namespace qx::form
