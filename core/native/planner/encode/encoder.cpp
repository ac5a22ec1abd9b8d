// Encodes all sweeps of a plan, some at a time.

#include "planner/encode/encoder.hpp"

#include "base/export.hpp"
#include "base/owned.hpp"
#include "planner/blocks/turned.hpp"
#include "planner/steps.hpp"

namespace qx::plan {

bool Encoder::advance() {
    for (Int k = 0; k < thresholds.sweeps_at_once && at_ < steps_.steps.size(); ++k, ++at_)
        if (steps_.steps[at_].type == Step::sweep) writer_->encode(steps_.steps[at_]);
    if (at_ < steps_.steps.size()) return true;
    writer_.reset();
    sweeps_.finish();
    return false;
}

}  // namespace qx::plan

// --- what Python calls -------------------------------------------------------------------------------------------------

using qx::Owned;
using qx::plan::Encoder;

// Returns an encoder of the sweeps of a plan (its `PlanSteps`), for a state of 2^num_bits amplitudes and vectors of
// 2^lane_bits real numbers of `real_bytes` bytes.
QX_EXPORT(plan_encode_begin, (qx::Int steps, qx::Int num_bits, qx::Int lane_bits, qx::Int real_bytes)) {
    auto* plan = reinterpret_cast<const qx::plan::PlanSteps*>(steps);
    return Owned<Encoder>::make([&] {
        return new Encoder(*plan->context, plan->steps, static_cast<int>(num_bits), static_cast<int>(lane_bits),
                           static_cast<int>(real_bytes));
    });
}

// Goes on for about so many milliseconds; returns 0 when all sweeps are encoded, 1 while they are not.
QX_EXPORT(plan_encode, (qx::Int encoder, qx::Int milliseconds)) {
    return Owned<Encoder>::change(
        encoder, [&](Encoder& made) { return qx::worked_for(milliseconds, [&] { return qx::Int{made.advance()}; }); });
}

// Writes where the programs of encoded sweeps begin, one behind the other, the bytes of all, and how many dense blocks may
// get other numbers.
QX_EXPORT(plan_encoded, (qx::Int encoder, qx::Int* out)) {
    const qx::plan::EncodedSweeps& made = Owned<Encoder>::at(encoder).sweeps();
    out[0] = reinterpret_cast<qx::Int>(made.programs.data()), out[1] = static_cast<qx::Int>(made.bytes());
    out[2] = Owned<Encoder>::at(encoder).links().turnable();
    return 0;
}

// Writes other numbers for dense blocks in place of those among all packed numbers of the plan; see `turn_blocks`.
QX_EXPORT(plan_turn_blocks, (qx::Int encoder, void* packed)) {
    const qx::plan::BlockLinks& links = Owned<Encoder>::at(encoder).links();
    return qx::guarded([&] { return qx::plan::turn_blocks(links.blocks, static_cast<std::complex<double>*>(packed)); });
}

QX_EXPORT(plan_free_encoded, (qx::Int encoder)) {
    Owned<Encoder>::drop(encoder);
    return 0;
}
