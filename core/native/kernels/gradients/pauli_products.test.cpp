// Tests of H|psi> for sums H of Pauli strings, against strings applied one by one, with each instruction set.

#include <doctest.h>

#include <bit>
#include <complex>
#include <random>
#include <vector>

#include "kernels/sets.test.hpp"

using qx::Int;

QX_DECLARE(pauli_products, (const void*, Int, const void*, void*, const double*, Int, double*, Int, Int, Int, Int, Int));

namespace {

using Number = std::complex<double>;

// The same fields as those of the kernel.
struct Arrays {
    Int size, block, num_sums;
    const Int *xs_end, *xs, *zs_end, *zs;
    const double* coefficients;
};

// Sums of strings X^x Z^z, where strings of one sum with one X-part are neighbours.
struct Sums {
    std::vector<Int> xs_end, xs, zs_end, zs;
    std::vector<Number> coefficients;

    Sums(std::mt19937_64& random, Int size, bool complex) {
        std::uniform_real_distribution<double> number(-1, 1);
        const auto below = [&](Int end) { return static_cast<Int>(random() % static_cast<unsigned long>(end)); };
        for (int sum = 0; sum < 3; ++sum) {
            for (Int parts = 1 + below(3); parts > 0; --parts) {
                xs.push_back(below(size));
                const bool is_low = below(3) == 0;  // whether all weights of a block are those of its first eight amplitudes
                for (Int strings = 1 + below(4); strings > 0; --strings) {
                    zs.push_back(is_low ? below(8) % size : below(size));
                    coefficients.push_back({number(random), complex ? number(random) : 0});
                }
                zs_end.push_back(static_cast<Int>(zs.size()));
            }
            xs_end.push_back(static_cast<Int>(xs.size()));
        }
    }

    Arrays arrays(Int size, Int block) const {
        return {size,
                block,
                static_cast<Int>(xs_end.size()),
                xs_end.data(),
                xs.data(),
                zs_end.data(),
                zs.data(),
                reinterpret_cast<const double*>(coefficients.data())};
    }

    // Returns sum number `sum` applied to a state: (X^x Z^z psi)[i ^ x] = (-1)^parity(z & i) psi[i].
    std::vector<Number> applied(std::size_t sum, const Number* state, Int size) const {
        std::vector<Number> out(static_cast<std::size_t>(size));
        for (auto part = static_cast<std::size_t>(sum ? xs_end[sum - 1] : 0); part < static_cast<std::size_t>(xs_end[sum]);
             ++part)
            for (auto k = static_cast<std::size_t>(part ? zs_end[part - 1] : 0); k < static_cast<std::size_t>(zs_end[part]);
                 ++k)
                for (Int i = 0; i < size; ++i) {
                    const bool odd = std::popcount(static_cast<unsigned long>(zs[k] & i)) % 2;
                    out[static_cast<std::size_t>(i ^ xs[part])] += (odd ? -1.0 : 1.0) * coefficients[k] * state[i];
                }
        return out;
    }
};

}  // namespace

TEST_CASE("sums of Pauli strings are applied to each row of a batch, with <psi|H|psi>, in blocks of any size") {
    constexpr Int rows = 2;
    qx::each_set(pauli_products_sets, [&](auto kernel) {
        for (unsigned seed = 0; seed < 80; ++seed) {
            std::mt19937_64 random(seed);
            const Int size = Int{1} << (1 + seed % 8), block = std::min(size, Int{1} << (1 + seed % 7));
            const Sums sums(random, size, seed % 3 != 0);
            std::vector<Number> states(static_cast<std::size_t>(rows * size));
            for (Number& entry : states)
                entry = {static_cast<double>(random() % 1000) / 500 - 1, static_cast<double>(random() % 1000) / 500 - 1};
            std::vector<Number> out(3 * states.size());
            const Int items = rows * (size / block);
            std::vector<double> values(static_cast<std::size_t>(3 * items));
            const Arrays arrays = sums.arrays(size, block);
            CHECK(kernel(states.data(), 0, &arrays, out.data(), nullptr, 0, values.data(), items, 1 << 20, 0, 1, 0) == 0);
            for (Int row = 0; row < rows; ++row)
                for (Int sum = 0; sum < 3; ++sum) {
                    const Number* state = states.data() + row * size;
                    const std::vector<Number> expected = sums.applied(static_cast<std::size_t>(sum), state, size);
                    double largest = 0, value = 0, shares = 0;
                    for (Int i = 0; i < size; ++i) {
                        const Number wanted = expected[static_cast<std::size_t>(i)];
                        largest =
                            std::max(largest, std::abs(wanted - out[static_cast<std::size_t>((row * 3 + sum) * size + i)]));
                        value += (std::conj(state[i]) * wanted).real();
                    }
                    for (Int item = row * (size / block); item < (row + 1) * (size / block); ++item)
                        shares += values[static_cast<std::size_t>(item * 3 + sum)];
                    CHECK(largest < 1e-12);
                    CHECK(std::abs(value - shares) < 1e-10);
                }
        }
    });
}
