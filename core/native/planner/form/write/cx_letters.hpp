// In which frames of wires gates on two wires are CX, which a plan in a CNOT frame carries for nothing.
//
// A reflection is CX where one of its operators is written as Z and the other one is not. Between two turns one of X, Y and
// Z is written as Z on a wire, whatever S are among its gates, and each reflection tells of two wires what that may be. At a
// turn about another operator it may change, since H beside RY costs nothing. An ansatz with layers of CX comes back so from
// one of CZ, whose transpiler has made one turn of each H and the RY beside it.
#pragma once

#include "planner/form/write/wires.hpp"

namespace qx::form {

// Returns how items are written where almost all reflections are CX, and there are so many more of them than of rotations
// that a plan in a CNOT frame may pay, from `cx_ratio` for each turn of a wire on; else nothing.
Letters cx_letters(const Wires& of, double cx_ratio);

}  // namespace qx::form
