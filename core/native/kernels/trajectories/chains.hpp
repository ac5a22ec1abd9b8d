// Runs of steps on one wire, whose matrices are multiplied where no event comes in between: see trajectories.cpp.
#pragma once

#include <bit>

#include "base/array.hpp"
#include "kernels/trajectories/narrow_states.hpp"
#include "kernels/trajectories/trajectories.hpp"

namespace qx::trajectories {
namespace {

// Returns the index bit that a gate or a choice changes or reads, if it is one alone and nothing else decides; else 0.
Int only_bit(const Request& given, const Step& step) {
    const Int* bits = given.ints + step.at;
    if (step.kind == CHOICE) return step.wires == 1 && given.channels[step.number].window ? bits[0] : 0;
    if (step.kind == READING || step.outcome >= 0 || step.wires + step.reads + ones(step.mask) != 1) return 0;
    const Int bit = step.mask ? step.mask : bits[0];
    return ones(bit) == 1 ? bit : 0;
}

// Writes the 2×2 matrix of such a step; that of a choice is its likeliest one, scaled.
void only_matrix(const Request& given, const Step& step, double* to) {
    const double* m = given.m + 2 * step.number;
    double scale = 1;
    if (step.kind == CHOICE) {
        const Channel& channel = given.channels[step.number];
        const Numbers numbers{given.floats + channel.floats, channel.count, channel.size};
        m = given.m + 2 * (channel.entries + channel.ordinary * channel.width);
        scale = numbers.scales()[channel.ordinary];
    }
    if (step.wires) {
        for (Int k = 0; k < 8; ++k) to[k] = m[k] * scale;
        return;
    }
    const double one[] = {1, 0};  // a diagonal
    const double *up = step.mask && step.value ? one : m, *down = step.mask ? step.value ? m : one : m + 2;
    const double diagonal[] = {up[0], up[1], 0, 0, 0, 0, down[0], down[1]};
    for (Int k = 0; k < 8; ++k) to[k] = diagonal[k];
}

// Which steps on one wire follow each other with nothing on that wire between them. Where no event comes in between,
// their matrices are multiplied and pass over the state once. A step at which groups divide whatever the random numbers
// ends what may be put together: all steps before it must have been done, and none behind it.
class Chains {
  public:
    explicit Chains(const Request& given);

    bool has(Int step) const { return linked_[step]; }
    // Returns the step before and behind, −1 without one.
    Int before(Int step) const { return before_[step]; }
    Int behind(Int step) const { return behind_[step]; }
    // Returns the next step from there on that may divide a group without an event.
    Int divides(Int step) const { return divides_[step]; }

  private:
    Array<bool> linked_;
    Array<std::int32_t> before_, behind_, divides_;
};

Chains::Chains(const Request& given)
    : linked_(given.num_steps, false), before_(given.num_steps, -1), behind_(given.num_steps, -1),
      divides_(given.num_steps) {
    std::int32_t last[64];  // for each wire the step that the next one may follow, −1 without one
    for (std::int32_t& one : last) one = -1;
    for (std::int32_t k = 0; k < given.num_steps; ++k) {
        const Step& step = given.steps[k];
        const Int* bits = given.ints + step.at;
        if (step.kind == READING) continue;
        const Channel* channel = step.kind == CHOICE ? given.channels + step.number : nullptr;
        if (channel && channel->window && channel->skips) continue;
        if (const Int bit = only_bit(given, step)) {
            std::int32_t& own = last[std::countr_zero(static_cast<std::uint64_t>(bit))];
            linked_[k] = true;
            if (own >= 0 && !(given.num_blocks && own / BLOCK != k / BLOCK)) {  // blocks are left out as a whole
                before_[k] = own;
                behind_[own] = k;
            }
            own = k;
            continue;
        }
        Int touched = step.mask;
        for (Int j = 0; j < step.wires + step.reads; ++j) touched |= bits[j];
        for (Int wire = 0; wire < given.num_wires; ++wire)
            if (touched >> wire & 1) last[wire] = -1;
    }
    std::int32_t next = static_cast<std::int32_t>(given.num_steps);
    for (Int k = given.num_steps - 1; k >= 0; --k) {
        const Step& step = given.steps[k];
        if (step.kind == READING || (step.kind == CHOICE && !given.channels[step.number].window))
            next = static_cast<std::int32_t>(k);
        divides_[k] = next;
    }
}

}  // namespace
}  // namespace qx::trajectories
