// Matrices of one wire that others select: multiplexers.
#pragma once

#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

// Makes of many pieces that turn one wire, and only read others, one matrix of that wire for each value of these; to `parts`
// it adds how much of what was read that is.
Pieces with_selected(Pieces given, std::size_t& parts);

}  // namespace qx::form
