// Phases that are known to be eighth turns, and what a bit makes of them.
#pragma once

#include "planner/coefficients/program.hpp"

namespace qx::plan {

constexpr int eighths_of_turn = 8;

// A phase that is known in eighth turns; -1 for another number.
int eighths(char entry);

// An H between phases: e^{i gamma} diag(1, e^{i alpha}) H diag(1, e^{i beta}), in eighth turns.
struct Turned {
    int alpha, beta, gamma;
};

// What X under conditions have added to a bit: the parity of a mask of others, and 1 if inverted.
struct Shift {
    Mask mask = 0;
    bool inverted = false;
};

// Makes known phases of others.
class Eighths {
  public:
    Eighths(PlanContext& context, CoefficientProgram& program) : context_(context), program_(program) {}

    // Finds what a piece is as an H between phases; returns whether it is one, and has the numbers of these phases.
    bool turned(const Piece& piece, Turned& out) const;
    // Whether a piece is phases of which all are known.
    bool known(const Piece& piece) const;
    // Whether a piece is a known phase that reads the same as another one, and is its inverse.
    bool undoes(const Piece& then, const Piece& phase) const;
    // These return whether there is a phase, which they put into `out`: none where it is 1.
    // What a phase is where a shift stands in place of a bit.
    bool in_place_of(const Piece& phase, int bit, const Shift& shift, Piece& out);
    // Phases of a parity at 0 and at 1, in eighth turns, with numbers from a matrix that is `turned`.
    bool phases_of(const Piece& of, Mask parity, int at_0, int at_1, Piece& out);
    // A Z under a condition, with its number from such a matrix.
    Piece z(const Piece& of, When when, Index label);

  private:
    // Phases in the making.
    struct Phases {
        When when;
        std::vector<Mask> reads;
        std::vector<Index> places;
        std::vector<char> classes;
    };

    Index number(const Piece& of, int turns);
    bool made(const Piece& like, Phases& of, Piece& out);

    PlanContext& context_;
    CoefficientProgram& program_;
};

}  // namespace qx::plan
