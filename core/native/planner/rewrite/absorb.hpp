// From instructions on wires to work on index bits: SWAPs and Xs become changes of the layout and vanish.
//
// A SWAP, an X, or any uncontrolled operation that is a relabelling of wires followed by phases (Y, iSWAP, DCX's relatives
// …) changes the layout; only its phases remain as work. Later operations are rewritten for wires that have moved or that
// are stored inverted. Where layouts must stay (`Shape.relabels`) these are work like others.
//
// A condition on a bit that is 0 in all of the state, since nothing has mixed it yet, holds or does not: a CX whose
// control is such a bit is nothing, or an X. What reads such a bit has one value of it: a phase is of the whole state.
#pragma once

#include "planner/circuit.hpp"

namespace qx::plan {

// Where each wire is: its index bit, and the mask of bits that are stored inverted.
struct Layout {
    std::vector<int> address;
    Mask flip = 0;
};

// Reads a circuit, one instruction at a time.
class Absorber {
  public:
    // zero: index bits that are 0 in all of the state.
    Absorber(const Layout& start, const Shape& shape, Mask zero, PlanContext& context);

    // Takes the next part of the circuit.
    void begin(const Circuit& circuit);
    // Whether it has read that part.
    bool done() const { return at_ == circuit_->rows.size(); }
    // Reads the next instruction; returns whether a piece of work is left of it, which is put into `out`.
    bool next(Piece& out);
    const Layout& layout() const { return layout_; }

  private:
    bool op(Piece& out);
    bool holds(Mask& mask, Mask& value) const;
    bool permutation(Piece& out);
    Index without_zeros(Index pattern, Index area, Places& source);
    void initialize(Piece& out);
    bool place(Piece& out, const std::vector<int>& bits, const std::vector<Mask>& reads);
    Mask moved(Mask wires) const;
    void relabel(const Relabeling& found);
    Mask flips(const std::vector<int>& bits) const;
    void bits_of_mixes();

    const Circuit* circuit_ = nullptr;
    Layout layout_;
    const Shape& shape_;
    const bool relabels_;
    Mask zero_;  // index bits that are 0 in all of the state still
    PlanContext& context_;
    bool identity_ = true;
    std::size_t at_ = 0;
    const std::uint8_t* mixes_ = nullptr;
    const Mask* reads_ = nullptr;
    std::vector<int> bits_;
    std::vector<Mask> masks_;
    std::vector<Index> picked_, other_;
    std::vector<char> classes_;
};

}  // namespace qx::plan
