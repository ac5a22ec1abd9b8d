// Tests of how many products phases of functions of bits are written as.

#include "planner/form/clusters/bits/bit_phases.hpp"

using namespace qx::form;

namespace {

// Returns how many angles the phase of a parity of so many bits is made of.
std::size_t angles_of(int bits, double angle) {
    Diagrams diagrams;
    BitPhases phases(diagrams);
    Diagram parity;
    for (int k = 0; k < bits; ++k) parity = diagrams.sum(parity, diagrams.bit(k));
    phases.add(parity, angle);
    return phases.size();
}

}  // namespace

TEST_CASE("a parity is the products of its bits as long as these are few, and is kept as it is from seven bits on") {
    for (const int bits : {1, 2, 5, 6}) CHECK(angles_of(bits, 0.3) == (std::size_t{1} << bits) - 1);
    for (const int bits : {7, 8, 20, 60}) CHECK(angles_of(bits, 0.3) == 1);
}

TEST_CASE("parts of a turn make signs of products of several bits, so that parities of more are few products") {
    constexpr double turn = 3.141592653589793;
    CHECK(angles_of(8, turn) == 1);              // a sign
    CHECK(angles_of(8, turn / 2) == 8 + 1);      // quarter turns of bits, and a sign of all pairs
    CHECK(angles_of(8, turn / 4) == 8 + 28 + 1);
    CHECK(angles_of(20, turn / 4) == 1);         // 210 products of one bit and two
}
