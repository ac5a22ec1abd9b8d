// Dense blocks in a form that takes 7 multiply-adds an amplitude in place of 16, and on three bits 21.5 in place of 32.
//
// Blocks before a block do a unitary matrix on each of its bits, such that its first row has entries at 0 and 3 alone, or
// at 0, 4, 5, 6 and 7. What remains are 4 or 25 rotations of two amplitudes and phases of one (`Factors`). Each is applied
// by tangents, as rotations are (decision 0034). Sizes that this leaves to amplitudes are multiplied in with the last
// phases; on two bits, where blocks follow on both, a bit's 1 may be left larger than it is, with which the next block goes
// on, so that only amplitudes at 1 and 1 need it.
#pragma once

#include <complex>

#include "planner/blocks/links.hpp"

namespace qx::plan {

// Writes other numbers for the blocks of a plan, in place of those among its packed numbers, such that all together do the
// same; see `TurnedBlock` of kernels/encoding.hpp. Returns how many are in that form.
Int turn_blocks(const std::vector<LinkedBlock>& blocks, std::complex<double>* packed);

}  // namespace qx::plan
