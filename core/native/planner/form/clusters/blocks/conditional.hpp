// Turns of one wire under conditions of two others.
#pragma once

#include <optional>

#include "planner/form/clusters/cluster.hpp"

namespace qx::form {

// What mixes one wire of three, by their bits: turns of it behind and before those of all wires, each by an angle about one
// axis for some value of the other two, and phases of these.
struct Conditional {
    struct Where {
        Mask values;    // of all bits: where it is a phase by the angle, behind a turn that is undone behind it
        double angle;
        Matrix2 turn;
    };

    std::size_t mixed = 3;  // a bit
    std::vector<Matrix2> before{}, behind{};
    std::vector<Where> turns{};
    JointPhases phases{};  // of the other two, in their order

    std::size_t size() const { return turns.size() + phases.joint.size(); }  // in pieces
};

// Returns what some pieces on three wires are, if they mix one wire alone.
std::optional<Conditional> conditional(const Segment& of);

// Puts it in place of all pieces of a cluster.
void put_conditional(const Conditional& one, const Cluster& of, Pieces& to);

}  // namespace qx::form
