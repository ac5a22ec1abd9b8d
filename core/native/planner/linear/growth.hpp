// Which tiles a state is swept over, one after another; while the space that it lies in grows, if it is new.
//
// A state that begins in |0…0⟩ lies in the span of the directions that work has mixed so far, its **mixed space**. It is
// as large as that space, whichever CX there were. So work is done while the space has few dimensions, as tiles/sweep.hpp
// does it for bits; where in memory the space lies is decided afterwards, by backward.hpp. The mixed space of a state that
// is there is all from the beginning, its first tile has the lowest bits, and its tiles lead to a plain end (forward.hpp).
#pragma once

#include "planner/circuit.hpp"
#include "planner/linear/locality.hpp"

namespace qx::plan {

// What one sweep brings near.
struct TileVisit {
    Vectors tile;   // directions that span the tile; those that work mixes come first, in the order of that work
    Vectors lanes;  // the directions that are on the lowest bits when it is read; none where nothing is there to be read
    Numbers work;   // the pieces that run
    Vectors mixed;  // the mixed space before
};

// The space that work has mixed so far, or all of it where a state is there, as sweeps are chosen for it. worth: a new
// state grows for work that takes so many times as long as reading and writing it.
class GrowingSpace {
  public:
    GrowingSpace(const FramedWork& work, const Order& order, const Shape& shape, bool grows, double worth);

    // Chooses the next sweep; false if no work fits into it.
    bool advance();
    bool done() const { return done_; }
    // Returns how long the sweeps so far take at least, in passes over the full state: what they read and write.
    double passes() const { return passes_; }

    std::vector<TileVisit> visits;
    std::vector<int> lowest;  // in the end, the wires whose directions are lowest
    std::vector<int> left;    // and those whose zeros nobody has written

  private:
    double share(int dimensions) const;
    Vectors lacks(const Span& tiles) const;
    std::vector<int> lowest_in(const Span& near) const;
    Vectors ordered(const Span& near, const Numbers& ready) const;
    // Whether directions that no work mixes cost no arithmetic in the last tile.
    bool spreads() const { return grows_ && !shape_.in_vectors(); }
    bool whole(const Span& near) const;
    bool is_end(const Span& near) const;
    Span least_end(Span near) const;
    Span ended(Span near) const;
    bool bring_lanes(Span& near, Numbers& ready, Numbers& others);
    void leave_room(Span& near, Numbers& ready, Numbers& others);
    Span tile(Numbers& ready, Numbers& others);
    Vectors wanted();
    Span larger();
    Span with_room(const Span& near, const Span& wanted) const;
    Vectors next_lanes(const Span& near, const Vectors& tile);
    void by_odd_rows(const Span& near, const Vectors& tile, const Span& wanted, Vectors& order);

    const FramedWork& work_;
    const Shape& shape_;
    const Map& directions_;
    bool grows_, stays_;
    Map may_be_lowest_;  // directions of wires
    const Order& order_;
    double balance_;
    Span every_;  // all directions that are mixed, and those of the wires that are not 0 in all of the state in the end
    std::vector<int> wires_;  // the latter
    Span reach_, mixed_, covered_;
    Vectors lanes_;
    Numbers pending_;
    LinearReasons waits_;  // what pending work waits for with nothing near, if there is any
    double passes_ = 0;
    bool done_ = false, left_room_ = false, brought_ = false, brings_ = false;
};

}  // namespace qx::plan
