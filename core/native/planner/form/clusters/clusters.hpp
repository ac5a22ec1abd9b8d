// Gates on the same few wires, found again as one: phases under many controls, and dense blocks on three wires or four.
//
// A transpiler takes Z under five controls apart into hundreds of gates, of which a form makes rotations that merge with
// those of the next one. Here what was read becomes pieces, joint phases of some wires behind turns. Pieces that stay on few
// wires are a cluster, of which a beginning is looked for that is diagonal but for turns: a few phases under controls, which
// are its pieces now. Blocks come first, then clusters on many wires, then those on few, then what computes conditions
// around these and undoes that; where much was found, those of which few pieces make one.
#pragma once

#include "planner/form/clusters/cluster.hpp"
#include "planner/form/clusters/order/looks.hpp"
#include "planner/form/form.hpp"

namespace qx::form {

class Clusters {
  public:
    // A form, which stays where it is. within: the microseconds of a run, which allow so much work; -1: any.
    Clusters(const Form& form, Int within);

    // Does a bounded amount of work; returns whether there is more.
    bool advance();
    // Whether a good part of what was read is part of blocks, or of phases under controls, or so many percent are something
    // else that is worth it.
    bool worthwhile(Int percent = 0) const;
    // What is there when it is done.
    const Pieces& found() const { return made_; }

  private:
    void read(const ReadRotation& rotation, Index number);
    void read(const ReadUnder& matrix);
    void begin_pass();
    void end_pass();
    bool took_more_than(Int parts) const;
    void add(Piece piece);
    void finish(Mask wires);
    void cut(std::size_t cluster, Mask ahead = 0);
    std::size_t longest_of(Mask wires, Mask ahead) const;
    void put(Piece piece);
    Piece behind_turns(Piece piece);
    bool is_tired() const;

    const Form& form_;
    Int within_;
    Rounding rounding_;  // of what is left out where rotations are read
    double left_;  // of what may be taken for nothing on bits
    bool gave_up_ = false, is_rest_ = false;  // rest: whether what is added is left of a cluster
    Pieces given_, made_;  // by the pass before, and by this one
    Pieces as_read_;  // in the order in which others are found where there are no blocks on four wires
    Looks looks_;
    std::vector<Cluster> open_;
    std::vector<Matrix2> turns_;  // on each wire, before the next piece that is added
    std::size_t pass_ = 0, next_ = 0, read_ = 0;  // read: pieces at first
    // Entries that were looked at; clusters without phases in a row; pieces that have become phases.
    std::size_t work_ = 0, failed_ = 0, parts_ = 0;
    std::size_t begun_ = 0, parts_begun_ = 0;  // both when this pass began
    std::size_t paired_ = 0;  // pieces that have become matrices of pairs
};

}  // namespace qx::form
