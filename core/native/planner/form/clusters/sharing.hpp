// How many gates of a circuit lie in long runs on the same few wires.
#pragma once

#include <array>

#include "planner/form/pauli.hpp"

namespace qx::form {

class Sharing {
  public:
    // wires: on which a run may be. least: gates on several of them that are many.
    Sharing(int wires, Int least) : wires_(wires), least_(least) {}

    // Adds a gate on some wires.
    void add(Mask wires) {
        if (!(wires & (wires - 1))) return;
        ++gates_;
        Mask all = wires, counted = 0;
        Int number = 1;
        each(wires, [&](int wire) {
            const Run& run = runs_[static_cast<std::size_t>(wire)];
            if (!(run.wires & counted)) number += run.gates;
            all |= run.wires, counted |= run.wires;
        });
        if (count(all) > wires_) {
            each(all, [&](int wire) { runs_[static_cast<std::size_t>(wire)] = {}; });
            all = wires, number = 1;
        }
        if (number >= least_) shared_ += number == least_ ? least_ : 1;
        each(all, [&](int wire) { runs_[static_cast<std::size_t>(wire)] = {all, number}; });
    }

    // Returns whether half of all gates are in such runs.
    bool is_worthwhile() const { return 2 * shared_ >= gates_ && shared_; }

  private:
    struct Run {
        Mask wires = 0;
        Int gates = 0;
    };
    int wires_;
    Int least_;
    std::array<Run, 64> runs_{};
    Int gates_ = 0, shared_ = 0;
};

}  // namespace qx::form
