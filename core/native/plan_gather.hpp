// Phases of the same parities become one.
#pragma once

#include "plan_numbers.hpp"

namespace qx::plan {

// Returns the work with phases joined that read the same parities under the same condition, with nothing between them that
// mixes these bits: each where the first of them was. Products are added to the program.
std::vector<Piece> gather(std::vector<Piece> work, Book& book, NumberProgram& program);

}  // namespace qx::plan
