// The numbers at which native code takes another way: qsim_ex.thresholds.rows has them, and says what they are.
#pragma once

#include "base/int.hpp"

namespace qx {

struct Thresholds {
    Int window, looked_at, relabeled, parities, run_work, item_work, read_at_once, instructions_at_once, runs_at_once,
        pieces_at_once, left_behind, reasons, compared_pieces, compared_bits, frame_conditions, scheduled_pieces,
        staged_bits, divided_pieces, divided_work, parity_candidates, summed_entries, blocks_at_once, sweeps_at_once,
        chunk_work, chunk_amplitudes, chunk_bytes, distinct_rows;
};

// Python sets these before the first plan, and no thread plans while a test changes them.
extern Thresholds thresholds;

}  // namespace qx
