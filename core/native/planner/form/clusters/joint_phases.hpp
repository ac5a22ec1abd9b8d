// Phases of each index of some bits, as few joint phases of bits.
#pragma once

#include <vector>

#include "planner/form/pauli.hpp"

namespace qx::form {

// A phase where bits have the values of a mask; or exp(-i angle/2 Z…Z) of them.
struct JointPhase {
    Mask bits, values;
    double angle;
};

// Phases that make up others: joint ones of two bits or more, those of single bits where they are 1, and one of all.
struct JointPhases {
    bool parities = false;
    std::vector<JointPhase> joint;
    std::vector<double> single;
    double all = 0;
};

// Returns the fewest that are found, but phases by a sign of two bits as they are, since these may be CX. given: phases, of
// as many indices as bits have. tolerance: up to which one is 0.
JointPhases joint_phases(const std::vector<double>& given, double tolerance);

}  // namespace qx::form
