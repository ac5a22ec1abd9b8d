// Tests of sums over amplitudes, against loops over all of them, with each instruction set that this processor has.

#include "kernels/sums.hpp"

#include <doctest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "kernels/sets.test.hpp"

using qx::Int;
using qx::sums::Marginal;
using qx::sums::Paulis;
using qx::sums::Search;

namespace {

using Number = std::complex<double>;
template <class Real>
using Amplitudes = std::vector<std::complex<Real>>;

template <class Real>
Amplitudes<Real> drawn(std::mt19937_64& random, std::size_t size) {
    std::uniform_real_distribution<double> number(-1, 1);
    Amplitudes<Real> out(size);
    for (auto& entry : out) entry = {static_cast<Real>(number(random)), static_cast<Real>(number(random))};
    return out;
}

template <class Real>
Number at(const Amplitudes<Real>& state, Int k) {
    const auto entry = state[static_cast<std::size_t>(k)];
    return {entry.real(), entry.imag()};
}

template <class Act>
void both_precisions(Act act) {
    act(float{}, 1);
    act(double{}, 0);
}

constexpr double near = 1e-12;

}  // namespace

QX_DECLARE(marginals, (const void*, Int, const Marginal*, double*, Int, Int, Int, Int, Int));
QX_DECLARE(inner, (const void*, const void*, Int, Int, Int, double*, Int, Int, Int, Int, Int));
QX_DECLARE(paulis, (const void*, Int, const Paulis*, double*, Int, Int, Int, Int, Int));
QX_DECLARE(small_paulis, (const void*, Int, const Paulis* const*, Int, double*));
QX_DECLARE(search, (const void*, Int, const Search*, Int*, Int, Int, Int, Int, Int));

TEST_CASE("marginals are sums of squares over all bits but those asked for, where a condition holds") {
    constexpr Int bits = 7, width = 4;
    const std::vector<std::vector<Int>> asked{{}, {0}, {6}, {5, 1}, {1, 5}, {0, 2, 4, 6}, {4, 5, 6}};
    both_precisions([&](auto real, Int single) {
        std::mt19937_64 random(1);
        const auto state = drawn<decltype(real)>(random, 2 << bits);  // a batch of two rows
        for (const auto& named : asked)
            for (const Int mask : {0, 0b0001000, 0b0101000}) {
                const Int value = mask & 0b0100000, count = static_cast<Int>(named.size());
                Int above = 0, taken = 0;
                for (const Int bit : named) above += bit >= width, taken |= Int{1} << bit;
                if (mask & taken) continue;
                const Int rest = ((1 << bits) - (1 << width)) & ~taken & ~mask;  // bits above a block that are summed over
                const Int share = rest ? 1 : 0, units = Int{1} << (above + share);
                const Int parts = Int{1} << share, bins = Int{1} << count;
                std::vector<double> expected(static_cast<std::size_t>(2 * bins), 0.0);
                for (Int x = 0; x < 2 << bits; ++x) {
                    if ((x & mask) != value) continue;
                    Int bin = 0;
                    for (Int k = 0; k < count; ++k) bin |= (x >> named[static_cast<std::size_t>(k)] & 1) << k;
                    expected[static_cast<std::size_t>((x >> bits) * bins + bin)] += std::norm(at(state, x));
                }
                const Marginal form{bits, width, share, mask, value, count, named.data()};
                std::vector<double> first;
                qx::each_set(marginals_sets, [&](auto kernel) {
                    std::vector<double> out(static_cast<std::size_t>(2 * parts * bins), 0.0);
                    CHECK(kernel(state.data(), single, &form, out.data(), 2 * units, 16, 0, 2, 0) == 0);
                    for (Int row = 0; row < 2; ++row)
                        for (Int bin = 0; bin < bins; ++bin) {
                            double sum = 0;
                            for (Int part = 0; part < parts; ++part)
                                sum += out[static_cast<std::size_t>((row * parts + part) * bins + bin)];
                            CHECK(std::abs(sum - expected[static_cast<std::size_t>(row * bins + bin)]) < near * 100);
                        }
                    if (first.empty()) first = out;
                    CHECK(out == first);  // to the bit, with each instruction set
                });
            }
    });
}

TEST_CASE("inner products of units are sums of conj(left)·right, the same to the bit with each instruction set") {
    both_precisions([&](auto real, Int single) {
        std::mt19937_64 random(2);
        const auto left = drawn<decltype(real)>(random, 256), right = drawn<decltype(real)>(random, 256);
        for (const Int units : {1, 4}) {
            const Int length = 256 / units;
            std::vector<double> first;
            qx::each_set(inner_sets, [&](auto kernel) {
                std::vector<double> out(static_cast<std::size_t>(2 * units));
                kernel(left.data(), right.data(), single, 16, length, out.data(), units, length, 0, 3, 0);
                for (Int unit = 0; unit < units; ++unit) {
                    Number sum = 0;
                    for (Int k = unit * length; k < (unit + 1) * length; ++k) sum += std::conj(at(left, k)) * at(right, k);
                    const auto place = static_cast<std::size_t>(2 * unit);
                    CHECK(std::abs(Number(out[place], out[place + 1]) - sum) < near * 100);
                }
                if (first.empty()) first = out;
                CHECK(out == first);
            });
        }
    });
}

TEST_CASE("sums of Pauli strings are those of their definition") {
    constexpr Int bits = 6, size = 1 << bits, width = 8;
    both_precisions([&](auto real, Int single) {
        std::mt19937_64 random(3);
        const auto state = drawn<decltype(real)>(random, size);
        for (const Int x : {Int{0}, Int{1}, Int{0b100100}, Int{0b111111}}) {
            std::vector<Int> zs, above, of;
            for (int k = 0; k < 6; ++k) zs.push_back(static_cast<Int>(random() % size));
            for (const Int z : zs) {  // the parts of z above a block, each once
                const Int part = z & -width;
                std::size_t found = 0;
                while (found < above.size() && above[found] != part) ++found;
                if (found == above.size()) above.push_back(part);
                of.push_back(static_cast<Int>(found));
            }
            const Paulis form{size, x, 6, static_cast<Int>(above.size()), width, 1, zs.data(), above.data(), of.data()};
            auto check = [&](const std::vector<double>& out) {
                for (std::size_t k = 0; k < zs.size(); ++k) {
                    Number sum = 0;
                    for (Int i = 0; i < size; ++i) {
                        const double sign = std::popcount(static_cast<std::uint64_t>(i & zs[k])) % 2 ? -1 : 1;
                        sum += std::conj(at(state, i ^ x)) * sign * at(state, i);
                    }
                    CHECK(std::abs(Number(out[2 * k], out[2 * k + 1]) - sum) < near * 100);
                }
            };
            qx::each_set(paulis_sets, [&](auto kernel) {
                std::vector<double> out(12);
                kernel(state.data(), single, &form, out.data(), 1, size, 0, 1, 0);
                check(out);
            });
            qx::each_set(small_paulis_sets, [&](auto kernel) {
                const Paulis* parts[] = {&form};
                std::vector<double> out(12);
                kernel(state.data(), single, parts, 1, out.data());
                check(out);
            });
        }
    });
}

TEST_CASE("search finds the value at which running sums of squares pass a target") {
    both_precisions([&](auto real, Int single) {
        std::mt19937_64 random(4);
        const auto state = drawn<decltype(real)>(random, 64);
        const Int bits[] = {1, 4, 5}, bases[] = {0, 0b001101};
        const Int runs[] = {0, 20, 40};
        std::vector<double> targets(40);
        std::uniform_real_distribution<double> part(0, 1);
        std::vector<Int> expected(40);
        for (std::size_t run = 0; run < 2; ++run) {
            double sums[8], total = 0;
            for (Int v = 0; v < 8; ++v) {
                const Int place = (v & 1) << 1 | (v >> 1 & 1) << 4 | (v >> 2 & 1) << 5;
                sums[v] = total += std::norm(at(state, bases[run] ^ place));
            }
            for (std::size_t k = 20 * run; k < 20 * run + 20; ++k) {
                targets[k] = part(random) * total;
                while (sums[expected[k]] <= targets[k]) ++expected[k];
            }
            targets[20 * run] = 2 * total, expected[20 * run] = 7;  // rounding never leads beyond the last value
            targets[20 * run + 1] = 0, expected[20 * run + 1] = 0;
        }
        const Search form{bits, bases, runs, targets.data(), 3};
        qx::each_set(search_sets, [&](auto kernel) {
            std::vector<Int> found(40, -1);
            kernel(state.data(), single, &form, found.data(), 2, 8, 0, 2, 0);
            CHECK(found == expected);
        });
    });
}
