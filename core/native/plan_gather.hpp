// Phases of the same parities become one.
#pragma once

#include "plan_numbers.hpp"

namespace qx::plan {

// Returns the work with phases joined that read the same parities under the same condition, with nothing between them that
// mixes these bits: each where the first of them was. Products are added to the program. cheap: whether items cost little
// beside their arithmetic; then phases of the whole state are joined, too.
std::vector<Piece> gather(std::vector<Piece> work, Book& book, NumberProgram& program, bool cheap);

// Lets phases cost what they take as a part of a table.
void weigh(std::vector<Piece>& work);

}  // namespace qx::plan
