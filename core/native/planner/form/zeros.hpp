// What of Pauli strings matters behind |0…0⟩.
//
// |0…0⟩ is +1 under each product of Z, and stays so under those that commute with all rotations so far: which these are only
// depends on which wires rotations flip. A rotation about P is one about P times such a product that commutes with P, too.
// So equal ones are found that were written otherwise, and what is a product itself is a phase: a Toffoli gate on a wire
// that is still 0 is none.
#pragma once

#include <array>
#include <vector>

#include "base/interned.hpp"
#include "planner/form/pauli.hpp"

namespace qx::form {

class Zeros {
  public:
    explicit Zeros(int wires) : alive_(below(wires)) {
        for (int wire = 0; wire < wires; ++wire) product(wire) = unit(wire);
    }

    // A rotation, or a block, flips some wires: products that do not commute with it are none any more.
    void flip(Mask x);
    // Returns the string that stands for one behind all that has flipped wires, its own rotation included, and whether it is
    // the negative of that: one that was returned before, if there is one, else one on few wires.
    SignedPauli same(const Pauli& pauli);

  private:
    Mask& product(int wire) { return products_[static_cast<std::size_t>(wire)]; }
    Mask rest(Mask z);
    Mask lightest(Mask x, Mask z);
    Index name_of(const Pauli& pauli);

    Mask alive_;  // for each of these wires there is a product, in which none of the others is
    std::array<Mask, 64> products_{};
    plan::Memo names_;  // strings whose Z is a `rest`, by a hash
    std::vector<Pauli> strings_;  // by name
    std::vector<Mask> same_;  // by name: the Z of what was returned
};

}  // namespace qx::form
