// A sweep as arrays of integers: the program that the kernels of sweeps interpret.
//
// Only structure is encoded, so it is done once; numbers are looked up when the sweep runs.
#pragma once

#include <memory>

#include "kernels/encoding.hpp"
#include "planner/blocks/links.hpp"
#include "planner/encode/codes.hpp"
#include "planner/encode/row_frame.hpp"
#include "planner/encode/tile.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

// The rows and tiles that an instruction acts on.
struct RowSelection {
    Int outside_mask, outside_value, free, steps, fixed, origin, count;
};

// Its coefficients.
struct CoefficientTable {
    Int at, block, reads, columns;
};

// Where the rows of a sweep end, and how many coefficients it has.
struct SweepEnd {
    Int instructions, fills, integers, coefficients;
};

// The sweeps of a plan, one behind the other. All of them have their codes in common, once for each pattern.
struct EncodedSweeps {
    std::vector<qx::Instruction> instructions;
    std::vector<qx::Fill> fills;
    std::vector<std::int32_t> codes;
    std::vector<Int> integers;
    std::vector<Geometry> geometry;
    std::vector<SweepEnd> ends;
    std::vector<Program> programs;

    // Makes room for the sweeps of a large plan, so that they are hardly ever copied.
    void reserve(std::size_t items, std::size_t steps);
    // Makes the programs, when all sweeps are there.
    void finish();
    std::size_t bytes() const;
};

// Encodes a sweep over 2^num_bits amplitudes for vectors of 2^lane_bits real numbers of `real_bytes` bytes.
class Writer {
  public:
    Writer(const PlanContext& context, const StepArrays& steps, int num_bits, int lane_bits, int real_bytes,
           const BlockLinks& links, EncodedSweeps& out)
        : context_(context), steps_(steps), links_(links), num_bits_(num_bits), lane_bits_(lane_bits),
          row_bytes_((Int{2} << lane_bits) * real_bytes), out_(out) {}

    void encode(const Step& sweep);

  private:
    using Bits = const Mask*;  // the directions of an item

    std::vector<TouchedBits> touched(const Step& sweep) const;
    void look();
    Int add(const std::vector<Int>& values);
    void places(const Mask* columns, Mask fresh, Int& at, Int& lanes);
    Int bases(const Mask* columns, Mask tile);
    bool lanes_of(const Mask* columns, Mask tile, int* home) const;
    void exchange(const Swaps& swaps);
    void item(const Item& item);
    qx::Instruction& write(qx::Kind kind, const RowSelection& where, CoefficientTable table = {});
    RowSelection select(const Item& item, bool bits, int value = 0);
    RowSelection rows(Mask free, Mask fixed = 0, Mask outside_mask = 0, Mask outside_value = 0);
    Int steps(Mask free);
    CoefficientTable table(const Item& item, bool with_reads, CodeTable& given, Int slot, bool scalars, bool& per_lane);
    Int reads(const std::vector<Mask>& masks);
    void scale(const Item& item, CodeTable& codes, bool bits, int value);
    void block(const Item& item, MatrixBlock& block);
    void join(const Item& item);
    void close_joined();
    Int row_offset(const Item& item, int value) const;
    Int offset(Mask positions) const { return row_bytes_ * static_cast<Int>(frame_.direction(positions)); }
    bool is_cx(const Item& item) const;
    void cx(const Item& item);
    void frame_changed();
    void exchange(const Item& item, const Index* to);

    std::size_t number_of(const Item& item) const { return static_cast<std::size_t>(&item - steps_.items.data()); }
    Bits bits_of(const Item& item) const { return context_.words.data() + item.words; }
    int row_of(const Item& item, int k) const { return row_of_[lowest(bits_of(item)[k])]; }
    const Mask* reads_of(const Item& item) const { return bits_of(item) + 2 * item.num_bits; }
    Mask when_mask(const Item& item) const { return static_cast<Mask>(item.when_mask); }
    Mask when_value(const Item& item) const { return static_cast<Mask>(item.when_value); }

    const PlanContext& context_;
    const StepArrays& steps_;
    const BlockLinks& links_;
    int num_bits_, lane_bits_;
    Int row_bytes_;
    EncodedSweeps& out_;

    TileLayout layout_;
    Mask load_[64], store_[64];  // what flips in memory with each index bit, as it is read and as it is written
    int row_of_[64], lane_of_[64];
    Mask row_mask_ = 0, lane_mask_ = 0, outside_ = 0;
    Mask all_rows_ = 0;
    bool padded_ = false;
    std::size_t first_integer_ = 0;
    Int coefficients_ = 0;
    RowFrame frame_;
    // Of the present frame: where the steps of some free positions stand, and its origin.
    std::vector<std::pair<Mask, Int>> steps_at_;
    Int origin_ = -1;
    // Instructions on a row bit each that are joined, of one kind: the number of the first one, and the free positions of
    // each.
    std::size_t joined_first_ = 0;
    std::vector<Mask> joined_;
    Memo known_blocks_, known_diagonals_;  // by patterns and sizes
    Memo known_any_;                       // of blocks whose entries may be any, by their bits
    std::vector<CutMatrix> blocks_;
    std::vector<CodeTable> diagonals_;
    CodeTable exchange_codes_{{zero_code, one_code, one_code, zero_code, zero_code, one_code, one_code, zero_code},
                              {one_code, zero_code, zero_code, one_code, one_code, zero_code, zero_code, one_code}};
};

// Encodes all sweeps of a plan, some at a time.
class Encoder {
  public:
    Encoder(const PlanContext& context, const StepArrays& steps, int num_bits, int lane_bits, int real_bytes)
        : steps_(steps), links_(num_bits < thresholds.turned_bits ? BlockLinks() : BlockLinks(context, steps)),
          writer_(new Writer(context, steps, num_bits, lane_bits, real_bytes, links_, sweeps_)) {
        sweeps_.reserve(steps.items.size(), steps.steps.size());
    }

    // Encodes some sweeps; returns false when all are encoded.
    bool advance();
    const EncodedSweeps& sweeps() const { return sweeps_; }
    const BlockLinks& links() const { return links_; }

  private:
    const StepArrays& steps_;
    const BlockLinks links_;
    EncodedSweeps sweeps_;
    std::unique_ptr<Writer> writer_;  // until all sweeps are encoded
    std::size_t at_ = 0;
};

}  // namespace qx::plan
