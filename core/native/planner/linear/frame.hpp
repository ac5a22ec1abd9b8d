// From work on index bits to work on directions and parities: CX changes the frame, and vanishes.
//
// For each bit q of the work the frame keeps a direction (the stored bits that flip when q flips), a parity (the stored
// bits whose sum is q) and a flip. A CX from c to t adds the parity of c to that of t, and the direction of t to that of
// c. The work that is left is written in the bits that are stored at the start; moving amplitudes does not change the frame.
#pragma once

#include "planner/algebra.hpp"
#include "planner/piece.hpp"

namespace qx::plan {

// A piece of work on directions. `words` of FramedWork has, from `first` on, the direction of each bit that it mixes, then
// its parities: those that say which of the two a bit is, those under its reads, those of its conditions; and then the
// numbers of the bits.
struct Framed {
    Piece piece;
    std::uint32_t first = 0;
    std::uint8_t num_conditions = 0;
    Mask values = 0;  // of its conditions
    Mask flips = 0;  // which of the mixed bits are inverted
    Mask read_flips = 0;
    Mask moved = 0, read = 0;  // the bits of its directions, and of its parities

    int num_parities() const { return piece.num_mixed + piece.num_reads + num_conditions; }
};

// The direction, the parity, and the flip of each bit of the work.
struct Frame {
    explicit Frame(int num_bits) : directions(units(num_bits)), parities(units(num_bits)) {}

    Map directions, parities;
    Mask flip = 0;

    // Adds a control to a target; where the control acts at 0, inverts the target too.
    void cx(int control, int target, bool value);
};

// Work without CX, and the frame at its end.
class FramedWork {
  public:
    // grows: whether the work begins in |0...0>. Then a parity that is even in all directions that were mixed before is 0,
    // so a condition on it is decided, and a CX that it controls is nothing, or an X.
    FramedWork(const std::vector<Piece>& work, int num_bits, const PlanContext& context, bool grows);

    // Adds a piece of work that inverts all bits which are inverted in the end, so that none is.
    void turn_back(PlanContext& context);
    // Whether all of the work can be done on directions.
    bool fits() const { return fits_; }
    std::size_t size() const { return pieces_.size(); }
    const Framed& operator[](std::size_t k) const { return pieces_[k]; }
    const Mask* directions(const Framed& piece) const { return words_.data() + piece.first; }
    const Mask* parities(const Framed& piece) const { return directions(piece) + piece.piece.num_mixed; }
    const Mask* rows(const Framed& piece) const { return parities(piece); }
    const Mask* reads(const Framed& piece) const { return rows(piece) + piece.piece.num_mixed; }
    const Mask* conditions(const Framed& piece) const { return reads(piece) + piece.piece.num_reads; }
    const Mask* bits(const Framed& piece) const { return conditions(piece) + piece.num_conditions; }

    Frame frame;

  private:
    bool add(Piece piece, const PlanContext& context);
    bool put(const Piece& piece, const PlanContext& context);
    bool holds(Piece& piece) const;

    bool fits_ = true, grows_;
    Span mixed_;
    std::vector<Framed> pieces_;
    Vectors words_;
};

// Whether a piece adds at most one bit to another: all that it does is to change the frame.
bool changes_frame(const Piece& piece, const PlanContext& context);

}  // namespace qx::plan
