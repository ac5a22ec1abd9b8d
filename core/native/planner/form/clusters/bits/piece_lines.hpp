// The pieces of each wire, and which pieces come again.
#pragma once

#include "planner/form/clusters/bits/axis_pieces.hpp"

namespace qx::form {

// Returns after which pieces one on the same wires comes again, with the same axes, up to their directions, but for one.
std::vector<bool> those_that_return(const AxisPieces& of);

class PieceLines {
  public:
    explicit PieceLines(const AxisPieces& of);

    // Returns wires on which nothing acts before a piece.
    Mask untouched(std::size_t before) const;
    // Returns which of some wires of a piece gets another axis first behind it; -1 if none does soon.
    int changes_first(const AxisPieces& of, std::size_t number, Mask among) const;
    // Finds the pieces of each wire anew among some.
    void number_anew(const AxisPieces& of, std::size_t from, std::size_t end);

  private:
    std::vector<std::vector<std::size_t>> lines_;
};

}  // namespace qx::form
