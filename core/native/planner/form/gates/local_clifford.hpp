// Matrices that are Clifford operators.
#pragma once

#include "planner/form/gates/turn.hpp"
#include "planner/form/synthesis.hpp"

namespace qx::form {

// Quarter turns in the order in which they act, and a phase.
struct LocalClifford {
    std::vector<QuarterTurn> turns;
    double phase = 0;
    double off = 0;  // the most that an entry of an image of a string is
};

// Returns whether a unitary matrix on so many wires maps every Pauli string to one, to within `tolerance`; then the operator
// is written.
bool find_clifford(const Complex* matrix, int wires, double tolerance, LocalClifford& out);

}  // namespace qx::form
