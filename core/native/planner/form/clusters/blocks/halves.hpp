// Between which matrices of two wires each a matrix on four wires has zeros: those of what it conserves.
//
// A transpiler makes one matrix of the end of a gate on four wires and of the beginning of the next one where both are on
// the same two wires. Then no turns of single wires bring zeros back, but a sum of operators of two wires each is still such
// a sum behind the matrix, and in the eigenvectors of its terms the matrix mixes equal values alone.
#pragma once

#include <optional>

#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

using Matrix4 = std::array<Complex, 16>;  // of two wires, row by row

// A matrix is the product of `behind`, what is left of it, and `before`, with a matrix for each half of the wires.
struct Halves {
    std::array<Mask, 2> bits;
    std::array<Matrix4, 2> before, behind;
    std::vector<Complex> left;
    std::size_t filled = 0;  // entries that are left
};

// Takes matrices of two wires off a unitary matrix, [16, 16]; returns the one of some choices of which least is left. low:
// the bits of one half of the wires.
Halves take_halves(const std::vector<Complex>& matrix, Mask low);

// Returns the pieces that a matrix of two wires is, the turns behind them among these; to a phase it adds theirs.
std::vector<Piece> pieces_of(const Matrix4& matrix, Mask wires, double& phase);

}  // namespace qx::form
