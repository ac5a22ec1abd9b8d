// Phases between what computes a condition and what undoes that, as phases of its inputs.
#pragma once

#include "planner/form/clusters/cluster.hpp"

namespace qx::form {

// Returns pieces in which phases on three wires or more and what stands around them are fewer phases, where that is so.
// Gates under many controls come like that: conditions are computed on other wires, by relative-phase Toffolis, too, and
// undone. work: to which the entries that were looked at are added. found: to which how much of what was read has become
// phases is added.
Pieces without_computing(Pieces given, std::size_t within, std::size_t& work, std::size_t& found);

}  // namespace qx::form
