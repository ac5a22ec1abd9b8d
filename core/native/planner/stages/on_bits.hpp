// From stages with far parities back to work on bits; see qsim_ex.planning.stages.on_bits, which this file reads like.
#pragma once

#include "planner/stages/far_parities.hpp"

namespace qx::plan {

// The work of a stage, and the bits that are far.
struct NamedStage {
    std::vector<Piece> work;
    Mask far;
};

// Work on bits, and the name of each bit of the work in the end.
struct Named {
    std::vector<NamedStage> stages;
    std::vector<int> at;
};

// Returns the work of each stage of a full state. low: so many of the lowest names are never far.
Named forwards(const std::vector<FarStage>& stages, const FramedWork& work, int low, Book& book);

// Returns the same for a state that begins in |0...0>.
Named backwards(const std::vector<FarStage>& stages, const FramedWork& work, int low, Book& book);

}  // namespace qx::plan
