// Tests of amplitudes that are moved and scaled in place, against the same done index by index.

#include <doctest.h>

#include <algorithm>
#include <complex>
#include <random>
#include <vector>

#include "base/index_bits.hpp"

using qx::Int;
using State = std::vector<std::complex<double>>;

extern "C" Int qx_bases(Int free, Int fixed, Int first, Int* out, Int count);
extern "C" Int qx_gather(void*, Int, const Int*, Int, const Int*, void*, Int, Int, Int, Int, Int);
extern "C" Int qx_scatter(void*, Int, const Int*, Int, const Int*, void*, Int, Int, Int, Int, Int);
extern "C" Int qx_spread(void*, Int, const Int*, Int, Int, const Int*, void*, Int, Int, Int, Int, Int);
extern "C" Int qx_scale(void*, Int, Int, Int, double, double, Int, Int, Int, Int, Int);
extern "C" Int qx_clear_bits(void*, Int, Int, Int, Int, Int, Int, Int);
extern "C" Int qx_exchange(void*, Int, const Int*, Int, Int, Int, Int, Int, Int, Int);
extern "C" Int qx_permute_tiles(void*, Int, const Int*, const Int*, Int, Int, Int, Int, Int, Int, Int, Int);

namespace {

constexpr Int bits = 8, size = 1 << bits;

State drawn(unsigned seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> number(-1, 1);
    State out(size);
    for (auto& entry : out) entry = {number(random), number(random)};
    return out;
}

std::vector<Int> values_of(Int mask) {
    std::vector<Int> out;
    for (Int x = 0; x < size; ++x)
        if (!(x & ~mask)) out.push_back(x);
    return out;
}

}  // namespace

TEST_CASE("bases are the values of free bits with others fixed, in ascending order") {
    const Int free = 0b10110010, fixed = 0b00000101;
    const std::vector<Int> all = values_of(free);
    for (const Int first : {0, 3, 10}) {
        std::vector<Int> out(6);
        qx_bases(free, fixed, first, out.data(), 6);
        for (Int k = 0; k < 6; ++k)
            CHECK(out[static_cast<std::size_t>(k)] == (all[static_cast<std::size_t>(first + k)] | fixed));
    }
}

TEST_CASE("gather takes rows of columns out of a state, and scatter puts them back") {
    const Int row_bits = 0b00100100;
    const std::vector<Int> rows = values_of(row_bits), columns = values_of(~row_bits & (size - 1));
    const Int count = static_cast<Int>(columns.size());
    for (const Int threads : {1, 3}) {
        State state = drawn(1), matrix(state.size()), other(state.size());
        CHECK(qx_gather(state.data(), 0, rows.data(), 4, columns.data(), matrix.data(), count, 4, 0, threads, 0) == 0);
        for (std::size_t r = 0; r < 4; ++r)
            for (std::size_t c = 0; c < columns.size(); ++c)
                CHECK(matrix[r * columns.size() + c] == state[static_cast<std::size_t>(rows[r] + columns[c])]);
        qx_scatter(other.data(), 0, rows.data(), 4, columns.data(), matrix.data(), count, 4, 0, threads, 0);
        CHECK(other == state);
    }
}

TEST_CASE("spread sets each row to its amplitude times the row that is held, neighbours among columns or not") {
    const Int cases[][3] = {// bits of rows, bits of columns, threads
                            {0b00000101, 0b11111010, 2},
                            {0b11000000, 0b00111111, 2},
                            {0b11000000, 0b00000101, 1},   // 0, 1 and then a gap
                            {0b11000000, 0b00010011, 1}};
    for (const auto& [row_bits, column_bits, threads] : cases) {
        const std::vector<Int> rows = values_of(row_bits), columns = values_of(column_bits);
        for (const std::size_t held : {0u, 2u}) {
            State state = drawn(2), amplitudes = drawn(3);
            const State before = state;
            qx_spread(state.data(), 0, rows.data(), 4, rows[held], columns.data(), amplitudes.data(),
                      static_cast<Int>(columns.size()), 4, 0, threads, 0);
            for (std::size_t r = 0; r < 4; ++r)
                for (const Int column : columns) {
                    const auto expected = amplitudes[r] * before[static_cast<std::size_t>(rows[held] + column)];
                    CHECK(std::abs(state[static_cast<std::size_t>(rows[r] + column)] - expected) < 1e-14);
                }
        }
    }
}

TEST_CASE("scale and clear look at the bits under a mask") {
    State state = drawn(4);
    const State before = state;
    qx_scale(state.data(), 0, 0b01010000, 0b01000000, 2.0, 0.5, size, 1, 0, 2, 0);
    for (std::size_t x = 0; x < state.size(); ++x)
        CHECK(state[x] == before[x] * ((x & 0b01010000) == 0b01000000 ? 2.0 : 0.5));
    state = before;
    qx_clear_bits(state.data(), 0, 0b00010001, size, 1, 0, 2, 0);
    for (std::size_t x = 0; x < state.size(); ++x) CHECK(state[x] == (x & 0b00010001 ? 0.0 : before[x]));
}

TEST_CASE("exchange swaps two amplitudes of each column") {
    State state = drawn(5);
    const State before = state;
    const std::vector<Int> columns = values_of(~0b00000110 & (size - 1));
    qx_exchange(state.data(), 0, columns.data(), 0b00000010, 0b00000100, static_cast<Int>(columns.size()), 2, 0, 2, 0);
    for (std::size_t x = 0; x < state.size(); ++x) {
        const bool moves = (x >> 1 & 1) != (x >> 2 & 1);
        CHECK(state[x] == before[moves ? x ^ 0b00000110 : x]);
    }
}

TEST_CASE("bits of tiles move and flip as they are told, and all others stay") {
    std::mt19937 random(6);
    for (int run = 0; run < 20; ++run) {
        std::vector<Int> tile{1, 3, 4, 7}, sources{0, 1, 2, 3};
        std::shuffle(sources.begin(), sources.end(), random);
        const Int flip = static_cast<Int>(random() % 16), free = (size - 1) & ~0b10011010;
        State state = drawn(7);
        const State before = state;
        qx_permute_tiles(state.data(), 0, tile.data(), sources.data(), 4, flip, free, 16, 16, 0, 2, 0);
        for (Int x = 0; x < size; ++x) {
            Int to = x & free;
            for (std::size_t k = 0; k < 4; ++k) {
                const Int old = x >> tile[static_cast<std::size_t>(sources[k])] & 1;
                to |= (old ^ (flip >> k & 1)) << tile[k];
            }
            CHECK(state[static_cast<std::size_t>(to)] == before[static_cast<std::size_t>(x)]);
        }
    }
}
