// From stages with far parities back to work on bits: CX make each direction a bit when a piece mixes it.
//
// A map says which bits flip with each bit of the frame. A CX between bits changes the map, and only its target has to be
// near. So a far bit is never the target of one, and keeps its parity during its stage.
// Before the next stage, CX make each parity that will be far a bit. What is exchanged or migrated are bits, as ever.
//
// A full state is written forwards, and CX make its end plain. A new state is written backwards from a plain end: any map
// will do at the start of |0…0⟩.
#pragma once

#include "planner/stages/parities/far_parities.hpp"

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
Named forwards(const std::vector<FarStage>& stages, const FramedWork& work, int low, PlanContext& context);

// Returns the same for a state that begins in |0...0>.
Named backwards(const std::vector<FarStage>& stages, const FramedWork& work, int low, PlanContext& context);

}  // namespace qx::plan
