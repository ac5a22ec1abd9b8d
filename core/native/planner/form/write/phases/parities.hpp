// The phases of a Clifford operator as quarter turns of few parities.
#pragma once

#include "planner/form/write/writer.hpp"

namespace qx::form {

// Returns gates that do the same but for a phase. Where S, S†, Z and CZ stand side by side with many CZ, they become quarter
// turns about Z strings, at most one more than there are wires, and a half turn about one.
std::vector<Gate> fewer_phases(const std::vector<Gate>& gates);

}  // namespace qx::form
