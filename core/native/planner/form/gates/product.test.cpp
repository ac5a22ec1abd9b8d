// Tests of operations as products of rotations, against the action of their matrices on states.

#include "planner/form/gates/product.hpp"

#include "planner/form/gates/local_clifford.hpp"
#include "planner/form/naive.test.hpp"

using namespace qx::form;
using namespace qx::form::naive;

namespace {

constexpr double half_pi = 1.57079632679489661923, tolerance = 1e-12;

// An operation on wires 0, 1, …: those that it mixes, those that it reads, its controls.
struct Given {
    int mixes, reads = 0, controls = 0;
    Mask values = 0;
    std::vector<Complex> entries;

    int wires() const { return mixes + reads + controls; }
    Operation operation() const { return {mixes, reads, controls, values, entries.data()}; }
    State applied(const State& to) const {
        const Mask size = unit(mixes), number = unit(reads);
        State out(to.size());
        for (Mask k = 0; k < to.size(); ++k) {
            const Mask column = k % size, which = k / size % number;
            if (k / size / number != values) out[k] += to[k];
            else
                for (Mask row = 0; row < size; ++row)
                    out[k - column + row] += entries[(which * size + row) * size + column] * to[k];
        }
        return out;
    }
};

// Returns how many rotations of `product` are no quarter turns, and checks that it is the operation.
int checked(const Given& of, Drawn& drawn) {
    Product product;
    REQUIRE(find_product(of.operation(), tolerance, product));
    State begin(unit(of.wires())), state;
    for (auto& one : begin) one = {drawn.angle(), drawn.angle()};
    state = begin;
    int out = 0;
    for (const LocalRotation& one : product.rotations) {
        state = rotated({one.pauli.x, one.pauli.z | Mask{one.pauli.reads} << of.mixes}, one.angle, state);
        out += split_angle(one.angle, tolerance).rest != 0;
    }
    for (auto& one : state) one *= std::polar(1.0, product.phase);
    CHECK(distance(state, of.applied(begin)) < 1e-12);
    return out;
}

// The matrix of rotations on some wires, and a phase.
std::vector<Complex> matrix(int wires, const std::vector<std::pair<Pauli, double>>& rotations, double phase = 0) {
    const std::size_t size = unit(wires);
    std::vector<Complex> out(size * size);
    for (std::size_t column = 0; column < size; ++column) {
        State state(size);
        state[column] = std::polar(1.0, phase);
        for (const auto& [pauli, angle] : rotations) state = rotated(pauli, angle, state);
        for (std::size_t row = 0; row < size; ++row) out[row * size + column] = state[row];
    }
    return out;
}

std::vector<Complex> joined(std::vector<Complex> a, const std::vector<Complex>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

const std::vector<Complex> one{1, 0, 0, 1}, x{0, 1, 1, 0};

}  // namespace

TEST_CASE("phases of parities are a rotation for each product of them") {
    Drawn drawn(1, 3);
    for (int reads = 1; reads < 4; ++reads)
        for (int controls = 0; controls + reads < 5; ++controls) {
            Given of{0, reads, controls, drawn.below(unit(controls)), {}};
            for (int k = 0; k < 1 << reads; ++k) of.entries.push_back(std::polar(1.0, drawn.angle()));
            CHECK(checked(of, drawn) == (1 << (reads + controls)) - 1);
        }
    CHECK(checked({0, 0, 2, 3, {-1}}, drawn) == 0);  // CZ
    CHECK(checked({0, 0, 3, 7, {-1}}, drawn) == 7);  // CCZ
}

TEST_CASE("a gate under controls is the same however its matrix was given") {
    Drawn drawn(2, 4);
    CHECK(checked({1, 0, 1, 1, x}, drawn) == 0);
    CHECK(checked({1, 1, 0, 0, joined(one, x)}, drawn) == 0);
    CHECK(checked({1, 0, 2, 3, x}, drawn) == 7);
    CHECK(checked({2, 0, 0, 0, {1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0}}, drawn) == 0);  // CX, dense
    std::vector<Complex> toffoli(64), swap(64);
    for (std::size_t k = 0; k < 8; ++k) toffoli[8 * (k < 6 ? k : 13 - k) + k] = 1;
    CHECK(checked({3, 0, 0, 0, toffoli}, drawn) == 7);
    for (std::size_t k = 0; k < 8; ++k) swap[8 * (k == 5 || k == 6 ? 11 - k : k) + k] = 1;
    CHECK(checked({3, 0, 0, 0, swap}, drawn) == 7);  // a controlled SWAP
    for (int k = 0; k < 20; ++k) {
        const std::vector<Complex> about = matrix(1, {{{1, 0}, drawn.angle()}});
        CHECK(checked({1, 0, 1, drawn.below(2), about}, drawn) == 2);
        CHECK(checked({1, 0, 2, drawn.below(4), about}, drawn) == 4);
        const std::vector<Complex> any = matrix(1, {{{0, 1}, drawn.angle()}, {{1, 0}, drawn.angle()}}, drawn.angle());
        CHECK(checked({1, 0, 1, 1, any}, drawn) <= 7);
        const std::vector<Complex> tilted = matrix(1, {{{1, 1}, 1.0}, {{0, 1}, 1e-9 * drawn.angle()}});
        CHECK(checked({1, 0, 1, 1, tilted}, drawn) <= 7);
        CHECK(checked({1, 1, 0, 0, joined(any, matrix(1, {{{1, 0}, drawn.angle()}}))}, drawn) <= 14);
    }
}

TEST_CASE("CX is three rotations and CH is as many as under a control, whichever wires its matrix mixes") {
    const auto rotations = [](const Given& of) {
        Product product;
        REQUIRE(find_product(of.operation(), tolerance, product));
        return product.rotations.size();
    };
    const double half = std::sqrt(0.5);
    const std::vector<Complex> h{half, half, half, -half};
    for (const std::vector<Complex>& of : {x, h})
        for (int wire = 0; wire < 2; ++wire) {
            std::vector<Complex> dense(16);
            for (std::size_t row = 0; row < 4; ++row)
                for (std::size_t column = 0; column < 4; ++column) {
                    const auto own = [&](std::size_t k) { return k >> wire & 1; };
                    const auto other = [&](std::size_t k) { return k >> (1 - wire) & 1; };
                    if (other(row) == other(column))
                        dense[4 * row + column] = (other(row) ? of : one)[2 * own(row) + own(column)];
                }
            CHECK(rotations({2, 0, 0, 0, dense}) == rotations({1, 0, 1, 1, of}));
        }
    CHECK(rotations({1, 0, 1, 1, x}) == 3);
}

TEST_CASE("one wire is at most three rotations, two wires at most fifteen, and Clifford operators none") {
    Drawn drawn(3, 3);
    for (int k = 0; k < 50; ++k) {
        std::vector<std::pair<Pauli, double>> all;
        for (int j = 0; j < 12; ++j) all.push_back({Drawn(static_cast<unsigned>(100 * k + j), 2).pauli(), drawn.angle()});
        CHECK(checked({2, 0, 0, 0, matrix(2, all, drawn.angle())}, drawn) <= 15);
        for (auto& [pauli, angle] : all) pauli.x &= 1, pauli.z &= 1;
        CHECK(checked({1, 0, 0, 0, matrix(1, all, drawn.angle())}, drawn) <= 3);
        for (int wires = 1; wires < 4; ++wires) {
            std::vector<std::pair<Pauli, double>> turns;
            for (int j = 0; j < 12; ++j)
                turns.push_back(
                    {Drawn(static_cast<unsigned>(j + k), wires).pauli(), half_pi * static_cast<double>(drawn.below(8))});
            CHECK(checked({wires, 0, 0, 0, matrix(wires, turns, drawn.angle())}, drawn) == 0);
        }
    }
}

TEST_CASE("matrices that are diagonal in Bell states are rotations by XX, ZZ, YY and what is read or controls them") {
    Drawn drawn(5, 4);
    const auto drawn_matrix = [&] {
        return matrix(2, {{{3, 0}, drawn.angle()}, {{0, 3}, drawn.angle()}, {{3, 3}, drawn.angle()}}, drawn.angle());
    };
    for (int k = 0; k < 20; ++k) {
        Product product;
        const std::vector<Complex> alone = drawn_matrix();
        CHECK(checked({2, 0, 0, 0, alone}, drawn) <= 3);
        CHECK((find_product({2, 0, 0, 0, alone.data()}, tolerance, product) && product.rotations.size() <= 3));
        CHECK(checked({2, 1, 0, 0, joined(drawn_matrix(), drawn_matrix())}, drawn) <= 7);
        CHECK(checked({2, 0, 1, 1, drawn_matrix()}, drawn) <= 7);
        CHECK(checked({2, 0, 2, 2, drawn_matrix()}, drawn) <= 15);
    }
}

TEST_CASE("a product of matrices is taken apart, and what is dense on three wires is not") {
    Drawn drawn(4, 3);
    for (int k = 0; k < 20; ++k) {
        std::vector<std::pair<Pauli, double>> all;
        for (const Mask wire : {k % 3, (k + 1) % 3})
            for (const Pauli axis : {Pauli{1, 0}, Pauli{0, 1}, Pauli{1, 0}})
                all.push_back({{axis.x << wire, axis.z << wire}, drawn.angle()});
        all.push_back({{unit((k + 1) % 3) | unit((k + 2) % 3), 0}, drawn.angle()});
        CHECK(checked({3, 0, 0, 0, matrix(3, all, drawn.angle())}, drawn) <= 18);
    }
    std::vector<std::pair<Pauli, double>> dense;
    for (int k = 0; k < 30; ++k) dense.push_back({drawn.pauli(), drawn.angle()});
    const Given of{3, 0, 0, 0, matrix(3, dense)};
    Product product;
    CHECK(!find_product(of.operation(), tolerance, product));
}
