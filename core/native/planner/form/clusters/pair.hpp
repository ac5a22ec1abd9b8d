// Gates on the same two wires, as a matrix that mixes two of four states alone.
#pragma once

#include <optional>

#include "planner/form/clusters/cluster.hpp"
#include "planner/form/gates/weyl.hpp"

namespace qx::form {

inline Matrix2 matrix_of(const Turn& of) {
    const auto& [x, y, z] = of.v;
    return {Complex(of.w, -z), Complex(-y, -x), Complex(y, -x), Complex(of.w, z)};
}

// Finds what makes up a cluster on two wires between turns, if two of the angles are equal but for signs, so that it mixes
// two of four states alone, which three CZ do not tell.
std::optional<Weyl> find_pair(const Cluster& of, std::size_t& work);

// Returns how many pieces a cluster on two wires may be: a pair is one, and a piece for each angle of others.
std::size_t fewest_on_two(const Cluster& of, std::size_t& work);

// Puts a cluster on two wires as such a matrix, between turns, and a swap before it if its angle is smaller then.
void put_pair(const Cluster& of, const Weyl& pair, Pieces& to);

}  // namespace qx::form
