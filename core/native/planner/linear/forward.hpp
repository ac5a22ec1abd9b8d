// Where in memory a state that is there lies behind each sweep, found forwards from a plain layout to a plain one.
//
// Here a layout is the list of directions of the index bits: what each of them flips. A sweep changes this list in a simple
// way, since it can add any direction of its tile to the direction of an index bit. In the end each index bit has to have
// the direction of a bit of the work, so the difference has to be a sum of directions of tiles. Two things keep it from
// going straight there: the lowest bits are the lanes that the next sweep wants, and directions of several bits must stay
// independent.
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
