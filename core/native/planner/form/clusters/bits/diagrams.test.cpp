// Tests of functions of bits, and of phases where they are 1: each has the value that its definition says.

#include "planner/form/clusters/bits/diagrams.hpp"

#include <cmath>
#include <numbers>

#include "planner/form/clusters/bits/bit_phases.hpp"
#include "planner/form/naive.test.hpp"

using namespace qx::form;
using naive::Drawn;

namespace {

constexpr int bits = 6;
constexpr double pi = std::numbers::pi;
using Table = std::vector<bool>;  // of values for all bits

// A function by its definition, beside its diagram.
struct Both {
    Table values = Table(std::size_t{1} << bits);
    Diagram diagram;
};

Both product(Diagrams& of, Mask some, Mask values) {
    Both out;
    for (Mask at = 0; at < unit(bits); ++at) out.values[at] = (at & some) == (values & some);
    out.diagram = of.where(some, values);
    return out;
}

Both sum(Diagrams& of, const Both& a, const Both& b) {
    Both out;
    for (Mask at = 0; at < unit(bits); ++at) out.values[at] = a.values[at] != b.values[at];
    out.diagram = of.sum(a.diagram, b.diagram);
    return out;
}

Both drawn_function(Drawn& drawn, Diagrams& of) {
    Both out;
    for (std::uint64_t k = drawn.below(5); k > 0; --k)
        out = sum(of, out, product(of, drawn.below(64) & drawn.below(64), drawn.below(64) | drawn.below(64)));
    return out;
}

bool value(Diagrams& of, Diagram function, Mask at) {
    while (!function.is_zero() && !function.is_one())
        function = at >> of.first(function) & 1 ? of.high(function) : of.low(function);
    return function.is_one();
}

double phase_of(const std::vector<JointPhase>& of, Mask at) {
    double out = 0;
    for (const JointPhase& one : of)
        if ((at & one.bits) == one.values) out += one.angle;
    return out;
}

}  // namespace

TEST_CASE("sums, products, changes and functions of flipped bits have the values of these, and equal ones are equal") {
    Diagrams of;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, bits);
        if (drawn.below(10) == 0) of.reset();
        const Both a = drawn_function(drawn, of), b = drawn_function(drawn, of);
        const int bit = static_cast<int>(drawn.below(bits));
        const Diagram both = of.both(a.diagram, b.diagram), added = of.sum(a.diagram, b.diagram);
        const Diagram flipped = of.flipped(a.diagram, bit, b.diagram), zero = of.at_zero(a.diagram, bit);
        Mask read = 0;
        for (Mask at = 0; at < unit(bits); ++at) {
            CHECK(value(of, a.diagram, at) == a.values[at]);
            CHECK(value(of, !a.diagram, at) != a.values[at]);
            CHECK(value(of, added, at) == (a.values[at] != b.values[at]));
            CHECK(value(of, both, at) == (a.values[at] && b.values[at]));
            CHECK(value(of, zero, at) == a.values[at & ~unit(bit)]);
            const Mask other = at ^ unit(bit);
            CHECK(value(of, of.change(a.diagram, bit), at) == (a.values[at] != a.values[other]));
            if (!of.reads(b.diagram, bit)) CHECK(value(of, flipped, at) == a.values[b.values[at] ? other : at]);
            for (int k = 0; k < bits; ++k)
                if (a.values[at] != a.values[at ^ unit(k)]) read |= unit(k);
        }
        CHECK(of.read(a.diagram) == read);
        CHECK((a.diagram == b.diagram) == (a.values == b.values));
        CHECK(a.diagram.begins_as_one() == a.values[0]);
    }
}

TEST_CASE("a function is a sum of few products, of flipped bits, too") {
    Diagrams of;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, bits);
        const Both made = drawn_function(drawn, of);
        const std::size_t number = of.number_of_products(made.diagram);
        const std::vector<JointPhase> few = of.few_products(made.diagram);
        CHECK(few.size() <= number);
        for (Mask at = 0; at < unit(bits); ++at)
            CHECK(std::cos(phase_of(few, at)) == doctest::Approx(made.values[at] ? -1 : 1));
    }
    CHECK(of.number_of_products(of.where(0b111111, 0b010110)) == 1);
    Diagram parity;
    for (int bit = 0; bit < bits; ++bit) parity = of.sum(parity, of.bit(bit));
    CHECK(of.few_products(parity).size() == bits);
}

TEST_CASE("what takes more steps than are allowed does not fit, and what comes behind that does again") {
    Diagrams of;
    Diagram many = Diagram::one();
    for (int bit = 0; bit < 20; ++bit) many = of.both(many, of.sum(of.bit(bit), of.bit(bit + 20)));
    of.allow(10);
    of.sum(many, of.where(0xfffff, 0x12345));
    CHECK(!of.fits());
    of.allow(10'000);
    const Diagram all = of.sum(many, of.where(0xfffff, 0x12345));
    CHECK(of.fits());
    CHECK(of.sum(all, many) == of.where(0xfffff, 0x12345));
}

TEST_CASE("a sum or a number of products that takes more steps than a part has is left, and all else still fits") {
    Diagrams few(~std::size_t{0}, 4);
    Diagram one = Diagram::one(), other = Diagram::one();
    for (int bit = 0; bit < 20; ++bit) one = few.both(one, few.sum(few.bit(bit), few.bit(bit + 20)));
    for (int bit = 0; bit < 20; ++bit) other = few.both(other, few.bit(2 * bit));
    CHECK(!few.short_sum(one, other));
    CHECK(few.number_of_products(few.sum(one, other)) > 1'000);
    CHECK(few.fits());
    CHECK(few.short_sum(few.bit(0), few.bit(1)) == few.sum(few.bit(0), few.bit(1)));
}

TEST_CASE("phases where functions are 1 are those of few products, and go where their angles add up to nothing") {
    std::size_t found = 0;
    Diagrams of;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Drawn drawn(seed, bits);
        BitPhases made(of);
        std::vector<std::pair<Both, double>> given;
        for (int k = 0; k < 4; ++k) {
            const double part = pi / static_cast<double>(unit(static_cast<int>(drawn.below(4))));
            given.emplace_back(drawn_function(drawn, of), drawn.below(3) ? part : drawn.angle());
            made.add(given.back().first.diagram, given.back().second);
        }
        const auto joint = made.joint();
        found += joint.has_value();
        for (Mask at = 0; joint && at < unit(bits); ++at) {
            double sum = -made.all - phase_of(*joint, at);
            for (const auto& [where, angle] : given) sum += where.values[at] ? angle : 0;
            CHECK(std::fabs(std::remainder(sum, 2 * pi)) < 1e-11);
        }
        for (const auto& [where, angle] : given) made.add(where.diagram, -angle);
        CHECK(made.size() == 0);
    }
    CHECK(found > 100);  // others take too many products
}

TEST_CASE("a phase under many conditions is one, whatever values they have to have") {
    Diagrams of;
    BitPhases made(of);
    const Diagram where = of.where(0xfffff, 0x2a5f3);
    made.add(where, 0.3);
    const auto& joint = made.joint();
    REQUIRE(joint);
    REQUIRE(joint->size() == 1);
    CHECK(joint->front().bits == 0xfffff);
    CHECK(joint->front().values == 0x2a5f3);
    CHECK(joint->front().angle == doctest::Approx(0.3));
    made.add(where, -0.3);
    CHECK(made.size() == 0);
}

TEST_CASE("phases that are taken where a bit is 1, and those that stay, are those that there were") {
    std::size_t found = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        Diagrams of;
        Drawn drawn(seed, bits);
        BitPhases made(of);
        std::vector<std::pair<Both, double>> given;
        for (int k = 0; k < 3; ++k) {
            const Both where = product(of, drawn.below(64), drawn.below(64));
            given.emplace_back(where, drawn.below(2) ? pi / 2 : drawn.angle());
            made.add(where.diagram, given.back().second);
        }
        const int bit = static_cast<int>(drawn.below(bits));
        const auto taken = made.taken(bit);
        if (!taken) continue;
        const auto left = made.joint();
        if (!left) continue;
        ++found;
        for (Mask at = 0; at < unit(bits); ++at) {
            double sum = -made.all - phase_of(*left, at) - (at >> bit & 1 ? phase_of(*taken, at) : 0);
            for (const auto& [where, angle] : given) sum += where.values[at] ? angle : 0;
            CHECK(std::fabs(std::remainder(sum, 2 * pi)) < 1e-11);
        }
    }
    CHECK(found > 100);
}
