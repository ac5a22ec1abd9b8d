// A form written out as gates: phases of parities in a Clifford frame that changes, and at the end what is left of C.
//
// A rotation about a diagonal string is a phase of a parity. A string that flips wires becomes diagonal when it is first
// used, by H on all of these, or by CX of one onto the others and one H; what takes it there stays, so later strings are
// others. Of the first strings that may run, and of both ways for each, the one is taken that lets most of the next
// rotations run for each H.
#pragma once

#include "planner/form/form.hpp"

namespace qx::form {

// A gate that is written. cx: X on the wires of `mask` under the control of `wire`; cz likewise; phase: exp(-i angle/2 Z) of
// the parity of `mask`; h, s, sdg, x, z: on each wire of `mask`.
struct Gate {
    enum Kind : Int { h, s, sdg, x, z, cx, cz, phase };
    Kind kind;
    Int wire;
    Mask mask;
    Angle angle{};
};

// Replaces P by G P G†, for a gate that is no phase.
void pass(const Gate& gate, SignedPauli& string);

// Returns gates CX, CZ, S, H, X and Z that make up a Clifford operator, but for a phase, with H on as few wires as there can
// be. x, z: C† X C and C† Z C for each wire.
std::vector<Gate> clifford_gates(std::vector<SignedPauli> x, std::vector<SignedPauli> z);

class Writer {
  public:
    // A form without blocks, which stays where it is. most_changes: after so many changes of the frame it gives up; negative
    // for no limit.
    Writer(const Form& form, Int most_changes);

    enum class State { busy, done, given_up };

    // Does a bounded amount of work.
    State advance();

    // What is there when it is done: gates, of which those from `last` on are the operator C at the end, and a phase.
    std::vector<Gate> gates;
    std::size_t last = 0;
    Angle phase;
    // Calls a function with each phase of an angle that varies, and its multiple.
    template <class Each>
    void multiples(const Angle& of, const Each& function) const {
        sums_.each(of, function);
    }

  private:
    struct Waiting {
        SignedPauli string;
        Angle angle;
    };
    // A way to make a string diagonal: S† on the wires of `y`, CX of a pivot onto those of `targets`, H on those of `h`.
    struct Way {
        Mask y, h, targets = 0;
        int pivot = 0;

        int gates() const { return (y != 0) + (targets != 0); }  // beside the H
    };

    std::size_t looked_at() const;
    void run();
    void choose();
    void ways(const Pauli& string);
    double score(const Way& way) const;
    void take(const Way& way);
    void write(const Gate& gate);
    void finish();

    const Sums& sums_;
    std::vector<Waiting> waiting_;  // in the frame of now, from `begin_` on
    std::size_t begin_ = 0;
    std::vector<SignedPauli> x_, z_;  // of C
    std::vector<Way> ways_;
    Int left_;  // changes of the frame
};

}  // namespace qx::form
