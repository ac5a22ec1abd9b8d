// The derivatives of a plan's coefficient program: from cotangents of its numbers to cotangents of a circuit's operands.
//
// The cotangent w of a number z says that a value changes by Re(w dz). Products and tables are holomorphic, so instructions
// are passed backwards one by one: of P = L R the cotangents of L and R grow by P' R^T and L^T P', and of a table's entry t,
// the product of some factors, that of each factor f by t' t / f, since a phase is not 0.

#include "base/export.hpp"
#include "kernels/euler.hpp"
#include "planner/coefficients/program.hpp"

namespace qx::plan {

namespace {

using qx::Complex;

Complex over(Complex number, Complex by) {
    const double square = by.re * by.re + by.im * by.im;
    return number * by.conj() * (1 / square);
}

// Passes products left [blocks, size, size] * right [blocks, size, columns]; made: the cotangents of their entries.
void pass_products(const Instruction& row, const Index* left, const Complex* numbers, Complex* cotangents,
                   const Complex* made) {
    const Index* right = left + row.count * row.blocks * row.size * row.size;
    for (Int block = 0; block < row.count * row.blocks; ++block) {
        for (Int i = 0; i < row.size; ++i) {
            for (Int k = 0; k < row.size; ++k) {
                const Index place = left[i * row.size + k];
                if (place == 0) continue;
                const Index* from = right + k * row.columns;
                const Complex* of = made + i * row.columns;
                for (Int j = 0; j < row.columns; ++j) {
                    if (from[j] == 0) continue;
                    cotangents[place] += of[j] * numbers[from[j]];
                    cotangents[from[j]] += of[j] * numbers[place];
                }
            }
        }
        left += row.size * row.size, right += row.size * row.columns, made += row.size * row.columns;
    }
}

// Passes one table; at, made: its entries and their cotangents.
void pass_table(const Instruction& row, const Index* factors, const std::uint64_t* bits, const Complex* numbers,
                Complex* cotangents, const Complex* at, const Complex* made) {
    const Int words = (row.factors + 63) / 64;
    for (Int entry = 0; entry < row.entries; ++entry, bits += words) {
        const Complex change = made[entry] * at[entry];
        for (Int k = 0; k < row.factors; ++k)
            if (bits[k / 64] >> k % 64 & 1) cotangents[factors[k]] += over(change, numbers[factors[k]]);
    }
}

}  // namespace

}  // namespace qx::plan

// Passes a listed coefficient program backwards, for one row of a batch. numbers: the whole coefficient buffer. cotangents:
// of all its numbers, to which those of what they are made of are added. Euler angles have no place in it.
QX_EXPORT(plan_adjoint, (const void* program, qx::Int size, const void* places, const void* incidence, qx::Int num_operands,
                         const void* numbers, void* cotangents)) {
    using namespace qx::plan;
    const auto* rows = static_cast<const Instruction*>(program);
    const auto* buffer = static_cast<const Complex*>(numbers);
    auto* to = static_cast<Complex*>(cotangents);
    auto appended = [](const Instruction& row) {
        return row.count * (row.type == Instruction::product ? row.blocks * row.size * row.columns : row.entries);
    };
    qx::Int end = num_operands;
    for (qx::Int k = 0; k < size; ++k) end += appended(rows[k]);
    for (qx::Int k = size - 1; k >= 0; --k) {
        const Instruction& row = rows[k];
        end -= appended(row);
        const Index* at = static_cast<const Index*>(places) + row.at;
        if (row.type == Instruction::product) {
            pass_products(row, at, buffer, to, to + end);
            continue;
        }
        const auto* bits = static_cast<const std::uint64_t*>(incidence) + row.bits;
        for (qx::Int table = 0; table < row.count; ++table) {
            const qx::Int first = end + table * row.entries;
            pass_table(row, at + table * row.factors, bits + table * row.entries * ((row.factors + 63) / 64), buffer, to,
                       buffer + first, to + first);
        }
    }
    return 0;
}
