// Pieces in a frame in which turns of single wires are gone.
#pragma once

#include "planner/form/clusters/bits/axis.hpp"

namespace qx::form {

class AxisPieces {
  public:
    // A piece by its axes; or one that is none of these, in front of which turns stand, and behind which frames begin anew.
    struct Item {
        AxisPiece own;
        std::optional<Piece> other{};
        std::vector<Matrix2> turns{};  // before the other one, on each of its wires

        Mask wires() const { return other ? other->wires : own.wires; }
    };

    explicit AxisPieces(const Pieces& of);

    std::vector<Item> all;
    double phase;
    std::size_t nothing;
    // Whether others have taken the place of a piece.
    bool is_gone(std::size_t number) const { return !all[number].wires(); }
    std::size_t num_wires() const { return behind_.size(); }
    // Lets a turn of a wire act before some pieces and all behind them, from one of all on.
    void turn(int wire, const Matrix2& by, std::size_t from);
    // Makes one piece of two on the same two wires, one behind the other, if they have the same axis of one of these.
    void join_pairs();
    // Returns pieces behind turns.
    Pieces pieces(bool zeros) const;

  private:
    bool join(std::size_t number, std::size_t next);

    std::vector<Matrix2> behind_;  // what acts on each wire behind all
};

}  // namespace qx::form
