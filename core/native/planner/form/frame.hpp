// The Clifford operator behind all rotations, with its phase, while a circuit is read.
#pragma once

#include <cmath>
#include <numbers>
#include <optional>

#include "planner/form/angle.hpp"
#include "planner/form/stabilizer_state.hpp"
#include "planner/form/tableau.hpp"

namespace qx::form {

class Frame {
  public:
    explicit Frame(int wires) : tableau(wires), state_(wires) {}

    Tableau tableau;
    Angle phase;  // of all, but for that of the tableau's operator
    Sums sums;    // of the angles of all rotations, and of this one

    // Adds a phase and takes whole turns off: a sum of thousands would lose as many units in its last place.
    void add_phase(const Angle& more) {
        constexpr double half = std::numbers::pi;
        phase = sums.plus(phase, more);
        if (!(std::fabs(phase.value) < half)) phase.value = std::remainder(phase.value, 2 * half);
    }
    // Lets exp(-i k π/4 Q) act after the operator.
    void turn(const Pauli& q, int quarters) {
        tableau.turn(q, quarters);
        state_.turn(q, quarters);
    }
    // Lets exp(-i k π/4 P) act between rotations and operator.
    void turn_before(const Pauli& p, int quarters) {
        const SignedPauli after = tableau.preimage(p);
        state_.turn(after.pauli, after.negative ? -quarters & 7 : quarters);
        tableau.turn_before(p, quarters);
        if (passed) passed->turn_before(p, quarters);
    }

    // Where rotations are listed again, what the quarter turns among them make of those that follow.
    std::optional<Tableau> passed;

    // In eighths of a turn, the phase of the operator; see `StabilizerState::first_phase`.
    int first_phase() const { return state_.first_phase(); }

  private:
    StabilizerState state_;
};

}  // namespace qx::form
