// Long runs of work on two bits become one matrix.
//
// A dense gate on two wires is often written as some CX with one-qubit gates between. Fusing neighbours does not put it
// together again, since no two of its pieces gain by being one; all of them together do. A run is all work on two bits
// that no other work on these bits interrupts. Small states have no runs joined: there the products of matrices, which the
// host computes, would take longer than they save.
#pragma once

#include "planner/rewrite/fuse.hpp"

namespace qx::plan {

// Joins runs of work where that saves enough. A run is all work on two bits that no other work on these bits interrupts: a
// dense gate on two wires is often written as some CX with one-qubit gates between.
// What stands beside a joined run, because it was counted to another one that stays apart, is merged into it.
class RunJoiner {
  public:
    // Work on two bits. anchor: the first piece that touches both, where the whole run may stand. core: how many members
    // there are up to the last one that touches both. leads: what stood behind the cores of earlier runs on these bits, and
    // may belong to this one.
    struct Run {
        Mask bits;
        Index anchor;
        std::vector<Index> members, leads;
        std::size_t core = 0;
    };

    RunJoiner(std::vector<Piece> work, PlanContext& context, CoefficientProgram& program, Trials& trials, double item_work,
              Rules rules);

    // Does a bounded amount of work; returns false when all is done.
    bool advance();
    // Returns the work with runs joined.
    std::vector<Piece> finish();

  private:
    void join(const Run& run);
    bool whole(const std::vector<Index>& members, Mask bits, Piece& made);
    void lengthen(const Run& run, std::vector<Index>& members, Piece& made);
    std::vector<Index> leads_of(const Run& run) const;

    PlanContext& context_;
    double item_work_;
    Fuser fuser_;
    std::vector<Piece> work_;
    std::vector<bool> gone_;
    std::vector<Run> runs_;
    std::size_t run_ = 0, at_ = 0;
    bool joined_ = false;
    std::vector<const Piece*> pieces_;
};

}  // namespace qx::plan
