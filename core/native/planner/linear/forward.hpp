// Where in memory a state that is there lies behind each sweep, found forwards from a plain layout to a plain one.
//
// Told by what each index bit flips, and not by where each direction lies, layouts change in a simple way: a sweep adds to
// the direction of an index bit any direction of its tile. So each bit has a way to go, from its own direction to that of
// a bit of the work, and what lies between has to be a sum of directions of tiles. Two things keep it from going straight
// there: the lowest bits are the lanes that the next sweep wants, and directions of several bits must stay independent.
#pragma once

#include "planner/linear/growth.hpp"

namespace qx::plan {

// The directions of all index bits before the first sweep, and behind each one.
class Walk {
  public:
    // directions: those of the bits of the work in the end. bits: for each index bit the bit of the work that is on it then.
    // low: how many of them are lanes. stays: whether each bit of the work ends where it began.
    Walk(const std::vector<TileVisit>& visits, const Map& directions, std::vector<int> bits, int low, bool stays);

    // Returns a basis of what is missing from the directions of all bits in the end.
    Vectors left() const;
    // Adds a sweep without work, which brings bits to their ends. size: the dimensions of a tile.
    void go_on(int size);

    std::vector<TileVisit> visits;
    std::vector<int> bits;
    std::vector<Map> layouts;

  private:
    Map goals() const;
    void choose(const std::vector<const Span*>& covers, const Span& near);

    const Map& directions_;
    int low_;
    bool stays_;
};

// Returns a walk over sweeps, and those that it needs beside them to end in a plain layout.
//
// directions: those of the bits of the work in the end. lowest: the bits that are lowest then. tile: the dimensions of a
// tile.
Walk walked(const std::vector<TileVisit>& visits, const Map& directions, const std::vector<int>& lowest, int tile,
            bool stays);

}  // namespace qx::plan
