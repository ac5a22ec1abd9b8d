// For which values of other bits known phases between two H flip a bit, and the X under conditions that does so.
#pragma once

#include "planner/algebra.hpp"
#include "planner/rewrite/controls/eighths.hpp"

namespace qx::plan {

// A sum of terms, in eighth turns, by which phases turn a bit for each value of the others.
class Flips {
  public:
    // bit: the one that is turned. first: by what it is turned for all values.
    Flips(int bit, int first) : bit_(bit), first_(first) {}

    // These say which parities the phases depend on: all phases are shown first, and then added.
    // shift: what was added to the bit before the phase. turns: of a phase of the bit alone.
    void show(const Piece& phase, const Shift& shift, const PlanContext& context);
    void show(int turns, const Shift& shift);
    // Whether there are few enough parities; makes room for the values of these.
    bool fits();
    void add(const Piece& phase, const Shift& shift, const PlanContext& context);
    void add(int turns, const Shift& shift);
    // Whether each value turns the bit by 0 or pi.
    bool found();
    // Makes the X; returns false if nothing flips.
    bool x(Index label, PlanContext& context, Piece& out) const;

  private:
    Mask read_of(Mask mask, const Shift& shift) const { return mask >> bit_ & 1 ? mask ^ unit(bit_) ^ shift.mask : mask; }
    Piece selected(const Vectors& parities, unsigned flips, Index label, PlanContext& context) const;

    const int bit_, first_;
    Span span_;
    std::vector<int> turns_;
    unsigned flips_ = 0;
};

}  // namespace qx::plan
