// Which bit of the work each index bit becomes in the end, and what tiles have to have for that.
//
// Where layouts may change, a bit of the work may end on any index bit. So each one ends on the nearest that is left.
#pragma once

#include "planner/algebra.hpp"

namespace qx::plan {

// Returns for each direction the number of its goal: the same, or one that differs by little.
//
// covers: growing spaces; first all are matched that differ by a vector of the first one, and so on.
std::vector<int> matched(const Vectors& now, const Vectors& goals, const std::vector<const Span*>& covers);

// Returns what the span of all tiles lacks for the way of each index bit to a bit of the work; nothing if they do.
//
// stays: whether each bit of the work ends where it began.
Vectors uncovered(const Map& directions, const Span& tiles, bool stays);

}  // namespace qx::plan
