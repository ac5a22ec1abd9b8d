// A Clifford operator as quarter turns: turns before it make it the identity, wire after wire.

#include "planner/form/synthesis.hpp"

namespace qx::form {

namespace {

class Synthesis {
  public:
    explicit Synthesis(Tableau tableau) : tableau_(std::move(tableau)) {
        for (int wire = 0; wire < tableau_.wires(); ++wire) {
            const Pauli x{unit(wire), 0}, z{0, unit(wire)}, y{unit(wire), unit(wire)};
            lead(tableau_.image(x).pauli, x, x_between(wire));
            lead(tableau_.image(z).pauli, z, y);  // about strings that commute with X, which stays
            if (tableau_.image(x).negative) turn(z, 2);
            if (tableau_.image(z).negative) turn(x, 2);
        }
    }

    std::vector<QuarterTurn> turns;

  private:
    // Turns a string into another one, directly or through a third one that commutes with neither.
    void lead(const Pauli& from, const Pauli& to, const Pauli& between) {
        if (from == to) return;
        if (anticommute(from, to)) return turn(third(from, to).pauli, 1);
        turn(third(from, between).pauli, 1);
        turn(third(between, to).pauli, 1);
    }
    // A string that commutes neither with X of a wire nor with its image, if these two commute.
    Pauli x_between(int wire) const {
        const Pauli image = tableau_.image({unit(wire), 0}).pauli;
        Pauli out{0, unit(wire)};
        if (anticommute(out, image)) return out;
        if (image.x) out.z |= image.x & -image.x;
        else out.x |= image.z & -image.z;
        return out;
    }
    void turn(const Pauli& about, int quarters) {
        tableau_.turn_before(about, quarters);
        turns.push_back({about, -quarters & 7});
    }

    Tableau tableau_;
};

}  // namespace

std::vector<QuarterTurn> quarter_turns(Tableau tableau) { return Synthesis(std::move(tableau)).turns; }

}  // namespace qx::form
