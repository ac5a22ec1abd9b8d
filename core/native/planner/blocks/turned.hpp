// Dense blocks in a form that takes 9.5 multiply-adds an amplitude in place of 16.
//
// A unitary block is turns of both bits, exp(i (a XX + b YY + c ZZ)), and turns again (Weyl). What it ends with is left to
// the blocks behind it. A turn before it is Rz Ry Rz, the first of which the blocks before it do, so what remains is
//
//     Rz ⊗ Rz · exp(i (a XX + b YY)) · phases · Ry ⊗ Ry.
//
// Each factor is applied by tangents, as rotations are (decision 0034). The scales of phases are numbers of one amplitude
// of two, so a bit leaves its 1 larger than it is by a factor, with which the next block goes on: only amplitudes at 1 and 1
// need a number that is neither a scale nor a tangent.
#pragma once

#include <complex>

#include "planner/blocks/links.hpp"

namespace qx::plan {

// Writes other numbers for the blocks of a plan, in place of those among its packed numbers, such that all together do the
// same; see `TurnedBlock` of kernels/encoding.hpp. Returns how many are in that form.
Int turn_blocks(const std::vector<LinkedBlock>& blocks, std::complex<double>* packed);

}  // namespace qx::plan
