// Pairs of CX around phases disappear: the phases read parities instead.
//
// A CX adds its control to its target, so between two equal ones a phase that reads the target may read target ⊕ control
// without them. A ladder of CX, an RZ, and the ladder back is one phase of a parity, which mixes nothing and needs no bit
// near: Pauli rotations as chemistry packages write them, RZZ and CP in rz, sx, cx. Each new CX looks back for its equal:
// past phases, and past other X gates on its target, with which it commutes. Where it finds a CX in the opposite
// direction, the two are one CX and an exchange of the bits, which moves nothing: a SWAP written as three CX disappears.
#pragma once

#include "planner/rewrite/held.hpp"
#include "planner/rules.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

// Passes pieces on in their order, without pairs of CX that have only phases of the target between them. Two CX in opposite
// directions become one, and an exchange of the bits in all that follows. It holds the latest positions back, since a later
// CX may remove or change their pieces.
class Canceller {
  public:
    // num_pieces: the most that will be added.
    Canceller(PlanContext& context, Int num_pieces, Rules rules)
        : context_(context), exchanges_(rules.has(Rule::exchange)),
          window_(static_cast<Index>(std::max(Int{1}, thresholds.window.at_most(num_pieces)))), kept_(window_), to_(64) {
        for (int bit = 0; bit < 64; ++bit) to_[bit] = bit;
    }

    // Takes the next piece, and calls take(piece) for what no later piece can change.
    template <class Take>
    void add(Piece piece, Take take) {
        if (exchanged_) move(piece, to_);
        bool taken = takes(piece);
        kept_.pass_on(now_, take);
        if (!taken) kept_.push(piece, now_);
        ++now_;
    }
    // Goes on for some positions; returns whether nothing is held any more.
    template <class Take>
    bool finish(Int positions, Take take) {
        for (Int k = 0; k < positions && left_ < window_; ++k, ++left_, ++now_) kept_.pass_on(now_, take);
        return left_ == window_;
    }

    // Where each bit is after all exchanges.
    const std::vector<int>& to() const { return to_; }

  private:
    // A CX on index bits; value: the value of the control at which it acts.
    struct CX {
        int control, target;
        bool value;
        bool operator==(const CX&) const = default;
    };

    bool in_reach(Index position) const { return position + window_ >= now_; }
    bool is_cx(const Piece& piece, CX& out) const;
    bool takes(const Piece& piece);
    void pass(const CX& cx);
    void exchange(const CX& cx);
    void change(Index position, const Piece& piece);
    void move(Piece& piece, const std::vector<int>& to);
    Piece through(const Piece& phase, const CX& cx);

    PlanContext& context_;
    const bool exchanges_;
    const Index window_;
    Held kept_;
    std::vector<Index> passed_;
    std::vector<int> to_;
    bool exchanged_ = false;
    Index now_ = 0, left_ = 0;
};

}  // namespace qx::plan
