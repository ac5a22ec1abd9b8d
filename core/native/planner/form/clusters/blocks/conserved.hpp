// Between which turns of its wires a matrix has zeros: those of what it conserves.
//
// A matrix that keeps a number of particles is sparse, but for turns of single wires that a transpiler has merged with it.
// Then a sum of operators of single wires is such a sum again behind it, so that its map of these operators, which shortens
// all others, keeps the length of that sum; in the eigenvectors of its terms the matrix mixes equal values alone.
#pragma once

#include "planner/form/clusters/segment.hpp"

namespace qx::form {

// A matrix is the product of `behind`, what is left of it, and `before`, with a turn for each wire.
struct Turns {
    std::vector<Matrix2> before, behind;
};

// Takes turns off a unitary matrix of some wires, [2^wires, 2^wires], so that what is left has most zeros.
Turns take_turns(std::vector<Complex>& matrix, int wires);

}  // namespace qx::form
