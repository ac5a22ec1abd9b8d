// The execution of a plan's coefficient program on the operands of one circuit; see qsim_ex.steps.numbers.
//
// A listed program is rows and places, and fills a buffer that begins with the operands. A CPU runs the program as the
// planner has it, which needs less memory: products in the places of their right factors, and operands where they are.
//
// This is all that a variational loop does on the host for each point. A row of a batch is one call's work, so that it
// does not depend on other rows.

#include <cmath>
#include <span>
#include <type_traits>

#include "base/export.hpp"
#include "base/owned.hpp"
#include "kernels/euler.hpp"
#include "kernels/matrix_rows.hpp"
#include "planner/plan.hpp"
#include "thresholds/table.hpp"

namespace qx::plan {

namespace {

using qx::Complex;

constexpr double rounding = 1e-15;   // how far |phase|^2 may be from 1 by rounding alone
constexpr int parts_of_turn = 4096;  // TURN of qsim_ex.circuit.rotations, whose table of roots of unity is passed on
constexpr double two_pi = 6.283185307179586477;
constexpr int at_once = 8;           // factors whose sums are looked up together

// One product left [size, size] * right [size, columns], whose columns are rows of a dense block one behind the other.
void multiply_rows(const Instruction& row, const Index* left, const Index* right, const Complex* buffer, Complex* out) {
    const Int size = row.size, rest = row.columns / row_size;
    auto load = [&](Int k, Int r, double* re, double* im) {
        const Index* from = right + (k * rest + r) * row_size;
        for (int j = 0; j < row_size; ++j) re[j] = buffer[from[j]].re, im[j] = buffer[from[j]].im;
    };
    auto entry = [&](Int i, Int k, double& re, double& im) {
        Complex factor = buffer[left[i * size + k]];
        re = factor.re, im = factor.im;
        return left[i * size + k] != 0;
    };
    qx::multiply_rows(size, rest, load, entry, reinterpret_cast<double*>(out));
}

// Products left [blocks, size, size] * right [blocks, size, columns]. Most entries of a gate within two qubits are 0 or 1,
// the first two places of the buffer.
void multiply(const Instruction& row, const Index* places, Complex* buffer, Complex* out) {
    const Index* left = places + row.at;
    const Index* right = left + row.count * row.blocks * row.size * row.size;
    const bool in_rows = row.columns % row_size == 0 && row.size <= most_rows;
    for (Int block = 0; block < row.count * row.blocks; ++block) {
        if (in_rows) multiply_rows(row, left, right, buffer, out);
        for (Int i = 0; !in_rows && i < row.size; ++i) {
            Complex* to = out + i * row.columns;
            for (Int j = 0; j < row.columns; ++j) to[j] = {};
            for (Int k = 0; k < row.size; ++k) {
                Index place = left[i * row.size + k];
                if (place == 0) continue;
                Complex factor = buffer[place];
                const Index* from = right + k * row.columns;
                for (Int j = 0; j < row.columns; ++j)
                    if (from[j]) to[j] += place == 1 ? buffer[from[j]] : factor * buffer[from[j]];
            }
        }
        left += row.size * row.size;
        right += row.size * row.columns;
        out += row.size * row.columns;
    }
}

// The numbers of a plan for one circuit: its operands, and what is made of them.
class Buffer {
  public:
    Buffer(const Complex* operands, Int num_operands, Complex* made)
        : operands_(operands), num_operands_(static_cast<Index>(num_operands)), made_(made) {}

    Complex operator[](Index place) const { return place < num_operands_ ? operands_[place] : made_[place - num_operands_]; }
    Complex* at(Index place) { return made_ + (place - num_operands_); }

  private:
    const Complex* operands_;
    Index num_operands_;
    Complex* made_;
};

// Makes the products of a plan, one after the other. aside: `CoefficientProgram::room` bytes.
class Multiplier {
  public:
    Multiplier(const PlanContext& context, Buffer& numbers, void* aside)
        : context_(context), numbers_(numbers), right_(static_cast<Complex*>(aside)) {}

    void operator()(const Product& product) {
        const ProductKind kind = product.kind();
        Complex* right_to = right_;  // aside, since it may stand where the result is to be
        context_.each_place(product.right, kind.right(), [&](Index place) { *right_to++ = numbers_[place]; });
        auto* places = reinterpret_cast<Index*>(right_to);
        Index* place_to = places;
        context_.each_place(product.left, kind.left(), [&](Index place) { *place_to++ = place; });
        Complex* out = numbers_.at(product.start);
        if (kind.columns == 4) return rows(kind, places, std::integral_constant<Index, 4>(), out);  // two qubits
        if (kind.columns == 2) return rows(kind, places, std::integral_constant<Index, 2>(), out);
        if (kind.columns % row_size == 0 && kind.size <= most_rows) return vectors(kind, places, out);
        rows(kind, places, kind.columns, out);
    }

  private:
    // columns: their number, which the compiler knows where it is small.
    template <class Columns>
    void rows(const ProductKind& kind, const Index* left, Columns columns, Complex* out) const {
        for (Index row = 0; row < kind.blocks * kind.size; ++row, left += kind.size, out += columns) {
            const Complex* from = right_ + row / kind.size * kind.size * columns;
            for (Index j = 0; j < columns; ++j) out[j] = {};
            for (Index k = 0; k < kind.size; ++k, from += columns) {
                if (left[k] == 0) continue;
                Complex factor = numbers_[left[k]];
                for (Index j = 0; j < columns; ++j) out[j] += left[k] == 1 ? from[j] : factor * from[j];
            }
        }
    }

    // The same where columns are rows of a dense block one behind the other.
    void vectors(const ProductKind& kind, const Index* left, Complex* out) const {
        const Complex* right = right_;
        const Int size = kind.size, rest = kind.columns / row_size;
        auto load = [&](Int k, Int r, double* re, double* im) {
            const Complex* from = right + (k * rest + r) * row_size;
            for (int j = 0; j < row_size; ++j) re[j] = from[j].re, im[j] = from[j].im;
        };
        auto entry = [&](Int i, Int k, double& re, double& im) {
            const Complex factor = numbers_[left[i * size + k]];
            re = factor.re, im = factor.im;
            return left[i * size + k] != 0;
        };
        for (Index block = 0; block < kind.blocks; ++block) {
            qx::multiply_rows(size, rest, load, entry, reinterpret_cast<double*>(out));
            left += kind.left() / kind.blocks, right += kind.right() / kind.blocks, out += kind.right() / kind.blocks;
        }
    }

    const PlanContext& context_;
    Buffer& numbers_;
    Complex* right_;
};

// e^{i angle} for an angle in parts of a turn: a root of unity, times a series for the small angle that is left.
Complex phase_of(double turns, const Complex* roots) {
    constexpr double shift = 6755399441055744.0;  // adding and subtracting it rounds to an integer
    double whole = (turns + shift) - shift, rest = (turns - whole) * (two_pi / parts_of_turn), square = rest * rest;
    Complex factor{(square * (1.0 / 24) - 0.5) * square + 1, (square * (-1.0 / 6) + 1) * rest};
    return roots[static_cast<Int>(whole) & (parts_of_turn - 1)] * factor;
}

// Sums of the terms of the factors of each entry of a table.
class Sums {
  public:
    Sums(const std::vector<double>& terms, Index entries) : terms_(terms), groups_((terms.size() + at_once - 1) / at_once) {
        if (entries < thresholds.summed_entries) return;
        sums_.resize(groups_ << at_once);
        for (std::size_t group = 0; group < groups_; ++group) {
            double* sums = sums_.data() + (group << at_once);
            for (std::size_t k = 0; k < at_once; ++k) {
                double term = group * at_once + k < terms.size() ? terms[group * at_once + k] : 0;
                for (std::size_t set = 0; set < std::size_t{1} << k; ++set)
                    sums[set + (std::size_t{1} << k)] = sums[set] + term;
            }
        }
    }
    double operator()(const std::uint64_t* bits) const {
        double sum = 0;
        if (sums_.empty()) {
            for (std::size_t word = 0; word < (terms_.size() + 63) / 64; ++word)
                each(bits[word], [&](int bit) { sum += terms_[64 * word + static_cast<std::size_t>(bit)]; });
            return sum;
        }
        for (std::size_t group = 0; group < groups_; ++group)
            sum += sums_[(group << at_once) + (bits[group / 8] >> group % 8 * at_once & 255)];
        return sum;
    }

  private:
    const std::vector<double>& terms_;
    std::size_t groups_;
    std::vector<double> sums_;
};

// A table of products of phases: angles are added, and the sums are turned into phases. A phase whose size differs from 1
// by more than rounding (matrices may deviate in single precision) keeps its size: logarithms are added.
template <class Numbers>
void make_table(const Index* factors, Index columns, Index entries, const std::uint64_t* bits, const Numbers& buffer,
                const Complex* roots, Complex* out) {
    std::vector<double> turns(columns), logs;
    bool exact = true;
    for (Index k = 0; k < columns; ++k) {
        Complex factor = buffer[factors[k]];
        turns[k] = std::atan2(factor.im, factor.re) * (parts_of_turn / two_pi);
        exact = exact && std::fabs(factor.re * factor.re + factor.im * factor.im - 1) <= rounding;
    }
    std::size_t words = (columns + 63) / 64;
    Sums sums(turns, entries);
    for (Index entry = 0; entry < entries; ++entry) out[entry] = phase_of(sums(bits + entry * words), roots);
    if (exact) return;
    for (Index k = 0; k < columns; ++k) {
        Complex factor = buffer[factors[k]];
        logs.push_back(std::log(factor.re * factor.re + factor.im * factor.im) / 2);
    }
    Sums sizes(logs, entries);
    for (Index entry = 0; entry < entries; ++entry) out[entry] = out[entry] * std::exp(sizes(bits + entry * words));
}

// Runs instructions on a buffer; see `plan_bind`.
void run(std::span<const Instruction> rows, const Index* at, const std::uint64_t* incidence, Complex* buffer, Complex* out,
         const Complex* roots, bool tables) {
    for (const Instruction& row : rows) {
        switch (row.type) {
            case Instruction::product:
                if (!tables) multiply(row, at, buffer, out);
                out += row.count * row.blocks * row.size * row.columns;
                break;
            case Instruction::euler:
                for (Int k = 0; k < row.count; ++k, out += euler_numbers) {
                    const Index* of = at + row.at + 4 * k;
                    if (!tables) split_rotation(buffer[of[0]], buffer[of[1]], buffer[of[2]], buffer[of[3]], row.blocks, out);
                }
                break;
            default: {
                const std::uint64_t* bits = incidence + row.bits;
                Int words = row.entries * ((row.factors + 63) / 64);
                for (Int k = 0; k < row.count; ++k, out += row.entries, bits += words)
                    if (tables)
                        make_table(at + row.at + k * row.factors, static_cast<Index>(row.factors),
                                   static_cast<Index>(row.entries), bits, buffer, roots, out);
            }
        }
    }
}

// Makes some products and Euler angles of a plan, from number `begin` on and up to `end`.
void make(const Planner& plan, Buffer& numbers, void* aside, std::size_t begin, std::size_t end) {
    const CoefficientProgram& program = plan.program();
    Multiplier multiply(*plan.context, numbers, aside);
    const std::size_t early = program.early(), turned = early + program.eulers().size();
    for (std::size_t at = begin; at < end; ++at) {
        if (at < early) {
            multiply(program.products()[at]);
        } else if (at < turned) {
            const Euler& euler = program.eulers()[at - early];
            auto entry = [&](Index k) { return numbers[plan.context->place(euler.matrix, k)]; };
            split_rotation(entry(0), entry(1), entry(2), entry(3), euler.imaginary, numbers.at(euler.start));
        } else {
            multiply(program.products()[at - program.eulers().size()]);
        }
    }
}

// Runs a part of a plan's coefficient program; see `plan_fill`.
Int fill(const Planner& plan, Buffer& numbers, const Complex* roots, Int begin, Int count) {
    const CoefficientProgram& program = plan.program();
    const std::size_t tabled = program.untabled(), end = tabled + program.folds().size();
    std::size_t at = static_cast<std::size_t>(begin), last = std::min(end, at + static_cast<std::size_t>(count));
    std::vector<Complex> aside(static_cast<std::size_t>(program.room()) / sizeof(Complex) + 1);
    make(plan, numbers, aside.data(), at, std::min(last, tabled));
    for (at = std::max(at, tabled); at < last; ++at) {
        const Fold& fold = program.folds()[at - tabled];
        make_table(program.factors(fold), fold.factors, fold.entries, program.incidence(fold), numbers, roots,
                   numbers.at(fold.start));
    }
    thresholds.coefficients_at_once.met(last < end);
    return static_cast<Int>(end - last);
}

}  // namespace

// Makes all numbers of a plan (the address of its Planner) but tables, behind its operands. aside: as `Multiplier` takes it.
void make_numbers(Int planner, Complex* numbers, void* aside) {
    const auto& plan = *reinterpret_cast<const Planner*>(planner);
    const Int operands = plan.program().num_operands();
    Buffer buffer(numbers, operands, numbers + operands);
    make(plan, buffer, aside, 0, plan.program().untabled());
}

}  // namespace qx::plan

// Runs the part of a coefficient program that is no tables (or, with `tables`, that part, which allocates) on a buffer that
// begins with the operands. program, size: rows of Instruction; places, incidence: what they refer to. roots: e^{2 pi i k /
// 4096}.
QX_EXPORT(plan_bind, (const void* program, qx::Int size, const void* places, const void* incidence, qx::Int num_operands,
                      void* numbers, const void* roots, qx::Int tables)) {
    using namespace qx::plan;
    return qx::guarded([&] {
        auto* buffer = static_cast<Complex*>(numbers);
        run({static_cast<const Instruction*>(program), static_cast<std::size_t>(size)}, static_cast<const Index*>(places),
            static_cast<const std::uint64_t*>(incidence), buffer, buffer + num_operands, static_cast<const Complex*>(roots),
            tables);
        return 0;
    });
}

// Runs a part of a plan's coefficient program: `count` products, Euler angles and tables from number `begin` on, in their
// order. made: its numbers that are no operands. Returns how many are left.
QX_EXPORT(plan_fill, (qx::Int planner, const void* operands, void* made, const void* roots, qx::Int begin, qx::Int count)) {
    using namespace qx::plan;
    return qx::guarded([&] {
        const Planner& plan = qx::Owned<Planner>::at(planner);
        Buffer numbers(static_cast<const Complex*>(operands), plan.program().num_operands(), static_cast<Complex*>(made));
        return fill(plan, numbers, static_cast<const Complex*>(roots), begin, count);
    });
}

// Writes some of a plan's packed numbers: those from `begin` to `end`.
QX_EXPORT(plan_pack, (qx::Int planner, const void* operands, void* made, qx::Int begin, qx::Int end, void* out)) {
    using namespace qx::plan;
    const Planner& plan = qx::Owned<Planner>::at(planner);
    Buffer numbers(static_cast<const Complex*>(operands), plan.program().num_operands(), static_cast<Complex*>(made));
    auto* to = static_cast<Complex*>(out);
    for (qx::Int k = begin; k < end; ++k) *to++ = numbers[plan.steps.packed[static_cast<std::size_t>(k)]];
    return 0;
}
