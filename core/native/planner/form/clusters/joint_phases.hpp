// Phases of each index of some bits, as few joint phases of bits.
#pragma once

#include <numbers>
#include <vector>

#include "planner/form/pauli.hpp"

namespace qx::form {

// An angle without whole turns; a call of `remainder` takes ten times as long.
inline double short_way(double angle) {
    constexpr double whole = 2 * std::numbers::pi;
    return angle - whole * static_cast<double>(static_cast<Int>(angle / whole + (angle < 0 ? -0.5 : 0.5)));
}

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

// Joins phases as long as there are two that make one, or three that make two.
void join_phases(std::vector<JointPhase>& phases, double tolerance);

// Returns the fewest that are found, but phases by a sign of two bits as they are, since these may be CX. given: phases, of
// as many indices as bits have. tolerance: up to which one is 0.
JointPhases joint_phases(const std::vector<double>& given, double tolerance);

}  // namespace qx::form
