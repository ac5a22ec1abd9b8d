// The form of an encoded sweep, and the meaning of each integer. planner/encode/writer.cpp writes it, kernels/sweep.cpp
// reads it.
#pragma once

#include <cstdint>

#include "base/int.hpp"

namespace qx {

// Numbers that a million instructions hold again and again, in four bytes each.
using Half = std::int32_t;

enum class Kind : std::int16_t {
    LANES,
    SCALE_REAL,
    SCALE_COMPLEX,
    PAIR_REAL,
    PAIR_COMPLEX,
    QUAD_REAL,
    QUAD_COMPLEX,
    DENSE,
    EXCHANGE,
};

// An instruction. Rows and offsets from them are in bytes, and are XORed: see `RowFrame`.
//
// Its rows are `fixed` XOR all values of the bits of `free`.
struct Instruction {
    Int outside_mask;  // index bits outside the tile that must have a value; other tiles skip it
    Int outside_value;
    Int table;  // its first coefficient
    Half free;
    Half steps;  // where the differences begin between rows that follow each other behind a CX; -1: `free` says them
    Half fixed;
    Half origin;  // where the masks begin that say which bits of `fixed` index bits outside the tile flip; -1: none
    Half count;  // how many rows
    Half block;  // coefficients of a block
    Half reads;  // parities that select the block, see `Writer::reads`
    Half columns;  // also see `is_joined`
    Half size;  // of DENSE; the mask of the lane bits of LANES; see `is_joined`, `may_be_turned`
    Half offsets[8];  // of DENSE, where they begin among the integers, and whether it may be turned
    Kind kind;
    std::int16_t per_lane;  // whether coefficients are vectors: DENSE and SCALE, which take scalars, too
};

// Whether an instruction begins some that are matrices on a row bit each, of all rows, with nothing in between: `size` of
// them. `columns` says where the steps of the rows begin that have 0 on each of those bits, as `steps` does.
inline bool is_joined(const Instruction& it) {
    return (it.kind == Kind::PAIR_REAL || it.kind == Kind::PAIR_COMPLEX) && it.size > 0;
}
constexpr Int most_joined = 3;  // 2 unless vectors have 64 bytes, of which there are 32 registers

// Whether an instruction and the next one are the two halves of a matrix on two row bits, of all rows.
constexpr Half halves = -1;
inline bool is_halved(const Instruction& it) {
    return (it.kind == Kind::PAIR_REAL || it.kind == Kind::PAIR_COMPLEX) && it.size == halves;
}

// Whether an instruction is a dense block on two or three row bits, of all rows, whose numbers may be a `TurnedBlock`; and
// on how many.
inline bool may_be_turned(const Instruction& it) {
    return (it.kind == Kind::QUAD_COMPLEX && it.size > 0) || (it.kind == Kind::DENSE && it.offsets[1] > 0);
}
inline int turned_bits(const Instruction& it) { return it.kind == Kind::DENSE ? 3 : 2; }

// A rotation of row b's amplitude into row a. phase: whether b is given a phase before.
struct RowRotation {
    int a, b;
    bool phase;
};

// What stands in place of the 4^bits complex numbers of a dense block; see planner/blocks/turned.hpp.
//
// Each rotation in turn: with a phase, row b is multiplied by 1 + i number; a becomes a - number b, and b + number a. Then
// row r = 1, 2, 3 … is multiplied by p + i q, with p = 1 unless `is_scaled`. Row r is written where row r ^ flips was. That,
// times the scale, is what the block does.
template <int of_bits>
struct TurnedBlock {
    static constexpr int bits = of_bits, size = 1 << bits, most = 25, rotations = bits == 2 ? 4 : most;
    static constexpr int phases = bits == 2 ? 2 : 22, ends = 2 * rotations + phases;  // where p and q of row 1 are
    static constexpr int numbers = ends + 2 * (size - 1);

    // The rotations of the first row, which has 2 or 5 entries, and those of the others, row by row from the last one on.
    struct Order {
        RowRotation at[rotations]{};
        constexpr Order() {
            int count = 0;
            if (bits == 2) {
                at[count++] = {3, 0, false};
            } else {
                for (const RowRotation it : {RowRotation{5, 4, true}, {7, 6, false}, {6, 4, false}, {4, 0, false}})
                    at[count++] = it;
            }
            for (int row = size - 1; row > 1; --row)
                for (int k = 1; k < row; ++k, ++count) at[count] = {k, k + 1, bits > 2 || row < size - 1 || k > 1};
        }
    };
    static constexpr Order order{};

    // whole: whether the block leaves all rows as large as they should be. Else it leaves each bit's 1 larger.
    static constexpr bool is_scaled(int row, bool whole) { return whole || row == 3; }

    double mark;  // infinity, which is the first number of no matrix
    double flips, whole;
    double number[numbers];
    double real, imag;  // the scale
};

// How the coefficients of an instruction are looked up.
//
// Its codes count from number `slot` of the packed numbers on and are in the order of the item's reads, so that all items of
// one pattern have them in common: the bits of a block's number are those of `kept` in the number of its codes, and each
// lane flips others.
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

// tile_mask: bits that do not number tiles. load, store: where the tables begin that say where each row is in memory, and
// load_lanes, store_lanes each lane; load_direct, store_direct: whether a row is a vector there, too. load_base, store_base:
// where the masks begin of what flips, too, with each index bit outside the tile; -1 if nothing does. grown: bits of the
// tile at whose 1 memory holds nothing until then.
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

// Codes of constants among the coefficients; see planner/encode/codes.hpp.
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
