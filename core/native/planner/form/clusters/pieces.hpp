// What was read as joint phases of some wires, each behind a turn of each of its wires.
#pragma once

#include "planner/form/clusters/joint_phases.hpp"
#include "planner/form/clusters/segment.hpp"

namespace qx::form {

using plan::Index;

// parity: exp(-i angle/2 Z…Z). where: e^{i angle} where wires have the values of a mask. block: a matrix, [2^wires,
// 2^wires]. pair: a matrix that mixes 01 and 10 alone. controlled: one of two wires where a third one, the control, has its
// value of a mask. swap: of two wires. turn: of one wire, before a rotation. rotation: one that was read, by an angle that
// varies, or on many wires.
struct Piece {
    enum Kind { parity, where, block, pair, controlled, swap, turn, rotation };
    static constexpr int most_wires = Segment::most_wires;

    Kind kind;
    Mask wires;
    double angle = 0;
    Mask values = 0;
    std::vector<Matrix2> before{};  // of what has turns: what acts before it on each wire, the lowest one first
    std::vector<Complex> entries{};
    Index number = 0;       // of the rotation that was read
    std::size_t parts = 1;  // how much of what was read it is
    Mask control = 0;       // of what has one

    bool joins() const { return kind == parity || kind == where; }
    bool has_turns() const { return !before.empty(); }
    const Matrix2& turn_of(int wire) const { return before[static_cast<std::size_t>(count(wires & below(wire)))]; }
};

inline Matrix2 phase2(double angle) { return {1, 0, 0, std::polar(1.0, angle)}; }

// The operator X, Z or, for both, Y; and what turns it into Z.
Matrix2 operator_matrix(bool x, bool z);
Matrix2 to_z(bool x, bool z);

// The same of a string on a wire; and the turn about that operator, exp(-i angle/2 P).
Matrix2 operator_of(const Pauli& of, Mask wire);
Matrix2 to_z(const Pauli& of, Mask wire);
Matrix2 turn_about(const Pauli& of, double angle);

// Takes flips of wires off a matrix [size, size], behind it, so that most of its diagonal is not 0: then it mixes sets of
// values. Returns the wires, by their bits.
std::size_t take_flips(std::vector<Complex>& entries, std::size_t size);

// Pieces one behind the other, what acts on each wire behind them, and a phase.
class Pieces {
  public:
    // zeros: whether all wires are 0 at first.
    Pieces(int wires, bool zeros)
        : carried_(static_cast<std::size_t>(wires), identity2), zeros_(zeros), untouched_(below(wires)) {}

    std::vector<Piece> all;
    double phase = 0;
    std::size_t nothing = 0;  // how much of what was read acts where wires that are 0 are 1

    // Adds to the phase and takes whole turns off: a sum of thousands would lose as many units in its last place.
    void add_phase(double more) { phase = short_way(phase + more); }
    // What acts behind all pieces so far on a wire.
    Matrix2& carried(int wire) { return carried_[static_cast<std::size_t>(wire)]; }
    const std::vector<Matrix2>& carried() const { return carried_; }
    // Puts a piece behind all so far. Phases of single wires pass it. settles: whether wires that are known to be 0 or 1 are
    // taken off it, X passes it, and phases of two wires are where both are 1.
    void put(Piece piece, bool settles);

  private:
    bool put_on_zeros(Piece& piece);
    void put_ones(Piece& piece);
    void put_block(Piece piece);
    void put_pair(Piece piece);
    void put_controlled(Piece piece);
    void put_swap(Piece piece);

    std::vector<Matrix2> carried_;
    bool zeros_;
    Mask untouched_;  // wires on which nothing has been put, but for turns
};

}  // namespace qx::form
