// The application of a matrix to rows: the rows that it couples, and the source of each coefficient.
//
// A matrix consists of blocks, sets of values that it mixes among themselves: an iSWAP is one pair and two values that do
// not change. A block whose entries are real or imaginary in the right places acts on real and imaginary planes separately
// and costs half. All of this depends on the pattern alone and is computed once for each pattern.
//
// Coefficients are codes: 2k is the k-th float of the packed numbers (real parts at even k), 2k + 1 its negative, and
// negative codes are constants.
#pragma once

#include "planner/patterns.hpp"

namespace qx::plan {

using Codes = std::vector<Int>;

constexpr Int zero_code = -1, one_code = -2, minus_one_code = -3;

// Codes [blocks selected by the reads, entries], for a table that begins at number 0, and those of the unit matrix.
struct CodeTable {
    Codes codes;
    Codes identity;
    Int at = -1;  // where they stand among the codes of a plan's sweeps, once they do

    Index entries() const { return static_cast<Index>(identity.size()); }
    Index blocks() const { return static_cast<Index>(codes.size() / identity.size()); }
};

// One set of values that a matrix mixes among themselves. planes: for each, whether its real and imaginary planes change
// places; empty for a complex matrix.
struct MatrixBlock {
    std::vector<int> values;
    std::vector<int> planes;
    CodeTable table;
};

// The codes of a table of phases; one for each entry if all are real. Empty if all are 1.
CodeTable diagonal_codes(Interned::Bytes pattern);

// A matrix as blocks, one behind another. Values that do not change are in none of them.
//
// to: where behind them the rows of values go; empty if they stay.
struct CutMatrix {
    std::vector<MatrixBlock> blocks;
    std::vector<Index> to;
};

// Cuts a matrix with this pattern.
CutMatrix cut(Interned::Bytes pattern, int num_bits, int num_reads);

}  // namespace qx::plan
