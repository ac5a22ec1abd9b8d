// The form of an encoded sweep, as qsim_ex.kernels.cpu.encoding describes it; a test compares the two.
#pragma once

#include <cstdint>

#include "base/export.hpp"

namespace qx {

// Numbers that a million instructions hold again and again, in four bytes each.
using Half = std::int32_t;

enum class Kind : std::int16_t {
    LANES,
    LANE,
    SCALE_REAL,
    SCALE_COMPLEX,
    PAIR_REAL,
    PAIR_COMPLEX,
    QUAD_REAL,
    QUAD_COMPLEX,
    DENSE,
    EXCHANGE,
};

struct Instruction {
    Int outside_mask;
    Int outside_value;
    Int table;
    Half free;
    Half steps;
    Half fixed;
    Half origin;
    Half count;
    Half block;
    Half reads;
    Half columns;
    Half size;
    Half offsets[8];
    Kind kind;
    std::int16_t per_lane;
};

struct Fill {
    Int to;
    Int slot;
    Half blocks;
    Half entries;
    Half from;
    Half identity;
    Half lane_columns;
    Half kept;
    Half splat;
    std::int16_t lane_mask;
    std::int16_t lane_value;
};

struct Geometry {
    Int num_bits;
    Int row_bits;
    Int tile_mask;
    Int load;
    Int load_lanes;
    Int load_direct;
    Int store;
    Int store_lanes;
    Int store_direct;
    Int load_base;
    Int store_base;
    Int grown;
};

// Tables over rows are split: one for the lowest bits of the row number, one for the others.
constexpr Int low_rows = 6, low_mask = 63;

// The place of rows that memory does not hold: padding, and zeros that were never written. A place is the XOR of up to
// three table entries; the second has 2 * nowhere instead, the third 4 * nowhere.
constexpr Int nowhere = Int{1} << 60;

// Codes of constants among the coefficients, see qsim_ex.kernels.cpu.items.
constexpr Int code_zero = -1, code_one = -2;

// A whole encoded sweep. coefficients: the number of reals that are looked up when it runs.
struct Program {
    const Instruction* instructions;
    Int num_instructions;
    const Fill* fills;
    Int num_fills;
    const std::int32_t* codes;
    const Int* integers;
    const Geometry* geometry;
    Int coefficients;
};

}  // namespace qx
