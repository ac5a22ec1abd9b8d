// A circuit between its gates on several wires: Clifford gates of one wire are moved behind everything, and no others.
//
// What is left are rotations, and reflections (1 + A + B - AB)/2 about two Pauli operators of two wires, each of which is
// CZ, CX, or such a gate in another frame. So a circuit of CX comes back from one of CZ, H, and turns, whatever these are.
// Two equal reflections cancel, and make rotations between them ones about other strings.
#pragma once

#include "planner/form/form.hpp"
#include "planner/form/gates/rounding.hpp"

namespace qx::form {

// exp(-i angle/2 A), of whose angle `quarters` quarter turns are a Clifford operator's; or, where there is B, a reflection.
struct WireItem {
    Pauli a, b;
    Angle angle;
    int quarters = 0;
    bool gone = false;

    bool reflects() const { return !b.is_identity(); }
    Mask wires() const { return a.x | a.z | b.x | b.z; }
    bool commutes(const WireItem& other) const {
        return !(anticommute(a, other.a) || anticommute(a, other.b) || anticommute(b, other.a) || anticommute(b, other.b));
    }
};

// How a string operates on a wire: 1 as X, 2 as Z, 3 as Y, 0 not at all.
inline int letter(const Pauli& of, int wire) { return static_cast<int>((of.x >> wire & 1) | (of.z >> wire & 1) << 1); }

// How both operators of each item are written; of one on several wires, on one of these.
using Letters = std::vector<std::array<unsigned char, 2>>;

class Wires {
  public:
    // A form, which stays where it is; the sums of its angles, to which those of others are added. as_cx: for frames in
    // which reflections are CX. Then no rotations stand between two that cancel, which would make them ones of more wires,
    // and of a turn as few are left as can be, whatever quarter turns that moves.
    Wires(const Form& form, Sums& sums, bool as_cx);

    // Reads what was read when the form was found, some at a time; returns whether there is more.
    bool advance();

    std::vector<WireItem> items;
    std::vector<std::vector<Index>> on_wire;  // for each wire the items on it, some of which are gone
    Tableau local;                            // the operator behind them, of gates on one wire each
    // In eighths of a turn, the phase of all Clifford gates; see `StabilizerState::first_phase`.
    int first_phase() const { return state_.first_phase(); }
    // Returns how the items were read.
    Letters letters() const;

  private:
    bool take_turns(std::size_t begin, std::size_t end);
    void take(const Pauli& about, const Angle& angle);
    void rotate(const Pauli& about, const Angle& angle);
    std::vector<Index> last_turns(int wire, Turn& whole) const;
    void shorten(int wire);
    void pull_behind(int wire, std::vector<Index> run, const Turn& whole);
    void replace(const std::vector<Index>& run, const std::vector<AxisRotation>& by, bool merged);
    void turn_about(const Pauli& string);
    void turn(const Pauli& about, int quarters);
    void leave(const Pauli& about, int quarters);
    void reflect(const Pauli& about, int quarters);
    bool swap(const WireItem& own);
    void append(const WireItem& item);
    void pull_through(WireItem& rotation, Index number, const WireItem& reflection);
    template <class Visit>
    void back(Mask wires, const Visit& visit) const;

    const Form& form_;
    Sums& sums_;
    Rounding rounding_;
    bool as_cx_;
    std::size_t next_ = 0;
    StabilizerState state_;
};

}  // namespace qx::form
