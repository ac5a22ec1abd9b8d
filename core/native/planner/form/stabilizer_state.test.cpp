// Tests of stabilizer states with their phase, against the action of turns on |0…0⟩.

#include "planner/form/stabilizer_state.hpp"

#include "planner/form/naive.test.hpp"

using namespace qx::form;
using namespace qx::form::naive;

TEST_CASE("the first amplitude has the phase that all turns give it") {
    constexpr double quarter_pi = 0.78539816339744830962;
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, 1 + static_cast<int>(seed % 6));
        StabilizerState state(drawn.wires);
        State expected(unit(drawn.wires));
        expected[0] = 1;
        for (int k = 0; k < 25; ++k) {
            Pauli q = drawn.pauli();
            if (drawn.below(3) == 0) q = {0, unit(static_cast<int>(drawn.below(static_cast<Mask>(drawn.wires))))};
            const int quarters = static_cast<int>(drawn.below(8));
            state.turn(q, quarters);
            expected = rotated(q, 2 * quarters * quarter_pi, expected);
            std::size_t first = 0;
            while (std::abs(expected[first]) < 1e-9) ++first;
            const auto turned = expected[first] * std::polar(1.0, -quarter_pi * state.first_phase());
            CHECK(std::abs(turned - std::abs(turned)) < 1e-12);
        }
    }
}
