// Tests of operations whose numbers differ, against the action of their matrices on states.

#include "planner/form/gates/varying.hpp"

#include "planner/form/angle.hpp"
#include "planner/form/naive.test.hpp"

using namespace qx::form;
using namespace qx::form::naive;

namespace {

constexpr double tolerance = 1e-12;

// The matrix of some rotations on wires, one after another.
std::vector<Complex> matrix(int wires, const std::vector<std::pair<Pauli, double>>& rotations) {
    const std::size_t size = unit(wires);
    std::vector<Complex> out(size * size);
    for (std::size_t column = 0; column < size; ++column) {
        State state(size);
        state[column] = 1;
        for (const auto& [pauli, angle] : rotations) state = rotated(pauli, angle, state);
        for (std::size_t row = 0; row < size; ++row) out[row * size + column] = state[row];
    }
    return out;
}

// An operation on wires 0, 1, …: those that it mixes, those that it reads, its controls, which have to be 1.
struct Family {
    int mixes, reads = 0, controls = 0;
    std::vector<std::vector<Complex>> samples;

    std::vector<Operation> operations() const {
        std::vector<Operation> out;
        for (const auto& one : samples) out.push_back({mixes, reads, controls, unit(controls) - 1, one.data()});
        return out;
    }
    State applied(const std::vector<Complex>& entries, const State& to) const {
        const Mask size = unit(mixes), number = unit(reads);
        State out(to.size());
        for (Mask k = 0; k < to.size(); ++k) {
            const Mask column = k % size, which = k / size % number;
            if (k / size / number != unit(controls) - 1) out[k] += to[k];
            else
                for (Mask row = 0; row < size; ++row)
                    out[k - column + row] += entries[(which * size + row) * size + column] * to[k];
        }
        return out;
    }
};

// Returns how far the product is from an operation, and its entries from what they have to be.
double error(const VaryingProduct& product, const Family& family, const std::vector<Complex>& entries, Drawn& drawn) {
    std::vector<Complex> sums(product.num_phases);
    for (const Input& one : product.inputs)
        sums[one.phase] += one.by * (one.entry == Share::none ? Complex(1) : entries[one.entry]);
    const auto angle = [&](const VaryingRotation& of) {
        double out = of.angle;
        for (const Multiple& one : of.multiples) out += one.by * std::arg(sums[one.phase]);
        return out;
    };
    const State begin = drawn.state();
    State state = begin;
    for (const VaryingRotation& one : product.rotations)
        state = rotated({one.pauli.x, one.pauli.z | Mask{one.pauli.reads} << family.mixes}, angle(one), state);
    for (auto& one : state) one *= std::polar(1.0, angle(product.phase));
    std::vector<Complex> made(entries.size());
    for (const Share& one : product.shares) {
        const Complex of = one.phase == Share::none ? 1 : std::polar(1.0, std::arg(sums[one.phase]));
        made[one.entry] += one.by * (one.conjugate ? std::conj(of) : of);
    }
    return std::fmax(distance(state, family.applied(entries, begin)), distance(made, entries));
}

constexpr Pauli x{1, 0}, y{1, 1}, z{0, 1}, xx{3, 0}, yy{3, 3}, zz{0, 3};

}  // namespace

TEST_CASE("operations with one basis are rotations by sums of phases, also for bindings that were not looked at") {
    using Rotations = std::vector<std::pair<Pauli, double>>;
    const std::vector<std::pair<int, Rotations (*)(double, double)>> all{
        {1, [](double a, double) { return Rotations{{x, a}}; }},
        {1, [](double a, double) { return Rotations{{y, a}}; }},
        {1, [](double a, double) { return Rotations{{z, a}}; }},
        {1, [](double a, double) { return Rotations{{z, -0.7}, {y, 0.4}, {x, a}, {y, -0.4}, {z, 0.7}}; }},
        {2, [](double a, double) { return Rotations{{xx, a}}; }},
        {2, [](double a, double b) { return Rotations{{xx, a}, {yy, b}, {zz, a - b}}; }},
        {2, [](double a, double b) { return Rotations{{zz, a}, {{0, 2}, b}}; }},
        {2, [](double a, double b) { return Rotations{{{2, 1}, a}, {{2, 0}, b}}; }},
    };
    for (unsigned seed = 0; seed < 40; ++seed)
        for (const auto& [mixes, rotations] : all)
            for (int controls = 0; controls < 3; ++controls) {
                Drawn drawn(seed, mixes + controls);
                Family family{mixes, 0, controls, {}};
                for (int k = 0; k < 5; ++k) {
                    const bool special = k == 2 || seed % 4 == 3;
                    const auto one = [&] { return special ? 1.5707963267948966 * double(drawn.below(8)) : drawn.angle(); };
                    const double a = one();
                    family.samples.push_back(matrix(mixes, rotations(a, one())));
                }
                const std::vector<std::vector<Complex>> others(family.samples.begin() + 3, family.samples.end());
                if (seed % 4 < 3) family.samples.resize(seed % 4 + 2);  // generic ones, then one that is special
                VaryingProduct product;
                REQUIRE(find_varying(family.operations(), tolerance, product));
                for (const auto& entries : family.samples) CHECK(error(product, family, entries, drawn) < 1e-12);
                if (seed % 4 < 3)
                    for (const auto& entries : others) CHECK(error(product, family, entries, drawn) < 1e-12);
            }
}

TEST_CASE("turns about X, Y or Z are one rotation, and those about another axis have turns to it and back around them") {
    const double angles[] = {0.3, 1.7};
    for (const Pauli axis : {x, y, z}) {
        VaryingProduct plain, tilted;
        Family along{1, 0, 0, {}}, across{1, 0, 0, {}};
        for (const double a : angles) {
            along.samples.push_back(matrix(1, {{axis, a}}));
            across.samples.push_back(matrix(1, {{x, -0.4}, {y, -0.6}, {axis, a}, {y, 0.6}, {x, 0.4}}));
        }
        REQUIRE(find_varying(along.operations(), tolerance, plain));
        REQUIRE(find_varying(across.operations(), tolerance, tilted));
        CHECK(plain.rotations.size() == 1);
        CHECK(tilted.rotations.size() > 1);
    }
}

TEST_CASE("phases of what is read are equal, opposite or apart, and no more of them vary than have to") {
    Drawn drawn(1, 3);
    Family family{0, 2, 1, {}};
    for (int k = 0; k < 2; ++k) {
        const Complex a = std::polar(1.0, drawn.angle()), b = std::polar(1.0, drawn.angle());
        family.samples.push_back({a, std::conj(a), Complex(0, 1), b});
    }
    VaryingProduct product;
    REQUIRE(find_varying(family.operations(), tolerance, product));
    CHECK(product.num_phases == 2);
    for (const auto& entries : family.samples) CHECK(error(product, family, entries, drawn) < 1e-12);
}

TEST_CASE("operations without a basis in common are no product") {
    VaryingProduct product;
    const Family axes{1, 0, 0, {matrix(1, {{x, 0.3}}), matrix(1, {{y, 0.4}})}};
    CHECK(!find_varying(axes.operations(), tolerance, product));
    const Family pairs{2, 0, 0, {matrix(2, {{xx, 0.3}}), matrix(2, {{{2, 1}, 0.4}, {{1, 0}, 0.2}})}};
    CHECK(!find_varying(pairs.operations(), tolerance, product));
}

TEST_CASE("a sum of angles has all their phases, with the signs that they have") {
    Drawn drawn(5, 1);
    const double phases[] = {0.3, -1.1, 0.7, 2.0};
    Sums sums;
    for (int k = 0; k < 50; ++k) {
        Angle sum;
        double expected = 0;
        for (std::uint64_t j = drawn.below(30); j; --j) {
            const double number = drawn.below(2) ? 0.25 * double(drawn.below(9)) : 0, by = double(drawn.below(5)) - 2;
            const Index phase = static_cast<Index>(drawn.below(4));
            Angle one{number};
            if (number == 0) one = sums.multiple(phase, by), expected += by * phases[phase];
            expected += number;
            sum = drawn.below(2) ? sums.plus(sum, one) : sums.plus(one, sum);
            if (drawn.below(3) == 0) sum = -sum, expected = -expected;
        }
        double found = sum.value;
        sums.each(sum, [&](Index phase, double by) { found += by * phases[phase]; });
        CHECK(std::fabs(found - expected) < 1e-12);
    }
}
