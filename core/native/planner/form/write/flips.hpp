// Which phases under controls are written as X, or as a turn, of one of their wires.
//
// Z under controls between H is X, and a phase under controls between a turn and its inverse is a turn under controls. A
// transpiler has merged such turns with others, so each wire has for each of its phases the choice, and takes the one with
// which fewest turns are left, by dynamic programming along the wire.
#pragma once

#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

// The wire of which a piece is X, or a turn, under the control of its others; negative if it is a phase of all. inverts: X
// where the wire is 0, or the inverse of a turn, where its control has the other value, and the phase of the wire for both:
// X of the control that passed it is none then.
struct Target {
    int wire = -1;
    bool turns = false, inverts = false;
};

// Returns that of each piece. cx_is_free: as it is in a CNOT frame.
std::vector<Target> targets(const Pieces& of, bool cx_is_free);

// Returns how many percent of all pieces are turns of a wire under the control of another one, with no other piece of both
// beside them: what a matrix of two wires is runs as one anyway.
Int percent_of_turns(const Pieces& of, const std::vector<Target>& targets);

// What acts before X in place of a sign, on its wire; its inverse acts behind it.
Matrix2 flip_frame(const Piece& piece, int wire, bool inverts);

// Whether what acts before X is a sign, which passes it, and leaves one where the controls have their values.
bool passes_flip(const Matrix2& turn);

// What acts on one of its wires before a piece.
Matrix2 turn_before(const Piece& piece, int wire);

// What a piece does to one of its wires where the others have their values.
Matrix2 own_phase(const Piece& piece, int wire);

// The same, or its inverse, behind a turn that stays as it is.
Matrix2 turn_under_controls(const Piece& piece, int wire, const Matrix2& before, bool inverts);

}  // namespace qx::form
