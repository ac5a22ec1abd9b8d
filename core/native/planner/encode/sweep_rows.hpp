// The rows of a sweep while it is encoded: where they stand in memory and in the tile, and which of them an item acts on.
#pragma once

#include <utility>
#include <vector>

#include "planner/encode/encoded_sweeps.hpp"
#include "planner/encode/row_frame.hpp"
#include "planner/encode/tile.hpp"

namespace qx::plan {

// The rows and tiles that an instruction acts on.
struct RowSelection {
    Int outside_mask, outside_value, free, steps, fixed, origin, count;
};

// Bits with a value, which select rows, lanes and tiles.
struct BitValues {
    Mask mask = 0, value = 0;
};

// Instructions name what they need of rows by its place among the integers of their sweep, where this writes it.
class SweepRows {
  public:
    SweepRows(int num_bits, int lane_bits, int real_bytes, EncodedSweeps& out)
        : num_bits_(num_bits), lane_bits_(lane_bits), bytes_((Int{2} << lane_bits) * real_bytes), out_(out) {}

    // Lays out the tile of the next sweep; returns whether rows are whole vectors in memory.
    bool begin(Mask tile, const std::vector<TouchedBits>& work);
    // Exchanges lane bits and row bits.
    void exchange(const Swaps& swaps);
    // Lets the frame follow a CX whose target is on a row.
    void cx(int control, int target, bool value);

    // Appends integers; returns their start.
    Int add(const std::vector<Int>& values);
    // Appends the place of each row and each lane in memory (in amplitudes); returns where the two tables begin. fresh:
    // index bits at whose 1 all amplitudes are zero, which memory need not hold.
    std::pair<Int, Int> places(const Mask* columns, Mask fresh);
    // Appends what a map adds to each bit outside the tile, now that rows may depend on it; returns where, −1: nothing. Such
    // a bit may be above those of the state.
    Int bases(const Mask* columns, Mask tile);
    // Appends the steps by which rows are counted up whose positions are free; returns where they stand.
    Int steps(Mask free);
    // Appends how parities select a block: for each bit of a row's number what it flips, then the masks outside the tile,
    // then what is always flipped; returns where.
    Int reads(const std::vector<Mask>& masks);

    // Finds the bits of a tile that are alone on the lanes of vectors in memory; returns whether each lane has one.
    bool lanes_of(const Mask* columns, Mask tile, int* home) const;
    // The rows whose positions in `free` may be anything, the others what `fixed` says, and the rows and tiles among them
    // where bits have a value.
    RowSelection select(BitValues when, Mask free, Mask fixed = 0);

    const TileLayout& layout() const { return layout_; }
    const RowFrame& frame() const { return frame_; }
    Int bytes() const { return bytes_; }  // of a row
    Mask all() const { return all_; }     // the positions of rows that are no padding
    Mask lane_mask() const { return lane_mask_; }
    bool padded() const { return padded_; }
    int position(int bit) const { return row_of_[bit]; }  // of a bit in the number of a row; −1: it is elsewhere
    int lane(int bit) const { return lane_of_[bit]; }
    // The distance between rows that differ in some positions.
    Int offset(Mask positions) const { return bytes_ * static_cast<Int>(frame_.direction(positions)); }

  private:
    void look();
    void frame_changed();

    const int num_bits_, lane_bits_;
    const Int bytes_;
    EncodedSweeps& out_;
    TileLayout layout_;
    RowFrame frame_;
    int row_of_[64], lane_of_[64];
    Mask row_mask_ = 0, lane_mask_ = 0, outside_ = 0, all_ = 0;
    bool padded_ = false;
    std::size_t first_integer_ = 0;
    // Of the present frame: where the steps of some free positions stand, and its origin.
    std::vector<std::pair<Mask, Int>> steps_at_;
    Int origin_ = -1;
};

}  // namespace qx::plan
