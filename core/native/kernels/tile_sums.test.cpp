// Tests of sums of many Pauli strings over tiles, against their definition, with each instruction set.

#include <doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <random>
#include <utility>
#include <vector>

#include "base/index_bits.hpp"
#include "kernels/sets.test.hpp"
#include "kernels/sums.hpp"

using qx::Int;
using qx::sums::Tiles;

QX_DECLARE(tile_paulis, (const void*, Int, const Tiles*, double*, Int, Int, Int, Int, Int));

namespace {

using Number = std::complex<double>;

// Returns the values of the bits in `mask`, side by side.
Int inside(Int value, Int mask) {
    Int out = 0, to = 0;
    for (Int left = mask; left; left &= left - 1, ++to) out |= (value & left & -left ? Int{1} : Int{0}) << to;
    return out;
}

template <class Real>
void check(Int single, Int mask, Int units) {
    constexpr Int bits = 7, size = Int{1} << bits;
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<std::complex<Real>> state(2 * size);  // a batch of two rows
    for (auto& entry : state) entry = {static_cast<Real>(number(random)), static_cast<Real>(number(random))};
    std::vector<Int> xs, imaginary, firsts{0}, zs_inside, zs_outside, all_x, all_z;
    for (const Int x : {Int{0}, mask & -mask, mask & 0b1010101, mask})
        for (const Int odd : {Int{0}, Int{1}}) {
            if (!x && odd) continue;
            const Int near = inside(x, mask), half = near < 8 ? 0 : static_cast<Int>(std::bit_floor(std::uint64_t(near)));
            std::vector<std::pair<Int, Int>> group;  // the Z-parts inside of a tile, and whole
            for (Int k = 0; k < (x == mask ? 1 : 12); ++k) {
                Int z = static_cast<Int>(random() % size);
                if (x == mask) z = odd ? x & -x : 0;  // one string, without signs where x has one bit
                if (qx::odd(z & x) != odd) z ^= x & -x;
                const Int all = inside(z, mask);
                group.emplace_back(half ? (all & (half - 1)) | (all >> 1 & -half) : all, z);
            }
            std::sort(group.begin(), group.end());
            xs.push_back(near), imaginary.push_back(odd);
            for (const auto& [near_z, z] : group) {
                all_x.push_back(x), all_z.push_back(z);
                zs_inside.push_back(near_z), zs_outside.push_back(z & ~mask);
            }
            firsts.push_back(static_cast<Int>(all_z.size()));
        }
    const Tiles form{bits,
                     mask,
                     units,
                     static_cast<Int>(xs.size()),
                     xs.data(),
                     imaginary.data(),
                     firsts.data(),
                     zs_inside.data(),
                     zs_outside.data()};
    std::vector<double> first;
    qx::each_set(tile_paulis_sets, [&](auto kernel) {
        std::vector<double> out(2 * static_cast<std::size_t>(units) * all_z.size(), 7.0);
        CHECK(kernel(state.data(), single, &form, out.data(), 2 * units, size / units, 0, 2, 0) == 0);
        for (Int row = 0; row < 2; ++row)
            for (std::size_t k = 0; k < all_z.size(); ++k) {
                Number sum = 0, found = 0;
                for (Int i = 0; i < size; ++i) {
                    const auto one = state[static_cast<std::size_t>(row * size + (i ^ all_x[k]))];
                    const auto other = state[static_cast<std::size_t>(row * size + i)];
                    sum += std::conj(Number(one)) * (qx::odd(i & all_z[k]) ? -1.0 : 1.0) * Number(other);
                }
                for (Int unit = 0; unit < units; ++unit)
                    found += out[static_cast<std::size_t>(row * units + unit) * all_z.size() + k];
                if (qx::odd(all_x[k] & all_z[k])) found *= Number(0, 1);
                CHECK(std::abs(found - sum) < 1e-10);
            }
        if (first.empty()) first = out;
        CHECK(out == first);  // to the bit, with each instruction set
    });
}

}  // namespace

TEST_CASE("sums of Pauli strings over tiles are those of their definition, the same with each instruction set") {
    for (const Int mask : {Int{0b0001111}, Int{0b1100011}, Int{0b0110100}, Int{0b1111111}})
        for (const Int units : {Int{1}, Int{128} >> qx::ones(mask)}) {
            check<float>(1, mask, units);
            check<double>(0, mask, units);
        }
}
