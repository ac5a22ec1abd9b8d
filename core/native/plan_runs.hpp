// Long runs of work on two bits become one matrix.
#pragma once

#include "plan_fuse.hpp"

namespace qx::plan {

// Returns the work with runs joined where that saves enough. A run is all work on two bits that no other work on these
// bits interrupts: a dense gate on two wires is often written as some CX with one-qubit gates between.
// What stands beside a joined run, because it was counted to another one that stays apart, is merged into it.
std::vector<Piece> join_runs(std::vector<Piece> work, Book& book, NumberProgram& program, double item_work);

}  // namespace qx::plan
