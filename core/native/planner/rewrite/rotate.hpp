// Phases: those of the same parities become one, and complex matrices on one bit are split up where phases are cheap.
//
// Phases commute with each other, and with all that only reads their bits. So of two phases that read the same parities
// under the same condition, with nothing between them that mixes these bits, one is left. A transpiler writes CP as three
// RZ around two CX: what `cancel` makes of a QFT has a phase on a pair of bits for each CP, and two on one bit, which all
// are one for each bit. Then such a circuit has as many pieces as the one that it was made of, and is planned as well.
//
// The pieces that fusing leaves are mostly one-qubit gates between CX and CZ. As a complex matrix each costs 8
// multiply-adds per amplitude. As diag(1, e^{iα}) · R · diag(1, e^{iβ}) the rotation R costs 4, and the phases commute
// with the reads of neighbours: they are delayed and merge into tables, α of one gate with β of the next.
//
// Two such matrices on two bits are mostly RXX·RYY·RZZ as transpilers write it. Where trial numbers show that one or both
// of the phases are not needed beside an imaginary rotation [c, is; is, c], it is that: such pairs are what kernels apply
// with half of the multiply-adds (qsim_ex/kernels/cuda/write/pivots.py).
#pragma once

#include "planner/coefficients/program.hpp"
#include "planner/rewrite/global_phase.hpp"
#include "planner/rewrite/trial.hpp"
#include "planner/rules.hpp"

namespace qx::plan {

// Returns whether a piece is a unitary matrix on one bit with complex numbers.
bool splits(const Piece& piece, const PlanContext& context);

// Returns by what values differ that a piece mixes, if it is two complex matrices on two bits; 0 for others.
int direction(const Piece& piece, const PlanContext& context);

// Returns the work with complex one-bit matrices split up, and pairs of them on two bits. As a complex matrix each costs 8
// multiply-adds per amplitude; in diag(1, e^{ia}) R diag(1, e^{ib}) the rotation costs 4, and the phases merge into tables.
// A pair of rotations is imaginary if trial numbers show that it needs phases on one side at most. global: takes the phases
// that are left of matrices on one bit.
std::vector<Piece> rotate(std::vector<Piece> work, PlanContext& context, CoefficientProgram& program, const Trials& trials,
                          GlobalPhase& global, Rules rules);

// Returns the work with phases joined that read the same parities under the same condition, with nothing between them that
// mixes these bits: each where the first of them was. Products are added to the program.
std::vector<Piece> gather(std::vector<Piece> work, PlanContext& context, CoefficientProgram& program);

}  // namespace qx::plan
