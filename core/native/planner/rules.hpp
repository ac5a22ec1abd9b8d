// The rules of planning that make plans faster. Without one of them a plan is right, too: tests leave them out.
#pragma once

#include "base/masks.hpp"

namespace qx::plan {

// The one table of these rules; a mask of rules that are left out has their bits in this order.
//   relabel: SWAP, X and other permutations of wires change the layout.
//   known_zeros: conditions on bits that are 0 in all of the state are decided, and what reads these has one value.
//   cancel: pairs of CX disappear. exchange: two CX in opposite directions are one, and an exchange of bits.
//   controls: two H and known phases between them are an X under conditions. settle: known phases undo each other.
//   fuse: neighbours are multiplied. threes: three of them on a bit, too. trials: products are searched for what cancels.
//   runs: long runs of work on two bits are one matrix.
//   gather: phases of the same parities are one.
//   rotate: complex matrices on a bit are rotations between phases. rotate_pairs: pairs of them on two bits, too.
//   tables: phases share tables. blocks: work on near bits is one matrix for tensor cores.
//   growth: a new state grows. floating: the lowest bits change. narrow: fewer of them do. lowest: others are, of a new
//   state. candidates: several plans are compared with the default one. cnot_frame: circuits full of CX are planned in a
//   CNOT frame, in which tiles are subspaces. far_parities: parities may be far. early: a new state grows before it is
//   divided.
#define QX_PLANNING_RULES(rule)                                                                                     \
    rule(relabel) rule(known_zeros) rule(cancel) rule(exchange) rule(controls) rule(settle) rule(fuse) rule(threes) \
        rule(trials) rule(runs) rule(gather) rule(rotate) rule(rotate_pairs) rule(tables) rule(blocks) rule(growth) \
            rule(floating) rule(narrow) rule(lowest) rule(candidates) rule(cnot_frame) rule(far_parities) rule(early)

#define QX_PLANNING_RULE(name) name,
enum class Rule : int { QX_PLANNING_RULES(QX_PLANNING_RULE) };
#undef QX_PLANNING_RULE

// The rules that planning follows: all but those that are left out.
class Rules {
  public:
    Rules() = default;
    explicit Rules(Mask left_out) : left_out_(left_out) {}

    bool has(Rule rule) const { return !(left_out_ >> static_cast<int>(rule) & 1); }

  private:
    Mask left_out_ = 0;
};

}  // namespace qx::plan
