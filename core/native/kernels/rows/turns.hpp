// Matrices on a row bit each that are done together: rows are loaded and stored once for all of them. Where all are
// rotations by their numbers, they leave their scale to the end of a sweep; see decision 0034.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/rows/turned_blocks.hpp"
#include "thresholds/table.hpp"

namespace qx::QX_SET {

// How an instruction is applied: by its matrix, or as a rotation [1, -t; t, 1], or as [1, i t; i t, 1], which mixes planes
// crosswise; or not at all; or as a `TurnedBlock`.
enum Turn : unsigned char { NO_TURN, STRAIGHT, CROSSED, NOTHING, TURNED };

// The number of a coefficient. own: the numbers from the slot of its fill on, real and imaginary parts in turn.
inline double looked_up(const double* own, Int code) {
    if (code >= 0) return code & 1 ? -own[code >> 1] : own[code >> 1];
    return code == code_zero ? 0 : code == code_one ? 1 : -1;
}

// A matrix on a row bit as a scale times a rotation. way: NO_TURN where it is none, or one whose scale is nearly 0.
struct Turned {
    Turn way = NO_TURN;
    double tangent = 0, real = 0, imag = 0;  // and the scale

    Turned(const Instruction& it, const Fill& fill, const std::int32_t* codes, const double* numbers) {
        auto entry = [&](int k) { return looked_up(numbers + 2 * fill.slot, codes[fill.from + k]); };
        if (it.kind == Kind::PAIR_REAL) {
            const bool crossed = it.offsets[1] & static_cast<Half>(sizeof(Vector<float>));
            const double sign = crossed ? -1 : 1;
            set(entry(0), 0, crossed ? CROSSED : STRAIGHT, std::copysign(1.0, entry(0)) * entry(2),
                distance(entry(0), entry(3)) + distance(entry(0), entry(4)) + distance(entry(0), entry(7)) +
                    distance(-entry(1), entry(2)) + distance(sign * entry(2), entry(6)) +
                    distance(-sign * entry(2), entry(5)));
            return;
        }
        const double a = entry(0), b = entry(1), size = a * a + b * b;
        if (!(size > 0)) return;
        // The two entries beside the diagonal, turned as the first one's phase is taken away.
        auto turned = [&](int k, double& x, double& y) {
            x = (entry(k) * a + entry(k + 1) * b) / std::sqrt(size), y = (entry(k + 1) * a - entry(k) * b) / std::sqrt(size);
        };
        double x, y, z, w;
        turned(2, x, y), turned(4, z, w);
        const double apart = distance(a, entry(6)) + distance(b, entry(7));
        if (std::abs(z) > std::abs(w)) set(a, b, STRAIGHT, z, apart + distance(-x, z) + std::abs(y) + std::abs(w));
        else set(a, b, CROSSED, w, apart + distance(y, w) + std::abs(x) + std::abs(z));
    }

  private:
    static double distance(double one, double other) { return std::abs(one - other); }

    // sine: of the rotation, times the size of the scale's; apart: how far its entries are from those of a rotation.
    void set(double a, double b, Turn found, double sine, double apart) {
        constexpr double rounding = 1e-12, least = 1e-6;
        const double size = std::sqrt(a * a + b * b);
        if (apart > rounding || size < least) return;
        way = found, real = a, imag = b, tangent = sine / size;
    }
};

// What rotations of a sweep leave: for each instruction how it is applied, and the scale of all amplitudes at its end.
struct Turns {
    const unsigned char* ways = nullptr;  // of the first instruction of those that are done together; nullptr: by matrices
    double real = 1, imag = 0;

    // Takes one more scale; returns whether all together make amplitudes neither too large nor too small until then.
    bool take(double x, double y) {
        const double was = real;
        real = was * x - imag * y, imag = was * y + imag * x;
        return std::abs(0.5 * std::log2(real * real + imag * imag)) <= thresholds.scale_left;
    }
};

// Leaves out one half of a matrix that is a number times 1, as for RXX and RYY by one angle: the other half is divided by
// it. Returns whether it is so. real, imag: the number.
template <class Real>
void leave_half(const Instruction* halves, const Fill* const* fills, const std::int32_t* codes, const double* numbers,
                Real* coefficients, unsigned char* ways, Turns& turns) {
    constexpr double rounding = 1e-15;
    for (int one : {0, 1}) {
        const Instruction &it = halves[one], &other = halves[1 - one];
        auto entry = [&](int half, int k) {
            return looked_up(numbers + 2 * fills[half]->slot, codes[fills[half]->from + k]);
        };
        const bool is_real = it.kind == Kind::PAIR_REAL;
        const double real = entry(one, 0), imag = is_real ? 0 : entry(one, 1);
        double apart = 0;
        for (int k = 0; k < 8; ++k) {
            const double wanted = is_real ? (k % 4 % 3 ? 0 : real) : k % 6 == 0 ? real : k % 6 == 1 ? imag : 0;
            apart = std::max(apart, std::abs(entry(one, k) - wanted));
        }
        const double size = real * real + imag * imag;
        if (!(apart < rounding) || size < 0.25 || (imag != 0 && other.kind == Kind::PAIR_REAL)) continue;
        Turns with = turns;
        if (!with.take(real, imag)) return;
        turns = with;
        const bool complex = other.kind == Kind::PAIR_COMPLEX;
        for (int k = 0; k < 8; ++k) {
            const double x = entry(1 - one, k), y = complex ? entry(1 - one, k ^ 1) : 0;
            const double made = (x * real + (k & 1 ? -1 : 1) * y * imag) / size;
            for (int lane = 0; lane < lanes<Real>; ++lane)
                coefficients[other.table + k * lanes<Real> + lane] = static_cast<Real>(made);
        }
        ways[one] = NOTHING;
        return;
    }
}

// Takes a dense block that is given as turns, unless the scales of all were too much: then it becomes a matrix.
template <class Real, int bits>
void take_block(const TurnedBlock<bits>& block, Real* coefficients, unsigned char& way, Turns& turns) {
    if (!std::isinf(block.mark)) return;
    Turns with = turns;
    const bool taken = with.take(block.real, block.imag);
    if (taken) turns = with, way = TURNED;
    write_turned(block, !taken, coefficients);
}

// Finds the rotations of a sweep, and writes their tangents in the place of their coefficients. ways: of each instruction.
template <class Real>
Turns find_turns(const Program& program, const double* numbers, Real* coefficients, unsigned char* ways) {
    Turns turns{ways};
    const Fill* fill = program.fills;
    for (Int k = 0; k < program.num_instructions; ++k) ways[k] = NO_TURN;
    for (Int k = 0; k < program.num_instructions; ++k) {
        const Instruction& first = program.instructions[k];
        if (is_halved(first)) {
            while (fill->to != first.table) ++fill;
            const Fill* fills[2] = {fill, fill + 1};
            leave_half(&first, fills, program.codes, numbers, coefficients, ways + k, turns);
            continue;
        }
        if (may_be_turned(first)) {
            while (fill->to != first.table) ++fill;
            const double* own = numbers + 2 * fill->slot;
            Real* to = coefficients + first.table;
            if (turned_bits(first) == 2) take_block(*reinterpret_cast<const TurnedBlock<2>*>(own), to, ways[k], turns);
            else take_block(*reinterpret_cast<const TurnedBlock<3>*>(own), to, ways[k], turns);
            continue;
        }
        if (!is_joined(first)) continue;
        Turns with = turns;
        double tangents[most_joined];
        bool all = true;
        for (Int j = 0; all && j < first.size; ++j) {
            const Instruction& it = program.instructions[k + j];
            while (fill->to != it.table) ++fill;
            const Turned found(it, *fill, program.codes, numbers);
            // The tangent as it is rounded is that of a rotation by nearly the same angle, whose scale is taken.
            tangents[j] = static_cast<double>(static_cast<Real>(found.tangent));
            const double scale = std::sqrt((1 + found.tangent * found.tangent) / (1 + tangents[j] * tangents[j]));
            ways[k + j] = found.way;
            all = found.way != NO_TURN && with.take(found.real * scale, found.imag * scale);
        }
        for (Int j = 0; j < first.size; ++j) {
            if (!all) ways[k + j] = NO_TURN;
            for (int lane = 0; all && lane < lanes<Real>; ++lane)
                coefficients[program.instructions[k + j].table + lane] = static_cast<Real>(tangents[j]);
        }
        if (all) turns = with;
        k += first.size - 1;
    }
    return turns;
}

constexpr int parity_of(int value) { return __builtin_parity(static_cast<unsigned>(value)); }

// Multiplies by `count` real matrices, each on a row bit of its own. The first `crossed` of them mix planes crosswise.
// offsets: of the row with 1 on each bit; tables: of each, two matrices for two pairs of planes, or the tangent of a
// rotation.
template <class Real, int count, int crossed, bool turned>
inline void joined_matrices(Rows<Real> rows, const Int* offsets, const char* const* tables) {
    constexpr int size = sizeof(Vector<Real>), all = 1 << count, each = turned ? 1 : 8, mask = (1 << crossed) - 1;
    constexpr bool kept = turned || count < most_joined;  // in registers
    Int to[all];
#pragma clang loop unroll(full)
    for (int k = 0; k < all; ++k) {
        to[k] = 0;
        for (int j = 0; j < count; ++j) to[k] ^= k >> j & 1 ? offsets[j] : 0;
    }
    Vector<Real> numbers[kept ? count * each : 1];
#pragma clang loop unroll(full)
    for (int k = 0; kept && k < count * each; ++k) numbers[k] = at<Real>(tables[k / each] + k % each * size);
    auto number = [&](int j, int k) __attribute__((always_inline)) {
        if constexpr (kept) return numbers[j * each + k];
        else return at<Real>(tables[j] + k * size);
    };
    rows.each([&](auto row) __attribute__((always_inline)) {
        // Planes are called after those of row 0 which they are mixed with.
        auto place = [&](int k, int plane)
                         __attribute__((always_inline)) { return row.at(to[k]) + (plane ^ parity_of(k & mask)) * size; };
        Vector<Real> v[all][2];
#pragma clang loop unroll(full)
        for (int k = 0; k < 2 * all; ++k) v[k / 2][k % 2] = at<Real>(place(k / 2, k % 2));
#pragma clang loop unroll(full)
        for (int step = 0; step < count * all; ++step) {
            const int j = step / all, plane = step & 1, pair = step % all / 2;
            const int k = (pair >> j << (j + 1)) | (pair & ((1 << j) - 1)), other = k | 1 << j;
            const int which = plane ^ parity_of(k & mask);
            Vector<Real> x = v[k][plane], y = v[other][plane];
            if constexpr (turned) {
                const Vector<Real> t = number(j, 0);
                const bool minus = j < crossed && which;
                v[k][plane] = minus ? x + t * y : x - t * y;
                v[other][plane] = minus ? y - t * x : y + t * x;
            } else {
                Vector<Real> low = number(j, 4 * which) * x, high = number(j, 4 * which + 2) * x;
                low += number(j, 4 * which + 1) * y;
                high += number(j, 4 * which + 3) * y;
                v[k][plane] = low, v[other][plane] = high;
            }
        }
#pragma clang loop unroll(full)
        for (int k = 0; k < 2 * all; ++k) at<Real>(place(k / 2, k % 2)) = v[k / 2][k % 2];
    });
}

// Runs instructions that are joined. crossed: a bit for each of them.
template <class Real, int count, bool turned>
inline void run_joined(Rows<Real> rows, const Instruction* first, unsigned crossed, const Real* coefficients) {
    constexpr Int plane = sizeof(Vector<Real>);
    Int offsets[count];
    const char* tables[count];
    int at = 0;
    for (unsigned wanted : {1U, 0U}) {
        for (int j = 0; j < count; ++j) {
            if ((crossed >> j & 1) != wanted) continue;
            offsets[at] = first[j].offsets[1] & ~plane;
            tables[at++] = reinterpret_cast<const char*>(coefficients + first[j].table);
        }
    }
    switch (__builtin_popcount(crossed)) {
        case 0: return joined_matrices<Real, count, 0, turned>(rows, offsets, tables);
        case 1: return joined_matrices<Real, count, 1, turned>(rows, offsets, tables);
        case 2:
            if constexpr (count > 1) return joined_matrices<Real, count, 2, turned>(rows, offsets, tables);
            return;
        default:
            if constexpr (count > 2) return joined_matrices<Real, count, 3, turned>(rows, offsets, tables);
    }
}

}  // namespace qx::QX_SET
