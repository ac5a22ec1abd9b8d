// The host's part of a run on a GPU: it evaluates a plan's coefficient program and queues all kernels.
//
// Python and NumPy need some microseconds for each launch and each instruction; a state of 20 wires is done sooner.
// kernels/run_words.hpp says what the words mean.

#include "base/export.hpp"
#include "kernels/euler.hpp"
#include "kernels/matrix_rows.hpp"
#include "kernels/pivots.hpp"
#include "kernels/run_words.hpp"

namespace qx::plan {
void make_numbers(Int planner, Complex* numbers, void* aside);  // see planner/coefficients/bind.cpp
}

namespace {

using namespace qx;

constexpr std::int32_t ZERO_AT = 0;  // of qsim_ex.circuit.circuit

// The signature of cuLaunchKernel: function, blocks, threads, shared memory, stream, pointers to arguments, more.
using Launch = int (*)(Int, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Int, Int, Int);

// Computes entries of products of matrices, each a sum of products of two numbers.
void products(Complex* numbers, const std::int32_t* at, Int count, Int terms) {
    for (Int k = 0; k < count; ++k) {
        Complex& to = numbers[*at++];
        Complex sum{0, 0};
        for (Int term = 0; term < terms; ++term, at += 2) sum += numbers[at[0]] * numbers[at[1]];
        to = sum;
    }
}

// Computes products of matrices and rows of 16 numbers each, which are rows of the unit matrix where their place is
// negative.
void row_products(Complex* numbers, const std::int32_t* at, Int count, Int size, Int rest) {
    for (Int product = 0; product < count; ++product, at += 1 + size * size + size * rest) {
        const std::int32_t *left = at + 1, *rows = left + size * size;
        auto load = [&](Int k, Int r, double* re, double* im) {
            const Int row = rows[k * rest + r];
            for (int j = 0; j < qx::row_size; ++j) {
                const Complex one = row < 0 ? Complex{-1 - row == j ? 1.0 : 0.0, 0} : numbers[row + j];
                re[j] = one.re, im[j] = one.im;
            }
        };
        auto entry = [&](Int i, Int k, double& re, double& im) {
            const Int place = left[i * size + k];
            re = numbers[place].re, im = numbers[place].im;
            return place != ZERO_AT;
        };
        qx::multiply_rows(size, rest, load, entry, reinterpret_cast<double*>(numbers + at[0]));
    }
}

// Computes Euler angles of unitary 2×2 matrices.
void eulers(Complex* numbers, const std::int32_t* at, Int count, bool imaginary) {
    for (Int k = 0; k < count; ++k, at += 5)
        qx::split_rotation(numbers[at[0]], numbers[at[1]], numbers[at[2]], numbers[at[3]], imaginary, numbers + at[4]);
}

// Returns the product of some numbers.
Complex product(const Complex* numbers, const std::int32_t* at, Int count) {
    Complex found{1, 0};
    for (Int k = 0; k < count; ++k) found = found * numbers[at[k]];
    return found;
}

// Lays out the arguments of a launch in the room; returns the address of the pointers to them.
Int arguments(const Int* words, Int count, Int slots, double* room, Int state, Int tables) {
    const Int begin = reinterpret_cast<Int>(room);
    Int* values = reinterpret_cast<Int*>(room + slots);
    for (Int k = 0; k < count; ++k) {
        const Int kind = words[2 * k], value = words[2 * k + 1];
        values[k] = value + (kind == state_argument ? state : kind == tables_argument ? tables : 0);
        values[most_arguments + k] =
            kind == kept_argument ? value : begin + (kind == struct_argument ? value : 8 * (slots + k));
    }
    return begin + 8 * (slots + most_arguments);
}

}  // namespace

// Runs `words`, except launches before number `first`, until `most` launches are queued; returns the driver's status, 0 for
// success.
//
// driver: the address of cuLaunchKernel. stream: the stream's handle. state, tables: addresses on the device.
// operands: the circuit's, complex128. A room is for one run at a time. position: the word with which to go on, 0 at the
// beginning and when all is done.
QX_EXPORT(enqueue, (Launch driver, Int stream, Int state, Int tables, Int first, Int most, Int* position,
                    const Complex* operands, const Int* words, const std::int32_t* places, double* room)) {
    auto* numbers = reinterpret_cast<Complex*>(room);
    auto* singles = reinterpret_cast<float*>(room);
    Int launched = *position ? first : 0;
    const auto length = [](const Int* at) { return word_length[*at] + (*at == launch_word ? 2 * at[4] : 0); };
    for (const Int* at = words + (*position ? *position : head_words);; at += length(at)) {
        const Int a = at[1], b = at[2], c = at[3];
        switch (*at) {
            case end_word: *position = 0; return 0;
            case operands_word:
                for (Int k = 0; k < a; ++k) numbers[k] = operands[k];
                break;
            case products_word: products(numbers, places + a, b, c); break;
            case rows_word: row_products(numbers, places + a, b, c, at[4]); break;
            case eulers_word: eulers(numbers, places + a, b, c); break;
            case entry_word: numbers[a] = product(numbers, places + b, c); break;
            case take_word:
                for (Int k = 0; k < b; ++k) room[c + k] = room[places[a + k]];
                break;
            case take_single_word:
                for (Int k = 0; k < b; ++k) singles[c + k] = static_cast<float>(room[places[a + k]]);
                break;
            case launch_word:
                if (launched++ < first) break;
                if (launched > first + most) {
                    *position = at - words;
                    return 0;
                }
                {
                    const Int pointers = arguments(at + 5, at[4], words[slots_word], room, state, tables);
                    const auto blocks = static_cast<unsigned>(b), threads = static_cast<unsigned>(c);
                    if (int status = driver(a, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, 0)) return status;
                }
                break;
            case pivots_word: {
                auto raw = [&](int k) { return room[places[a + k]]; };
                const std::int32_t* records = places + b;
                if (at[5] == sizeof(float)) qx::pivot(raw, singles + at[4], records, records + c);
                else qx::pivot(raw, room + at[4], records, records + c);
                break;
            }
            case numbers_word: qx::plan::make_numbers(a, numbers, room + b); break;  // which allocates nothing
        }
    }
}
