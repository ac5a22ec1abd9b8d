// What the words of programs for the interpreter of GPUs mean.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "planner/encode/programs/programs.hpp"

namespace qx::plan {

// Operations, as in interpreter_kernels/functions.cu; some have a body for each register bit.
enum OpCode : std::uint32_t {
    end_op,
    exchange_op,
    factors_op,
    table_op,
    phase_op,
    flip_op = 16,
    mix_1 = 20,
    real_1 = 24,
    crossed_1 = 28,
    mix_2 = 32,
    crossed_2 = 38,
    block_op = 44,
    any_1 = 45,
    any_2 = 46,
    any_3 = 47,
    any_4 = 48,
    permute_op = 49,
    mix_3 = 50,
    pair_2 = 54,
    flip_if = 64,
    cxs_op = 96,
    phase_if = 97,
    phase_2 = 103,
    parity_op = 109,
    parity_1 = 110,
    choice_1 = 114,
    mix_if = 118,
    layer_op = 128
};

inline constexpr std::uint32_t layer_real = 1, layer_crossed = 2, layer_mix = 3, layer_phase = 4;
inline constexpr std::uint32_t pair_real = 256, pair_by_parity = 512;
inline constexpr std::uint32_t masked = 5;          // of the bodies of `phase_if`, the one that asks for each register
inline constexpr std::uint32_t any_registers = 11;  // of the bodies of a phase, the one that asks for each register
inline constexpr std::uint32_t every = (1u << registers) - 1;
// Index bits from here up do not exist: they fill the tile of a state of fewer than 4 bits.
inline constexpr int padding = 60;
inline constexpr int lanes = 4;     // the lowest index bits, which are spread over the lanes of a warp for memory access
inline constexpr Int quad = 16;     // the bytes that the kernel loads at a time
inline constexpr int runs_end = 64;
inline constexpr std::size_t crosses[] = {0, 3, 5, 6, 9, 10, 12, 15};  // the diagonal and the antidiagonal of a 4 x 4 matrix
inline constexpr std::array<int, register_bits> in_order{0, 1, 2, 3};

struct Swap {
    std::uint32_t flag;
    int low, high;
};
inline constexpr Swap swaps[] = {{1, 0, 1}, {2, 0, 2}, {4, 0, 3}, {8, 1, 2}, {16, 1, 3}};

// The number of a pair of register bits, low < high.
constexpr std::uint32_t pair_number(int low, int high) {
    return static_cast<std::uint32_t>(low == 0 ? high - 1 : low == 1 ? high + 1 : 5);
}

// A mask of index bits as a mask of the places of `bits`.
template <class Bits>
std::uint32_t within(Mask mask, const Bits& bits) {
    std::uint32_t found = 0;
    for (std::size_t k = 0; mask && k < bits.size(); ++k) found |= static_cast<std::uint32_t>(mask >> bits[k] & 1) << k;
    return found;
}

// The registers at which an item acts as a mask, the bits of their numbers in another order. mask, value: a condition;
// taken: register bits that are mixed, which are 0 in the mask.
inline std::uint32_t acting(std::uint32_t mask, std::uint32_t value, std::uint32_t taken,
                            const std::array<int, register_bits>& order) {
    std::uint32_t found = 0;
    for (std::uint32_t r = 0; r < registers; ++r) {
        if ((r & mask) != value || r & taken) continue;
        std::uint32_t number = 0;
        for (int k = 0; k < register_bits; ++k) number |= (r >> order[k] & 1) << k;
        found |= 1u << number;
    }
    return found;
}

// The body that multiplies all registers at which a condition holds.
inline std::uint32_t phase_code(std::uint32_t mask, std::uint32_t value) {
    int ones = count(mask);
    if (mask != value || ones > 2) return phase_op + any_registers;
    if (ones == 0) return phase_op;
    if (ones == 1) return phase_op + 1 + static_cast<std::uint32_t>(lowest(mask));
    return phase_op + 5 + pair_number(lowest(mask), lowest(mask & (mask - 1)));
}

// Whether a condition outside the tile, as `condition` writes it, is on one bit or on none; and what the first word of an
// operation has of it: conditions on threads, and the bit's value.
inline bool is_bit_or_none(const std::uint32_t (&beyond)[4]) { return count(beyond[0]) + count(beyond[1]) <= 1; }

inline std::uint32_t with_bit(std::uint32_t inner, const std::uint32_t (&beyond)[4]) {
    return (inner & 0xffff00) | (beyond[2] | beyond[3] ? 1u << 24 : 0);
}

inline bool is_real(char entry) { return entry == zero || entry == one || entry == minus_one || entry == real; }
inline bool is_beside(char entry) { return entry == zero || entry == imag; }

// Whether only the diagonal and the antidiagonal of matrices on two bits are not 0, and what these are: a real diagonal with
// real or with imaginary entries beside it, or any.
enum class Cross { none, any, real, imag };

inline Cross cross_of(Interned::Bytes pattern) {
    bool crossed = true, real = true, beside = true;
    for (std::size_t k = 0; k < pattern.size(); ++k) {
        const std::size_t row = k / 4 % 4, column = k % 4;
        const char entry = pattern[k];
        if (row != column && row + column != 3) crossed &= entry == zero;
        else real &= is_real(entry), beside &= row == column ? is_real(entry) : is_beside(entry);
    }
    return !crossed ? Cross::none : real ? Cross::real : beside ? Cross::imag : Cross::any;
}

template <class Values>
std::size_t index_of(const Values& values, int value) {
    return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

}  // namespace qx::plan
