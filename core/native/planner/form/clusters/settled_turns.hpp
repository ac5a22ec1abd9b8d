// Turns of wires that only rounding has made, where they are nothing.
//
// The less a joint phase is, the less a matrix tells of the turns around it: of a phase by 1e-4 they are known to 1e-12. A
// turn that is the identity but for that would be a matrix of its own. But what is left of it passes such a phase, and is
// part of the next turn, to which it adds nothing.
#pragma once

#include "planner/form/clusters/pieces.hpp"
#include "planner/form/gates/rounding.hpp"

namespace qx::form {

// Makes turns that are almost the identity, X, or phases, just that, if the rest passes a piece beside them. limits: of
// what turns may be off, without their tolerance.
void settle_turns(Pieces& of, Rounding limits);

}  // namespace qx::form
