// Tests of density matrices as expectation values of Pauli strings, against ρ → Σ K ρ K† on all of the matrix.

#include <doctest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "kernels/sets.test.hpp"

using qx::each_set;
using qx::Int;

QX_DECLARE(pauli_transfer, (const void*, Int, Int, double*));
QX_DECLARE(narrow_density, (const void*, Int, Int));

namespace {

using Number = std::complex<double>;
using Matrix = std::vector<Number>;  // row by row

// An operation: its wires, ascending, and its Kraus matrices; a gate has one.
struct Operation {
    std::vector<Int> wires;
    std::vector<Matrix> kraus;
};

std::size_t at(Int number) { return static_cast<std::size_t>(number); }

// Returns ρ after an operation on some of `num_wires` wires.
Matrix after(const Matrix& rho, Int num_wires, const Operation& of) {
    const Int size = Int{1} << num_wires, rows = Int{1} << of.wires.size();
    auto value = [&](Int x) {
        Int out = 0;
        for (std::size_t k = 0; k < of.wires.size(); ++k) out |= (x >> of.wires[k] & 1) << k;
        return out;
    };
    auto with = [&](Int x, Int row) {
        for (std::size_t k = 0; k < of.wires.size(); ++k) x = (x & ~(Int{1} << of.wires[k])) | (row >> k & 1) << of.wires[k];
        return x;
    };
    Matrix out(rho.size());
    for (const Matrix& k : of.kraus)
        for (Int x = 0; x < size; ++x)
            for (Int y = 0; y < size; ++y)
                for (Int a = 0; a < rows; ++a)
                    for (Int b = 0; b < rows; ++b)
                        out[at(x * size + y)] += k[at(value(x) * rows + a)] * rho[at(with(x, a) * size + with(y, b))] *
                                                 std::conj(k[at(value(y) * rows + b)]);
    return out;
}

// Returns a drawn unitary matrix on one bit, or on two: the product of two on one bit each, and a CZ.
Matrix unitary(std::mt19937_64& random, std::size_t bits) {
    std::uniform_real_distribution<double> angle(0, 6.283185307179586);
    const double theta = angle(random);
    const Number a = std::polar(1.0, angle(random)), b = std::polar(1.0, angle(random));
    const Matrix one{std::cos(theta), -a * std::sin(theta), b * std::sin(theta), a * b * std::cos(theta)};
    if (bits == 1) return one;
    const Matrix other = unitary(random, 1);
    Matrix out(16);
    for (std::size_t row = 0; row < 4; ++row)
        for (std::size_t column = 0; column < 4; ++column)
            out[4 * row + column] =
                one[2 * (row & 1) + (column & 1)] * other[2 * (row >> 1) + (column >> 1)] * (row == 3 ? -1.0 : 1.0);
    return out;
}

std::vector<Matrix> damping(double gamma) { return {{1, 0, 0, std::sqrt(1 - gamma)}, {0, std::sqrt(gamma), 0, 0}}; }

}  // namespace

TEST_CASE("the transfer matrix of amplitude damping is the one of the textbooks") {
    each_set(pauli_transfer_sets, [](auto transfer) {
        const double gamma = 0.3, root = std::sqrt(1 - gamma);
        const std::vector<Matrix> kraus = damping(gamma);
        Matrix flat(kraus[0]);
        flat.insert(flat.end(), kraus[1].begin(), kraus[1].end());
        double found[16] = {};
        transfer(flat.data(), 2, 1, found);
        // Strings are I, X, Z, Y: Z shrinks by 1 − γ and gets γ of I, X and Y shrink by the root.
        const double expected[16] = {1, 0, 0, 0, 0, root, 0, 0, gamma, 0, 1 - gamma, 0, 0, 0, 0, root};
        for (int k = 0; k < 16; ++k) CHECK(found[k] == doctest::Approx(expected[k]));
    });
}

TEST_CASE("probabilities are the diagonal of the density matrix, of gates and channels on any wires, one after another") {
    each_set(narrow_density_sets, [](auto run) {
        for (unsigned seed = 0; seed < 12; ++seed) {
            std::mt19937_64 random(seed);
            const Int num_wires = 2 + seed % 3;
            std::vector<Operation> gates;
            for (Int wire = num_wires; wire-- > 0;) gates.push_back({{wire}, {unitary(random, 1)}});
            gates.push_back({{0, num_wires - 1}, {unitary(random, 2)}});
            const Operation channel{{num_wires - 1}, damping(0.2)};
            std::vector<Int> ops, forms;
            std::vector<std::int32_t> steps;
            Matrix operands{0, 1}, rho(std::size_t{1} << 2 * num_wires);
            rho[0] = 1;
            auto add = [&](const Operation& of, Int form, Int number) {
                ops.push_back(static_cast<Int>(of.wires.size()));
                for (std::size_t k = 0; k < 3; ++k) ops.push_back(k < of.wires.size() ? of.wires[k] : 0);
                ops.push_back(form), ops.push_back(number);
            };
            for (const Operation& of : gates) {
                add(of, static_cast<Int>(forms.size()), static_cast<Int>(operands.size()));
                for (std::size_t k = 0; k < of.kraus[0].size(); ++k) forms.push_back(static_cast<Int>(k));
                operands.insert(operands.end(), of.kraus[0].begin(), of.kraus[0].end());
            }
            add(channel, -1, 0);
            Matrix kraus(channel.kraus[0]);
            kraus.insert(kraus.end(), channel.kraus[1].begin(), channel.kraus[1].end());
            double transfer[16] = {};
            pauli_transfer_sets[0](kraus.data(), 2, 1, transfer);
            // The channel is behind all gates or behind the first one, which is on its wire, and this often enough that
            // both are multiplied.
            const std::size_t channel_at = seed % 2 ? 1 : gates.size();
            for (int round = 0; round < 4; ++round)
                for (std::size_t place = 0; place <= gates.size(); ++place) {
                    const std::size_t number = place == channel_at ? gates.size() : place - (place > channel_at);
                    steps.push_back(static_cast<std::int32_t>(number));
                    rho = after(rho, num_wires, number < gates.size() ? gates[number] : channel);
                }
            const Int begin = 0, count = static_cast<Int>(gates.size()) + 1;
            std::vector<double> found(std::size_t{1} << num_wires);
            const auto address = [](const void* of) { return reinterpret_cast<Int>(of); };
            const Int request[] = {num_wires,
                                   count,
                                   static_cast<Int>(steps.size()),
                                   1,
                                   static_cast<Int>(operands.size()),
                                   1,
                                   address(ops.data()),
                                   address(steps.data()),
                                   address(forms.data()),
                                   address(operands.data()),
                                   address(transfer),
                                   address(&begin),
                                   address(found.data())};
            run(request, 0, 1);
            for (std::size_t x = 0; x < found.size(); ++x)
                CHECK(found[x] == doctest::Approx(rho[x * found.size() + x].real()));
        }
    });
}
