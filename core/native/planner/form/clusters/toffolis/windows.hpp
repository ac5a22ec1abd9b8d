// Phases on three wires among pieces of other wires.
#pragma once

#include "planner/form/clusters/cluster.hpp"

namespace qx::form {

// Returns pieces in which those that are a few phases on three wires together are these: Toffolis, wherever they stand.
// Between them others may act on one of the wires before all of them do, or behind all. work: to which the entries that were
// looked at are added, up to `within`, and more where something is found. found: to which how much of what was read has
// become phases is added.
Pieces with_windows(Pieces given, std::size_t within, std::size_t& work, std::size_t& found);

}  // namespace qx::form
