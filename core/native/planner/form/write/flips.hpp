// Which signs under controls are written as X of one of their wires.
//
// Z under controls between H is X. A transpiler has merged such H with other turns, so each wire has for each of its signs
// the choice, and takes the one with which fewest turns are left, by dynamic programming along the wire.
#pragma once

#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

// Returns for each piece the wire of which it is X, or -1.
std::vector<int> flipped_wires(const Pieces& of);

// What acts before X in place of a sign, on its wire; its inverse acts behind it.
Matrix2 flip_frame(const Piece& piece, int wire);

// What acts on one of its wires before a piece.
Matrix2 turn_before(const Piece& piece, int wire);

}  // namespace qx::form
