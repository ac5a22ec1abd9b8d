// The instructions of a circuit as arrays, as qsim_ex.planning.compiled hands them over.
#pragma once

#include "plan_masks.hpp"

namespace qx::plan {

// The machine as planning sees it: qsim_ex.steps.Shape, fitted to the state. -1 for no bound, and for no blocks.
struct Shape {
    int tile, near, low, edge, phases, dense, table, start, blocks_from;
    bool has_blocks;
    double item_work, balance, block;
};

struct Circuit {
    enum Type : Int { op, permutation, initialize };
    Int size;
    const Int* type;
    const Int* num_mixes;
    const Int* mixes;      // wires, of all instructions one behind the other
    const Int* num_reads;
    const Int* reads;      // masks of wires; of a permutation its indices
    const Int* when;       // mask and value of each instruction
    const Int* pattern;    // numbers of patterns and names
    const Int* name;
    const Int* operand;
    const Int* unitary;
};

}  // namespace qx::plan
