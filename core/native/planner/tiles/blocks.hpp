// Dense blocks: the work of a register block on its register bits alone, as one matrix, where the device has matrix units.
//
// The register bits are chosen so that much work runs on them. Work that touches no other bit is multiplied into one matrix
// on all of them if that work costs more than the dense block. A dense block costs the same whatever it contains, so
// rotations, phases and permutations inside it cost nothing.
#pragma once

#include <memory>

#include "planner/circuit.hpp"
#include "planner/coefficients/program.hpp"

namespace qx::plan {

// Returns a register block's work with a dense block in it if that is cheaper; its product is added to `program`.
//
// work: in order; diagonals that earlier register blocks passed on come first. registers: the register bits. block, making:
// the costs of a dense block, and of its matrix until it is on the device. made: keeps the pieces that are made.
PieceRefs gathered(const PieceRefs& work, Mask registers, double block, double making, PlanContext& context,
                   CoefficientProgram& program, std::vector<std::unique_ptr<Piece>>& made);

}  // namespace qx::plan
