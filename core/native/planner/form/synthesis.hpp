// A Clifford operator as quarter turns about Pauli strings.
#pragma once

#include <vector>

#include "planner/form/tableau.hpp"

namespace qx::form {

struct QuarterTurn {
    Pauli pauli;
    int quarters;  // exp(-i quarters π/4 P)
};

// Returns the turns that make up the operator of a tableau of at most 64 wires, but for a phase, in the order in which they
// act: at most six a wire.
std::vector<QuarterTurn> quarter_turns(Tableau tableau);

}  // namespace qx::form
