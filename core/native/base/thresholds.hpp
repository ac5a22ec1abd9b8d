// The numbers at which rewriting takes another way: qsim_ex.circuit.thresholds has them, and says what they are.
#pragma once

#include "base/int.hpp"

namespace qx {

struct Thresholds {
    Int window, looked_at, relabeled, parities, run_work, item_work, read_at_once, instructions_at_once, runs_at_once,
        pieces_at_once;
};

// Python sets these before the first plan, and no thread plans while a test changes them.
extern Thresholds thresholds;

}  // namespace qx
