// From the work of a sweep to its items: tables of commuting diagonals, slots for coefficients.
#pragma once

#include <utility>

#include "planner/tiles/sweep.hpp"

namespace qx::plan {

// Collects the items of one sweep. Tables stand behind all numbers, so their slots are set last.
class Packer {
  public:
    Packer(PlanContext& context, CoefficientProgram& program, StepArrays& out, int table);

    // Appends the items of a register block, with diagonals as late as possible, so that many merge into one table; they are
    // held back for the next one if this is not the last.
    void add(Directions registers, const PieceRefs& work, bool last);
    // Moves out the diagonals that are held back.
    PieceRefs take_held() { return std::exchange(held_, {}); }
    // Appends the packed places, and returns how many numbers and table entries there are.
    void finish(Int& numbers, Int& tables);

  private:
    struct Group;

    void add(const Piece& piece, Index pattern, const Places& source, const Mask* reads, int num_reads, Index label);
    void dense(const Piece& piece);
    // Merges the diagonals that are due into as few tables as fit; optional ones join groups that are tables anyway.
    void tables(const PieceRefs& due, PieceRefs& optional);
    void write(Group& group);
    double alone(const Piece& piece);

    PlanContext& context_;
    CoefficientProgram& program_;
    StepArrays& out_;
    int limit_;
    std::size_t first_item_;
    Mask registers_ = 0;  // of the register block
    PieceRefs held_;
    PieceRefs due_, others_;  // memory of `add`
    std::vector<Index> numbers_, tables_;
    std::vector<Mask> parities_;
};

}  // namespace qx::plan
