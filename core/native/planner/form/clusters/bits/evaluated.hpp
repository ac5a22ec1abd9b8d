// Ladders that compute conditions and undo that, as what they are in the end.
#pragma once

#include "planner/form/clusters/pieces.hpp"

namespace qx::form {

// Returns pieces in which some, one behind the other but for others that they pass, are as few as what they do in all takes.
// Gates under many controls come as ladders on many wires, of which some are borrowed. zeros: whether all wires are 0 at
// first. work: to which the steps that were taken are added, up to about `within` in each of a few runs, as many again where
// an end is near, and more where something is found. found: to which how much of what was read has become others is added.
// left: off which is taken what turns are off those that they are taken for; what would take more stays as it is.
Pieces evaluated(Pieces given, bool zeros, std::size_t within, double& left, std::size_t& work, std::size_t& found);

}  // namespace qx::form
