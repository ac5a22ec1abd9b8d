// What two H on a bit and known phases between them are: an X under conditions, and phases of other bits.
//
// Transpilers write a Toffoli as H on its target, seven phases by eighth turns, and H. `cancel` makes phases of parities
// of them. For given values of the other bits, what these add up to on the target is one phase by some angle. Where that
// is 0 or π for all values, H·phase·H is nothing or an X: all of it is an X under conditions, which computes nothing.
// Phases that other bits have beside it stay where they are, and where one undoes another both are gone: of the seven
// nothing is left.
//
// A √X is an H between quarter turns, and a bit that is stored inverted has an H between half turns, so both are an H
// here. A CX onto the bit between the two, as Toffolis up to phases have, becomes a CZ behind the X, and phases behind it
// read the parity that it makes.
#pragma once

#include "planner/rewrite/controls/flips.hpp"
#include "planner/rewrite/held.hpp"
#include "planner/rules.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

// Passes pieces on in their order. A piece that is given has an even position, so that there is room for an X behind it.
class Controls {
  public:
    // num_pieces: the most that will be added.
    Controls(PlanContext& context, CoefficientProgram& program, Int num_pieces, Rules rules)
        : context_(context), settles_(rules.has(Rule::settle)), eighths_(context, program),
          window_(static_cast<Index>(std::max(Int{1}, thresholds.window.at_most(num_pieces)))), kept_(2 * window_ + 2) {}

    // Takes the next piece, and calls take(piece) for what no later piece can change.
    template <class Take>
    void add(const Piece& piece, Take take) {
        if (!takes(piece)) kept_.push(piece, 2 * now_);
        pass_on(take);
    }
    // Goes on for some positions; returns whether nothing is held any more.
    template <class Take>
    bool finish(Int positions, Take take) {
        for (Int k = 0; k < positions && left_ < window_; ++k, ++left_) pass_on(take);
        return left_ == window_;
    }

  private:
    static constexpr Index none = ~Index{0};

    // A piece between two H on a bit: its position, what X before it have added to the bit, and the other bits it depends
    // on.
    struct Between {
        Index position;
        Shift shift;
        Mask needs;
    };

    template <class Take>
    void pass_on(Take take) {
        if (settles_ && now_ >= window_) {
            settle(2 * (now_ - window_));
            settle(2 * (now_ - window_) + 1);
        }
        ++now_;
        kept_.pass_on(2 * now_, take), kept_.pass_on(2 * now_ + 1, take);  // the room of those is free then
    }
    bool takes(const Piece& piece);
    bool find(int bit, Turned& first);
    void shift(int bit);
    bool adds(const Piece& piece, int bit, Shift& shift) const;
    Index place() const;
    bool mixes(Mask bits, Index begin, Index end) const;
    void settle(Index position);
    void leave_behind(const Between& at, int bit, const Piece& last);

    PlanContext& context_;
    const bool settles_;
    Eighths eighths_;
    const Index window_;
    Held kept_;
    std::vector<Between> between_;  // two H
    std::vector<Index> xs_;         // the positions of those that are an X under one condition or none
    Shift shift_;                   // what all of these have added
    Index first_ = 0;  // the position of the first H
    Index now_ = 0, left_ = 0;    // how many pieces were added
};

}  // namespace qx::plan
