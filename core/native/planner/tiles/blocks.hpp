// Dense blocks: the work of a phase on its near bits alone, as one matrix, where the device has matrix units.
//
// The near bits of a phase are chosen so that much work runs on them, so blocks are looked for in phases: work that
// touches no other bit is multiplied into one matrix on all near bits if that work costs more than the block. A block
// costs the same whatever it contains, so rotations, phases and renamings inside it cost nothing.
#pragma once

#include "planner/circuit.hpp"
#include "planner/numbers/program.hpp"

namespace qx::plan {

// Returns a phase's work with a block in it if that is cheaper; the block's product is added to `program`.
//
// work: in order; diagonals that earlier phases passed on come first. near: the phase's near bits. block, making: the
// costs of a block, and of its matrix until it is on the device.
std::vector<Piece> gathered(const std::vector<Piece>& work, Mask near, double block, double making, Book& book,
                            NumberProgram& program);

}  // namespace qx::plan
