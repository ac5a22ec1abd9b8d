// Tests of bits of many numbers, and of numbers of amplitudes as sets of bits, against loops over single bits.

#include <doctest.h>

#include <random>
#include <vector>

#include "base/index_bits.hpp"

using qx::Int;

extern "C" Int qx_bits_spread(const Int* values, Int size, const Int* masks, Int count, Int* out);
extern "C" Int qx_bits_flip(const double* values, Int size, Int flip, double* out);

namespace {

Int spread_bit_by_bit(Int number, Int mask) {
    Int out = 0, taken = 0;
    for (int bit = 0; bit < 62; ++bit)
        if (mask >> bit & 1) out |= (number >> taken++ & 1) << bit;
    return out;
}

}  // namespace

TEST_CASE("placed spreads the bits of a number over those of a mask, the lowest first") {
    std::mt19937_64 random(1);
    for (int k = 0; k < 200; ++k) {
        const Int mask = static_cast<Int>(random() >> 2), number = static_cast<Int>(random() >> 2);
        CHECK(qx::placed(number, mask) == spread_bit_by_bit(number, mask));
    }
    CHECK(qx::placed(5, 0) == 0);
}

TEST_CASE("next_placed counts through the values of a mask in ascending order, and begins again") {
    for (const Int mask : {Int{0}, Int{1}, Int{0b1010}, Int{0b1011001}}) {
        Int x = 0;
        for (Int number = 0; number < Int{1} << qx::ones(mask); ++number, x = qx::next_placed(x, mask))
            CHECK(x == spread_bit_by_bit(number, mask));
        CHECK(x == 0);
    }
}

TEST_CASE("ones and odd count the bits of negative numbers too") {
    CHECK(qx::ones(-1) == 64);
    CHECK(qx::ones(0) == 0);
    CHECK_FALSE(qx::odd(-1));
    CHECK(qx::odd(0b10110000));
}

TEST_CASE("bits_spread unites the masks of the bits of each value") {
    std::mt19937_64 random(2);
    for (const Int count : {Int{0}, Int{1}, Int{7}, Int{8}, Int{9}, Int{33}, Int{62}}) {
        std::vector<Int> masks(static_cast<std::size_t>(count)), values(50), out(50, -1);
        for (Int& mask : masks) mask = static_cast<Int>(random() >> 1);
        for (Int& value : values) value = count ? static_cast<Int>(random() >> (64 - count)) : 0;
        CHECK(qx_bits_spread(values.data(), 50, masks.data(), count, out.data()) == 0);
        for (std::size_t k = 0; k < values.size(); ++k) {
            Int expected = 0;
            for (std::size_t bit = 0; bit < masks.size(); ++bit)
                if (values[k] >> bit & 1) expected |= masks[bit];
            CHECK(out[k] == expected);
        }
    }
}

TEST_CASE("bits_flip exchanges the places whose numbers differ in the flipped bits") {
    std::vector<double> values{0, 1, 2, 3, 4, 5, 6, 7}, out(8), back(8);
    qx_bits_flip(values.data(), 8, 0b101, out.data());
    CHECK(out == std::vector<double>{5, 4, 7, 6, 1, 0, 3, 2});
    qx_bits_flip(out.data(), 8, 0b101, back.data());
    CHECK(back == values);
}
