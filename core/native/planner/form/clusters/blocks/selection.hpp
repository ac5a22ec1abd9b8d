// Matrices of one wire that others select, and of two under controls.
#pragma once

#include <optional>

#include "planner/form/clusters/blocks/controlled.hpp"

namespace qx::form {

// Pieces one behind the other that turn no wires but one or two, and what they are to these for each value of those that
// they read, each about the axis of the first one that did.
class Selection {
  public:
    explicit Selection(Mask mixed);

    void act(const Piece& piece);
    Mask wires() const { return mixed_ | read_; }
    // Of two wires: takes off what it is for all values but one, if that is the same turns, and turns between which fewer
    // entries are left where it acts. Returns by how much less that takes than the pieces, in entries of a row; 0 if there
    // is no such value.
    double take_turns();
    // Whether there may be such a value, and whether pieces take more than so much.
    bool may_take(double least) const;
    // Returns the piece that is left, and the turns behind it.
    Piece piece(std::size_t parts) const;
    std::vector<Piece> turns_behind() const;

  private:
    std::size_t size() const { return std::size_t{1} << count(mixed_); }
    Mask values_of(std::size_t value, std::size_t row) const;
    std::vector<Complex> entries() const;
    void add_cost(const Matrix2& turn, bool beside_sign);
    std::optional<std::size_t> only_value(const Matrix4& most) const;
    std::size_t filled(const Matrix4& of) const;
    Matrix4 of_turns(const std::array<Matrix2, 2>& turns) const;
    Matrix4 product(const Matrix4& a, const Matrix4& b) const;

    Mask mixed_, read_ = 0, touched_ = 0, signs_ = 0;  // signs: wires whose last piece is one
    std::vector<int> wires_;          // that are read, as the bits of a value
    std::array<Matrix2, 64> before_;  // what acts on each wire before
    std::vector<Matrix4> of_;         // for each value: [size, size]
    std::size_t value_ = 0;           // for which two wires are mixed
    std::array<Matrix2, 2> around_{identity2, identity2};  // the adjoint ones of which act on mixed wires behind
    double cost_;  // of the pieces, as they turn mixed wires
};

}  // namespace qx::form
