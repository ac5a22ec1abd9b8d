// Dense blocks: pieces that stay on three wires, or on four, as one matrix.
#pragma once

#include "planner/form/clusters/cluster.hpp"

namespace qx::form {

// Puts pieces of a cluster as one matrix between turns, if it is on so many wires, three or four, and dearer piece by piece;
// returns how many, which are the first ones then, and 0 if none are put. On four wires they are those of which the matrix
// has most zeros: what is on three of them at the end may belong to what comes next. work: to which the entries that were
// looked at are added.
std::size_t put_block(Cluster& of, int wires, Pieces& to, std::size_t& work);

// Whether some wire has so many pieces one behind the other that are on three more wires at most, as a block on four wires
// has that is dear enough.
bool may_have_wide_blocks(const Pieces& of);

}  // namespace qx::form
