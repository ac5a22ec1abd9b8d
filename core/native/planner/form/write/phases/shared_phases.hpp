// Phases of two wires that leave few turns of single ones.
#pragma once

#include "planner/form/write/writer.hpp"

namespace qx::form {

// Returns gates that do the same, in which rotations about Z of two wires are phases, if no wire turns about Z then that did
// not before. last: where the operator at the end begins, which stays as it is. entries: of the matrices of gates, to which
// theirs are added. phase: of all gates.
std::vector<Gate> shared_phases(std::vector<Gate> gates, std::size_t& last, Sums& sums, std::vector<Complex>& entries,
                                double& phase);

}  // namespace qx::form
