// The coordinates of one sweep: what its items call index bits, when its tile is a subspace.
//
// Each direction of a basis of the tile is a position, and where a piece of work mixes a direction that is a sum of
// several, or where a parity says which of a pair is which, CX on positions change the coordinates on the way. So every
// item acts on positions as if they were bits, and its matrix is as it was.
#pragma once

#include "planner/linear/frame.hpp"

namespace qx::plan {

// A direction, and the parity that says which of a pair is which; 0 where nothing asks.
struct Oriented {
    Mask direction, row;
};

// What each bit of a sweep's coordinates stands for, as work is written in them.
class Coordinates {
  public:
    // directions: they span a tile, as they are in memory. back: leads from memory to the bits of the frame. fresh: index
    // bits at whose 1 the state is zero. The first direction with one of them has no other.
    Coordinates(const Map& back, const std::vector<Oriented>& directions, int low, Mask fresh, PlanContext& context);

    // Writes a piece of work, and the CX before it.
    void place(const FramedWork& work, const Framed& framed);
    // Returns what flips in memory with each index bit, if `after` leads from the frame's bits to it. The lowest bits
    // become positions of their own; in_vectors: and no other position flips them.
    Map arrive(const Map& after, bool in_vectors);

    Mask tile = 0;            // the index bits that are positions
    Map load;                 // for each index bit what flips in memory with it, as it is read
    std::vector<Piece> work;  // so far, in coordinates

  private:
    Mask seen(Mask parity) const { return pulled_back(columns_, parity) & ~zero_; }
    std::vector<int> single(const Mask* directions, int count, const Mask* names);
    int own_position(Mask found, int name, Mask taken) const;
    void cx(int control, int target);
    void write(Piece piece);

    PlanContext& context_;
    int low_;
    Mask zero_;  // the fresh bits outside the tile
    Map columns_, inverse_;
    int home_[64];  // the last position of each bit of the work, or -1
    Index cx_pattern_, cx_label_, cx_to_;
};

// A condition: a parity of positions, and its value.
struct OnParity {
    Mask parity;
    bool value;

    auto operator<=>(const OnParity&) const = default;
};

// Returns a piece of work on positions. Conditions on sums of several bits become reads.
Piece on_positions(const Framed& framed, const std::vector<int>& bits, const Vectors& reads,
                   const std::vector<OnParity>& conditions, PlanContext& context);

}  // namespace qx::plan
