// Tests of what matters of Pauli strings behind |0…0⟩, against states.

#include "planner/form/zeros.hpp"

#include "planner/form/naive.test.hpp"

using namespace qx::form;
using namespace qx::form::naive;

TEST_CASE("rotations about the strings that are returned make the same state of zeros") {
    std::size_t others = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, 1 + static_cast<int>(seed % 6));
        State expected(unit(drawn.wires)), found;
        expected[0] = 1, found = expected;
        Zeros zeros(drawn.wires);
        const Mask flips = drawn.below(unit(drawn.wires));  // of most strings, so that something is left
        for (int k = 0; k < 20; ++k) {
            Pauli pauli = drawn.pauli();
            if (drawn.below(4)) pauli.x &= flips;
            if (pauli.is_identity()) continue;
            const double angle = drawn.angle();
            zeros.flip(pauli.x);
            const SignedPauli same = zeros.same(pauli);
            others += !(same.pauli == pauli);
            expected = rotated(pauli, angle, expected);
            found = rotated(same.pauli, same.negative ? -angle : angle, found);
        }
        CHECK(distance(expected, found) < 1e-12);
    }
    CHECK(others > 500);
}

TEST_CASE("strings that differ by products of Z that are left are one") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, 8);
        Zeros zeros(8);
        std::vector<Mask> flips;
        for (int k = 0; k < 5; ++k) flips.push_back(drawn.below(256)), zeros.flip(flips.back());
        const Pauli one{flips[0], drawn.below(256)};
        for (Mask product = 0; product < 256; ++product) {
            bool left = true;
            for (const Mask x : flips) left = left && !is_odd(x & product);
            const Pauli other{one.x, one.z ^ product};
            CHECK((zeros.same(one).pauli == zeros.same(other).pauli) == left);
            if (left) CHECK(count(zeros.same(other).pauli.z | one.x) <= count(one.z | one.x));
        }
    }
}
