// Encodes all sweeps of a plan, some at a time.
#pragma once

#include <memory>

#include "planner/encode/writer.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

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
