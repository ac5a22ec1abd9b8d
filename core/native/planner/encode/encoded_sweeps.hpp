// The sweeps of a plan as the kernels interpret them, one behind the other.
#pragma once

#include <vector>

#include "kernels/encoding.hpp"

namespace qx::plan {

// Where the rows of a sweep end, and how many coefficients it has.
struct SweepEnd {
    Int instructions, fills, integers, coefficients;
};

// All of them have their codes in common, once for each pattern.
struct EncodedSweeps {
    std::vector<qx::Instruction> instructions;
    std::vector<qx::Fill> fills;
    std::vector<std::int32_t> codes;
    std::vector<Int> integers;
    std::vector<Geometry> geometry;
    std::vector<SweepEnd> ends;
    std::vector<Program> programs;

    // Makes room for the sweeps of a large plan, so that they are hardly ever copied.
    void reserve(std::size_t items, std::size_t steps);
    // Makes the programs, when all sweeps are there.
    void finish();
    std::size_t bytes() const;
};

}  // namespace qx::plan
