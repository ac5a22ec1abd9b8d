// The phases of a Clifford operator as quarter turns of few parities.
#pragma once

#include "planner/form/write/writer.hpp"

namespace qx::form {

// Returns gates that do the same but for a phase. Where S, Z and CZ lie together on many pairs of wires, they are quarter
// turns about Z strings in place of these, one more than there are wires at most but for Z.
std::vector<Gate> fewer_phases(const std::vector<Gate>& gates);

}  // namespace qx::form
