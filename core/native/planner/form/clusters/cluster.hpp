// A cluster: pieces that stay on few wires, as one.
#pragma once

#include <algorithm>

#include "planner/form/clusters/joint_phases.hpp"
#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

struct Cluster {
    Mask wires = 0;
    std::vector<Piece> pieces{};
    bool is_rest = false;  // whether a beginning was put before
};

// What the beginning of a cluster is, on wires in the order in which they come.
struct Beginning {
    std::size_t pieces = 0;
    std::vector<int> wires{};
    LocalDiagonal local{};
    JointPhases phases{};

    // How many phases of what was read make one.
    double gain() const {
        return static_cast<double>(pieces) / static_cast<double>(phases.joint.empty() ? 1 : phases.joint.size());
    }
    // The same, where each more counts for more: two that are found one behind the other are better than both as one.
    double worth() const { return gain() * gain() / static_cast<double>(std::max<std::size_t>(1, pieces)); }
};

// Puts those pieces last that what comes next may begin with, since no others are behind them: on some wires, or on two
// alone. Returns how many are first; all if these would be none.
std::size_t put_last(std::vector<Piece>& pieces, Mask ahead);

// Lets a piece act, without turns of wires that are new, which are added to `wires`. whole: which of them, by their places,
// can be other than 0 at first; acts: or, for each other one, other than what its first piece asks for, so that this acts.
void act(const Piece& piece, Segment& on, std::vector<int>& wires, Mask whole = ~Mask{0}, bool acts = false);

// Finds a beginning that is diagonal but for turns, and of fewest phases for its pieces; one of no pieces if there is none.
// least: of how many pieces each has to be, in the mean. alone: how many of the first pieces are phases one by one. within:
// how many pieces are looked at.
Beginning find_phases(const Cluster& of, std::size_t within, double least, std::size_t& alone, std::size_t& work);

// Finds the phases that all of a cluster is, but for turns; of no pieces if it is none.
Beginning find_whole(const Cluster& of, std::size_t& work);

// Puts the phases of a beginning, between turns.
void put_phases(const Cluster& of, const Beginning& beginning, Pieces& to);

}  // namespace qx::form
