// Matrices of one kind on a row bit each that follow each other, and are done together.
#pragma once

#include <vector>

#include "planner/encode/sweep_rows.hpp"

namespace qx::plan {

class JoinedMatrices {
  public:
    JoinedMatrices(SweepRows& rows, std::vector<qx::Instruction>& instructions) : rows_(rows), instructions_(instructions) {}

    // Takes the last instruction, a matrix on all rows with the bit at a position, with those before it, if it can be.
    void add(int position);
    // Says which of those that were taken are joined: as many at a time as there are registers for, and rather twice two
    // than three and one.
    void close();

  private:
    SweepRows& rows_;
    std::vector<qx::Instruction>& instructions_;
    std::size_t first_ = 0;     // the number of the first one
    std::vector<Mask> free_;  // the free positions of each
};

}  // namespace qx::plan
