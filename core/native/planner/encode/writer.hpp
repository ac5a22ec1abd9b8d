// A sweep as arrays of integers: the program that the kernels of sweeps interpret.
//
// Only structure is encoded, so it is done once; numbers are looked up when the sweep runs.
#pragma once

#include "planner/blocks/links.hpp"
#include "planner/encode/codes.hpp"
#include "planner/encode/joined.hpp"

namespace qx::plan {

// The coefficients of an instruction.
struct CoefficientTable {
    Int at, block, reads, columns;
};

// Encodes a sweep over 2^num_bits amplitudes for vectors of 2^lane_bits real numbers of `real_bytes` bytes.
class Writer {
  public:
    Writer(const PlanContext& context, const StepArrays& steps, int num_bits, int lane_bits, int real_bytes,
           const BlockLinks& links, EncodedSweeps& out)
        : context_(context), steps_(steps), links_(links), num_bits_(num_bits), lane_bits_(lane_bits), out_(out),
          rows_(num_bits, lane_bits, real_bytes, out), joined_(rows_, out.instructions) {}

    void encode(const Step& sweep);

  private:
    using Bits = const Mask*;  // the directions of an item

    std::vector<TouchedBits> touched(const Step& sweep) const;
    void exchange(const Swaps& swaps);
    void item(const Item& item);
    qx::Instruction& write(qx::Kind kind, const RowSelection& where, CoefficientTable table = {});
    RowSelection select(const Item& item, bool bits, int value = 0);
    CoefficientTable table(const Item& item, bool with_reads, CodeTable& given, Int slot, bool scalars, bool& per_lane);
    void scale(const Item& item, CodeTable& codes, bool bits, int value);
    void block(const Item& item, MatrixBlock& block);
    Int row_offset(const Item& item, int value) const;
    bool is_cx(const Item& item) const;
    void cx(const Item& item);
    void exchange(const Item& item, const Index* to);

    std::size_t number_of(const Item& item) const { return static_cast<std::size_t>(&item - steps_.items.data()); }
    Bits bits_of(const Item& item) const { return context_.words.data() + item.words; }
    int row_of(const Item& item, int k) const { return rows_.position(lowest(bits_of(item)[k])); }
    const Mask* reads_of(const Item& item) const { return bits_of(item) + 2 * item.num_bits; }
    Mask when_mask(const Item& item) const { return static_cast<Mask>(item.when_mask); }
    Mask when_value(const Item& item) const { return static_cast<Mask>(item.when_value); }

    const PlanContext& context_;
    const StepArrays& steps_;
    const BlockLinks& links_;
    int num_bits_, lane_bits_;
    EncodedSweeps& out_;
    SweepRows rows_;
    JoinedMatrices joined_;
    Int coefficients_ = 0;  // of the present sweep
    Memo known_blocks_, known_diagonals_;  // by patterns and sizes
    Memo known_any_;                       // of blocks whose entries may be any, by their bits
    std::vector<CutMatrix> blocks_;
    std::vector<CodeTable> diagonals_;
    CodeTable exchange_codes_{{zero_code, one_code, one_code, zero_code, zero_code, one_code, one_code, zero_code},
                              {one_code, zero_code, zero_code, one_code, one_code, zero_code, zero_code, one_code}};
};

}  // namespace qx::plan
