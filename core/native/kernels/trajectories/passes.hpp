// Operations on a state that is wider than a core's first cache: they are collected, and then each tile of the state
// passes through as many of them as can be applied to it.
#pragma once

#include "base/array.hpp"
#include "kernels/trajectories/narrow_states.hpp"

namespace qx::narrow {
namespace {

constexpr Int TILE = 2048;  // amplitudes of a tile, 32 KiB

// A 2×2 matrix on an index bit; or, if `bit` is 0, a diagonal, whose entries depend on the parities under `reads`.
struct Pass {
    Int bit;
    Where where;
    double m[8];
    const Int* reads;
    Int count;
    Matrix entries;

    // Returns the bits on which it depends.
    Int touched() const {
        Int found = bit | where.mask;
        for (Int k = 0; k < count; ++k) found |= reads[k];
        return found;
    }
};

// Applies a pass to a state, or to the part of one at the indices from `base` on.
void apply(const Pass& pass, const State& part, Int base) {
    const Int inside = part.size - 1;
    if ((base & pass.where.mask) != (pass.where.value & ~inside)) return;
    const Where where{pass.where.mask & inside, pass.where.value & inside};
    if (pass.bit) pairs(part, pass.bit, where, {pass.m, 1.0});
    else diagonal(part, base, pass.reads, pass.count, where, pass.entries);
}

// Collects operations on a state, and applies them in an order that gives the same.
class Passes {
  public:
    // Takes one more operation. States of one tile are worked on at once.
    void add(const State& state, const Pass& pass) {
        if (state.size <= TILE) apply(pass, state, 0);
        else waiting_.push(pass);
    }

    // Applies all operations that wait.
    void finish(const State& state) {
        Int touched = 0;
        for (const Pass& pass : waiting_) {
            if (pass.bit < TILE) {
                low_.push(pass);
                touched |= pass.touched();
                continue;
            }
            if (touched & pass.touched()) {  // else it may as well be applied before those in tiles
                run(state);
                touched = 0;
            }
            high_.push(pass);
        }
        run(state);
        waiting_.clear();
    }

  private:
    void run(const State& state) {
        if (high_.size()) in_columns(state);
        for (Int base = 0; low_.size() && base < state.size; base += TILE)
            for (const Pass& pass : low_) apply(pass, {state.re + base, state.im + base, TILE}, base);
        high_.clear();
        low_.clear();
    }

    // Applies operations on bits above a tile: a column is some neighbours and all values of those bits, which are copied
    // aside, since addresses so far apart would displace each other from the cache.
    void in_columns(const State& state) {
        const Int rows = state.size / TILE, width = TILE / rows;
        const auto bytes = static_cast<std::size_t>(width) * sizeof(double);
        const State column{aside_, aside_ + TILE, TILE};
        for (Int base = 0; base < TILE; base += width) {
            for (Int row = 0; row < rows; ++row) {
                std::memcpy(column.re + row * width, state.re + row * TILE + base, bytes);
                std::memcpy(column.im + row * width, state.im + row * TILE + base, bytes);
            }
            for (const Pass& pass : high_) {
                const auto moved = [&](Int bits) { return (bits & (width - 1)) | bits / TILE * width; };
                const Int between = pass.where.mask & (TILE - width);  // the same in the whole column
                if ((base & between) != (pass.where.value & between)) continue;
                pairs(column, moved(pass.bit), {moved(pass.where.mask), moved(pass.where.value)}, {pass.m, 1.0});
            }
            for (Int row = 0; row < rows; ++row) {
                std::memcpy(state.re + row * TILE + base, column.re + row * width, bytes);
                std::memcpy(state.im + row * TILE + base, column.im + row * width, bytes);
            }
        }
    }

    List<Pass> waiting_, low_, high_;
    alignas(64) double aside_[2 * TILE];
};

}  // namespace
}  // namespace qx::narrow
