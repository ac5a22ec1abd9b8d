// Dense matrices on four bits for the tensor cores; the C++ form of qsim_ex.kernels.cuda.write.tensor.
#pragma once

#include <array>
#include <vector>

#include "planner/tiles/sweep.hpp"

namespace qx::plan {

constexpr std::size_t smallest_tile = 9;  // bits: a warp multiplies all of it, four times eight columns

// A register block, or a part of one; begin, end: its items. block: whether it is a matrix for the tensor cores.
struct Portion {
    Mask registers;
    Int begin, end;
    bool block;
};

// Returns a sweep's register blocks, with blocks of their own for the tensor cores if `tensor`; neither the first nor the
// last is one.
std::vector<Portion> portions_of(const Step& sweep, const StepArrays& steps, const PlanContext& context, bool tensor);

// The position of the tile for each bit of a lane, a register, a loop and a warp.
struct FragmentPlaces {
    std::array<int, 4> mixed, columns, rows;
    std::array<int, 3> groups;
    std::array<int, 2> loops;
    std::vector<int> warps;

    // The entry (16 * row + column) of the matrix that each lane loads, in the order of the numbers in memory, of one part.
    // depth: the columns that one instruction multiplies.
    std::array<int, 256> entries(int depth) const;
};

// Chooses the lanes of a tile of `size` bits so that the fewest of them meet in one bank. bank_bits: as in `ProgramWriter`.
FragmentPlaces fragment_places(const std::array<int, 4>& mixed, int size, int bank_bits);

}  // namespace qx::plan
