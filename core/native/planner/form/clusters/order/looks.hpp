// Looks for clusters from either end of a circuit in turns, and the best of what they have left.
#pragma once

#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

class Looks {
  public:
    // zeros: whether all wires are 0 at first.
    Looks(int wires, bool zeros) : zeros_(zeros), fewest_(wires, zeros) {}

    // Whether one has ended.
    bool any() const { return number_ > 0; }
    // Whether all wires are 0 before the pieces that are looked at now, which from the end are the inverse.
    bool on_zeros() const { return zeros_ && !from_end_; }
    // Ends a look that has left some pieces of those that were read. Returns whether another one follows, of these from the
    // other end: where much was found, and as long as looks change how much there is.
    bool end(Pieces& left, std::size_t read, bool may_follow);
    // Returns the fewest pieces that were left, in the order of the circuit.
    Pieces result();

  private:
    bool zeros_, from_end_ = false;
    std::size_t number_ = 0, size_ = 0;  // of looks that have ended; how much the last one has left
    Pieces fewest_;
    bool fewest_from_end_ = false;
};

}  // namespace qx::form
