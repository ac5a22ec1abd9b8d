// An operation as a product of Pauli rotations on its own wires.
//
// What its matrix is says how: phases of parities, turns of one wire under conditions, Weyl's form of two wires, a
// Clifford operator, a product of smaller matrices. It does not matter how a gate was written, nor by what name.
#pragma once

#include <vector>

#include "planner/form/gates/turn.hpp"
#include "planner/form/pauli.hpp"

namespace qx::form {

// A Pauli string on the arguments of an operation: on wires that it mixes, and Z on what it reads (parities of wires, then
// controls), which is all that acts there.
struct LocalPauli {
    std::uint32_t x = 0, z = 0, reads = 0;
};

// exp(-i angle/2 P)
struct LocalRotation {
    LocalPauli pauli;
    double angle;
};

// Rotations in the order in which they act, and a phase. off: about how far they are from what they were found for.
struct Product {
    std::vector<LocalRotation> rotations;
    double phase = 0;
    double off = 0;
};

// An operation: its matrices [2^reads, 2^mixes, 2^mixes], applied where controls have their values.
struct Operation {
    int mixes, reads, controls;
    Mask values;
    const Complex* entries;
};

// Returns whether an operation was found to be a product, which is written; what is not is dense, or on many wires.
// tolerance: how far a matrix may be from one with a structure.
bool find_product(const Operation& operation, double tolerance, Product& out);

// Appends rotations that make up a turn of an argument that an operation mixes; returns how far they are off.
double add_turn(const Turn& turn, int wire, double tolerance, std::vector<LocalRotation>& to);

}  // namespace qx::form
