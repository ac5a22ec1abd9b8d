// An operation whose numbers differ from binding to binding, as Pauli rotations whose angles are sums of phases.
//
// What its matrices have in common is a basis in which they are all diagonal: that of an RZ, an RX, a controlled phase or an
// RZX does not depend on the angle. Phases of eigenvalues are arguments of sums of entries, and angles are sums of them.
// Eigenvalues that are the same for all matrices that are known, or equal or conjugate to others, are taken to stay so. What
// each entry has to be for that is said, so that other bindings can be checked.
#pragma once

#include "planner/form/gates/product.hpp"

namespace qx::form {

// What a phase is multiplied by.
struct Multiple {
    Index phase;
    double by;
};

// exp(-i (angle + Σ multiples)/2 P)
struct VaryingRotation {
    LocalPauli pauli;
    double angle;
    std::vector<Multiple> multiples;
};

// Of a sum of entries whose argument is a phase, a summand.
struct Input {
    Index phase, entry;
    Complex by;
};

// A summand of what an entry has to be: e^{iφ} of a phase, or its conjugate, times a number; the number alone for no phase.
struct Share {
    static constexpr Index none = ~Index{0};
    Index entry, phase;
    bool conjugate;
    Complex by;
};

struct VaryingProduct {
    std::vector<VaryingRotation> rotations;  // in the order in which they act
    VaryingRotation phase;  // of all, as an angle
    double off = 0;  // about how far the operations are from it
    Index num_phases = 0;
    std::vector<Input> inputs;  // phase by phase
    std::vector<Share> shares;  // entry by entry, the number alone first
};

// Returns whether operations that differ in their entries alone have a basis in common that was found; then the product is
// written. tolerance: how far a matrix may be from one with a structure.
bool find_varying(const std::vector<Operation>& samples, double tolerance, VaryingProduct& out);

}  // namespace qx::form
