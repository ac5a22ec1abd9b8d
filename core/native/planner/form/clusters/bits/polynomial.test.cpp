// Tests of polynomials of bits, and of phases where they are 1: each has the value that its definition says.

#include "planner/form/clusters/bits/polynomial.hpp"

#include <cmath>
#include <numbers>

#include "planner/form/clusters/bits/bit_phases.hpp"
#include "planner/form/naive.test.hpp"

using namespace qx::form;
using naive::Drawn;

namespace {

constexpr int bits = 6;
constexpr double pi = std::numbers::pi;

bool value(const Polynomial& of, Mask at) {
    bool out = false;
    for (const Mask term : of.terms()) out ^= !(term & ~at);
    return out;
}

Polynomial drawn_polynomial(Drawn& drawn) {
    Polynomial out;
    for (std::uint64_t k = drawn.below(5); k > 0; --k) out ^= Polynomial(drawn.below(64) & drawn.below(64));
    return out;
}

double phase_of(const std::vector<JointPhase>& of, Mask at) {
    double out = 0;
    for (const JointPhase& one : of)
        if ((at & one.bits) == one.values) out += one.angle;
    return out;
}

}  // namespace

TEST_CASE("sums, products and polynomials of flipped bits have the values of these") {
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, bits);
        const Polynomial a = drawn_polynomial(drawn), b = drawn_polynomial(drawn);
        const int bit = static_cast<int>(drawn.below(bits));
        const auto both = product(a, b), flipped = a.with_flipped(bit, b);
        REQUIRE(both);
        REQUIRE(flipped);
        for (Mask at = 0; at < unit(bits); ++at) {
            CHECK(value(a ^ b, at) == (value(a, at) != value(b, at)));
            CHECK(value(*both, at) == (value(a, at) && value(b, at)));
            CHECK(value(*flipped, at) == value(a, value(b, at) ? at ^ unit(bit) : at));
        }
        CHECK((a ^ a).is_zero());
    }
}

TEST_CASE("a product of too many terms is none") {
    Polynomial many;
    for (int bit = 0; bit < 8; ++bit) many = *product(many ^ Polynomial(0), Polynomial(0) ^ Polynomial(unit(bit)));
    CHECK(many.size() <= Polynomial::most_terms);
    Polynomial one(0), all(0);
    bool fits = true;
    for (int bit = 0; bit < 8 && fits; ++bit) {
        const auto next = product(all, Polynomial(0) ^ Polynomial(unit(bit)));
        fits = next.has_value();
        if (next) all = *next;
    }
    CHECK(!fits);
    CHECK(all.size() == Polynomial::most_terms);
}

TEST_CASE("phases where polynomials are 1 are those of few products, and go where their angles add up to nothing") {
    std::size_t found = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, bits);
        BitPhases made;
        std::vector<std::pair<Polynomial, double>> given;
        for (int k = 0; k < 4; ++k) {
            const double part = pi / static_cast<double>(unit(static_cast<int>(drawn.below(4))));
            given.emplace_back(drawn_polynomial(drawn), drawn.below(3) ? part : drawn.angle());
            made.add(given.back().first, given.back().second);
        }
        const auto joint = made.joint();
        found += joint.has_value();
        for (Mask at = 0; joint && at < unit(bits); ++at) {
            double sum = -made.all - phase_of(*joint, at);
            for (const auto& [where, angle] : given) sum += value(where, at) ? angle : 0;
            CHECK(std::fabs(std::remainder(sum, 2 * pi)) < 1e-11);
        }
        for (const auto& [where, angle] : given) made.add(where, -angle);
        CHECK(made.size() == 0);
    }
    CHECK(found > 100);  // others take too many products
}

TEST_CASE("a polynomial is a sum of few products, of flipped bits, too") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        Drawn drawn(seed, bits);
        const Polynomial of = drawn_polynomial(drawn);
        const std::vector<JointPhase> few = few_products(of);
        CHECK(few.size() <= of.size());
        for (Mask at = 0; at < unit(bits); ++at)
            CHECK(std::cos(phase_of(few, at)) == doctest::Approx(value(of, at) ? -1 : 1));
    }
    Polynomial none(0);  // 1 where five bits are 0
    for (int bit = 0; bit < 5; ++bit) none = *product(none, Polynomial(0) ^ Polynomial(unit(bit)));
    CHECK(none.size() == 32);
    CHECK(few_products(none).size() == 1);
}
