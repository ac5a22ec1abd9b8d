// The instructions of a circuit as planning reads them, and the machine as it sees it.
#pragma once

#include <memory>

#include "plan_piece.hpp"
#include "python.hpp"

namespace qx::plan {

// The machine as planning sees it: qsim_ex.steps.Shape, fitted to the state. -1 for no bound, and for no blocks.
struct Shape {
    int tile, near, low, edge, phases, dense, table, start, blocks_from;
    bool has_blocks, floats, relabels;
    double item_work, balance, block;
};

// Instructions as rows; their wires and masks stand one behind the other, in the order of the rows.
struct Circuit {
    enum Type : std::uint8_t { op, permutation, initialize };
    struct Row {
        Int operand;
        When when;
        Index pattern, name;
        std::uint32_t num_reads;
        std::uint8_t num_mixes;
        Type type;
        bool unitary;
    };
    std::vector<Row> rows;
    std::vector<std::uint8_t> mixes;  // wires
    std::vector<Mask> reads;          // masks of wires; of a permutation its indices
    Int num_operands = 2;             // the circuit has so many at least: entries 0 and 1 are constants
};

// Reads a tuple of operations; the pattern and the name of each are put into the book. types: of each instruction, or
// null if all are operations. Returns whether all went well; if not, a Python exception is raised.
bool read(python::Object* ops, const Int* types, Circuit& out, Book& book);

}  // namespace qx::plan
