// In which frames of wires gates on two wires are CX, which a plan in a CNOT frame carries for nothing.
//
// A reflection is CX where one of its operators is written as Z and the other one is not. Between two turns one of X, Y and
// Z is written as Z on a wire, whatever S are among its gates, and each reflection tells of two wires what that may be. At a
// turn about another operator it may change, since H beside RY costs nothing. An ansatz with layers of CX comes back so from
// one of CZ, whose transpiler has made one turn of each H and the RY beside it.
#pragma once

#include "planner/form/write/wires.hpp"

namespace qx::form {

// Returns how many reflections there are for each turn of a wire, of one rotation or several, and each other rotation.
double reflections_per_turn(const Wires& of);

// Returns how items are written where almost all reflections are CX; else nothing.
Letters cx_letters(const Wires& of);

}  // namespace qx::form
