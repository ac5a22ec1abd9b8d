// An order of pieces in which those on few wires lie together, as far as these share no wires with what is between.
#pragma once

#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

// Puts pieces in an order that stays on some wires, `most` of them, as long as there is one that acts on no others; what was
// first stays first otherwise, and pieces that share a wire keep their order.
std::vector<Piece> near_each_other(std::vector<Piece> pieces, int wires, int most);

// Returns some wires, and those of pieces from one on, as long as all that share a wire are on `most` wires together.
Mask wires_ahead(const std::vector<Piece>& pieces, std::size_t from, Mask wires, int most);

}  // namespace qx::form
