// Matrices of two wires under the control of a third one: swaps under a control, steps of an evolution under one.
#pragma once

#include <optional>

#include "planner/form/clusters/blocks/halves.hpp"
#include "planner/form/clusters/cluster.hpp"

namespace qx::form {

// Returns the turns of which a matrix of two wires is the product; nothing if it is none.
std::optional<std::array<Matrix2, 2>> turns_of(const Matrix4& of);

// Puts pieces of a cluster on three wires, those one behind the other of them that are dearest as they are as one matrix,
// between turns, of two wires under the control of the third one, or as fewer phases. Returns how many are put: the rest may
// belong to what comes next. work: to which the entries that were looked at are added.
std::size_t put_controlled(const Cluster& of, Pieces& to, std::size_t& work);

}  // namespace qx::form
