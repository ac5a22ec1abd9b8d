// Phases of the same parities become one, and complex matrices on one bit a real rotation between phases.
#pragma once

#include "planner/numbers/program.hpp"
#include "planner/rewrite/trial.hpp"

namespace qx::plan {

// Returns whether a piece is a unitary matrix on one bit with complex numbers.
bool splits(const Piece& piece, const Book& book);

// Returns by what values differ that a piece mixes, if it is two complex matrices on two bits; 0 for others.
int direction(const Piece& piece, const Book& book);

// Returns the work with complex one-bit matrices split up, and pairs of them on two bits. As a complex matrix each costs 8
// multiply-adds per amplitude; in diag(1, e^{ia}) R diag(1, e^{ib}) the rotation costs 4, and the phases merge into tables.
// A pair of rotations is imaginary if trial numbers show that it needs phases on one side at most.
std::vector<Piece> rotate(std::vector<Piece> work, Book& book, NumberProgram& program, const Trials& trials);

// Returns the work with phases joined that read the same parities under the same condition, with nothing between them that
// mixes these bits: each where the first of them was. Products are added to the program. cheap: whether items cost little
// beside their arithmetic; then phases of the whole state are joined, too.
std::vector<Piece> gather(std::vector<Piece> work, Book& book, NumberProgram& program, bool cheap);

}  // namespace qx::plan
