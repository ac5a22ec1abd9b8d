// Two-wire matrices as rotations about XX, YY and ZZ between turns of each wire: Weyl's decomposition (KAK).
#pragma once

#include "planner/form/gates/turn.hpp"

namespace qx::form {

// e^{i phase} (after[1] ⊗ after[0]) exp(i (a XX + b YY + c ZZ)) (before[1] ⊗ before[0]), for a, b, c = `angles`; wire 0 is
// the least significant bit. Where one angle alone is no multiple of π/4, it is c.
struct Weyl {
    double phase = 0;
    Turn before[2], after[2];
    std::array<double, 3> angles{};

    // Of a unitary matrix [4, 4].
    explicit Weyl(const Complex* matrix);
};

}  // namespace qx::form
