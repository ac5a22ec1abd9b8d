// How much work gates are that are written, by which what is hardly the fastest is left out before it is planned.
#pragma once

#include <vector>

#include "planner/form/write/writer.hpp"

namespace qx::form {

// Returns the multiply-adds for an amplitude, about, that gates are in a plan.
double work_of(const std::vector<Gate>& gates);

}  // namespace qx::form
