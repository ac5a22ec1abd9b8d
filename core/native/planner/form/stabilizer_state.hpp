// The state C|0…0⟩ of a Clifford operator with its phase, which a tableau does not know.
//
// It is i^(k/2) U H_v |s⟩: H on the wires of v, and U, which leaves |0…0⟩ as it is, a product of S, CZ and CX (the CH form
// of Bravyi and others, Quantum 3, 181 (2019), Section 4.1.2). Of U it keeps what U† X U and U† Z U are.
#pragma once

#include <vector>

#include "planner/form/pauli.hpp"

namespace qx::form {

class StabilizerState {
  public:
    // |0…0⟩ of at most 64 wires.
    explicit StabilizerState(int wires);

    // Applies exp(-i k π/4 Q).
    void turn(const Pauli& q, int quarters);
    // Returns the argument, in eighths of a turn, of the amplitude of the least basis state that has one.
    int first_phase() const;

  private:
    // X^x Z^z times a power of i.
    struct Product {
        Pauli pauli;
        int power = 0;
    };
    struct Row {
        Pauli of_x;  // U† X U = i^power X^x Z^z
        int power = 0;
        Mask of_z = 0;  // U† Z U = Z^z
    };

    bool turn_diagonal(const Pauli& q);
    // U† Q U
    Product pulled(const Pauli& q) const;
    // Makes (|s⟩ + i^power |s ⊕ flip⟩)/√2 of |s⟩, behind H_v and U.
    void split(Mask flip, int power);
    // Let operators act before U, on the left of which it is: CX of one control or of one target, CZ, and S.
    void cx_to(int control, Mask targets);
    void cx_from(Mask controls, int target);
    void cz_before(int wire, Mask others);
    void s_before(int wire);

    std::vector<Row> rows_;
    Mask turned_ = 0, value_ = 0;  // v and s
    int eighths_ = 0;
};

}  // namespace qx::form
