// Density matrices of a few wires, as the expectation values of all Pauli strings: 4^n real numbers.
//
// In this basis a channel, which includes a gate, is a real matrix: its Pauli transfer matrix R. A channel on k wires is
// 4^k rows (Greenbaum, arXiv:1509.02921, section 2). String number i has on wire w the Pauli of digit w of i in base 4:
// X^x Z^z i^(xz) with x the low and z the high bit of the digit, so that digits 0 to 3 are I, X, Z, Y.

#include <cstring>

#include "base/array.hpp"
#include "base/export.hpp"

namespace qx::narrow_density {
namespace {

constexpr Int MOST = 3;               // wires of an operation
constexpr Int SIZE = 1 << MOST;       // rows of its matrix
constexpr Int ROWS = 1 << 2 * MOST;   // rows of its transfer matrix
constexpr Int LANES = 4;

typedef double Four __attribute__((vector_size(8 * LANES)));

struct Complex {
    double re, im;
};

// An operation. wires: how many, which stand in `on`, ascending. form: of a gate, where the form of its matrix begins;
// of a channel −1. number: of a gate its first operand, of a channel which one it is.
struct Op {
    Int wires, on[MOST], form, number;
};

// What is run. steps: the numbers of the operations, in order. forms: for each entry of a gate's matrix its operand,
// counted from the gate's first; −1 for an entry that is 1, −2 for 0. operands: [bindings, total]. transfers: of all
// channels; transfer_at: [bindings, channels], where they begin. Written: out [bindings, 2^n], the probabilities.
struct Request {
    Int num_wires, num_ops, num_steps, num_channels, total, count;
    const Op* ops;
    const std::int32_t* steps;
    const Int* forms;
    const Complex* operands;
    const double* transfers;
    const Int* transfer_at;
    double* out;
};

int ones(Int value) { return __builtin_popcountll(static_cast<std::uint64_t>(value)); }

// The X-part or the Z-part of a string: every second bit of its number.
Int part(Int string, Int wires, Int which) {
    Int found = 0;
    for (Int wire = 0; wire < wires; ++wire) found |= (string >> (2 * wire + which) & 1) << wire;
    return found;
}

// A Pauli string: entry (c XOR x, c) is i^|x & z| (−1)^|z & c|, and all others are 0.
struct Pauli {
    Int x, z;
    int turns;

    Pauli(Int string, Int wires) : x(part(string, wires, 0)), z(part(string, wires, 1)), turns(ones(x & z) & 3) {}

    // The entry of column c, times a number.
    Complex times(Int c, Complex a) const {
        switch ((turns + 2 * ones(z & c)) & 3) {
            case 0: return a;
            case 1: return {-a.im, a.re};
            case 2: return {-a.re, -a.im};
            default: return {a.im, -a.re};
        }
    }
};

// Adds the transfer matrix of ρ → K ρ K† for a matrix on some wires: R[i, j] += tr(P_i K P_j K†) / 2^wires.
void add_transfer(const Complex* k, Int wires, double* transfer) {
    const Int size = Int{1} << wires, rows = size * size;
    Complex kp[SIZE * SIZE], image[SIZE * SIZE];
    for (Int j = 0; j < rows; ++j) {
        const Pauli from(j, wires);
        for (Int a = 0; a < size; ++a)
            for (Int c = 0; c < size; ++c) kp[a * size + c] = from.times(c, k[a * size + (c ^ from.x)]);
        for (Int a = 0; a < size; ++a)
            for (Int b = 0; b < size; ++b) {
                Complex sum{0.0, 0.0};
                for (Int c = 0; c < size; ++c) {
                    const Complex left = kp[a * size + c], right = k[b * size + c];
                    sum.re += left.re * right.re + left.im * right.im;
                    sum.im += left.im * right.re - left.re * right.im;
                }
                image[a * size + b] = sum;
            }
        for (Int i = 0; i < rows; ++i) {
            const Pauli to(i, wires);
            double sum = 0.0;
            for (Int c = 0; c < size; ++c) sum += to.times(c, image[c * size + (c ^ to.x)]).re;
            transfer[i * rows + j] += sum / static_cast<double>(size);
        }
    }
}

// A transfer matrix as `apply` reads it: column by column if its lowest wire is wire 0, else row by row.
void laid_out(const double* transfer, Int rows, bool by_columns, double* out) {
    for (Int i = 0; i < rows; ++i)
        for (Int j = 0; j < rows; ++j) out[by_columns ? j * rows + i : i * rows + j] = transfer[i * rows + j];
}

Four load(const double* from) {
    Four value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

void store(double* to, Four value) { std::memcpy(to, &value, sizeof value); }

Four splat(double value) { return Four{value, value, value, value}; }

// The places of the digits of an operation, and those of all other digits in turn.
template <Int rows>
struct Digits {
    Int at[rows];

    Digits(const Op& op) {
        for (Int row = 0; row < rows; ++row) {
            at[row] = 0;
            for (Int k = 0; k < op.wires; ++k) at[row] |= (row >> 2 * k & 3) << 2 * op.on[k];
        }
    }
};

// Replaces each vector v of 4^k expectation values by R v. The lowest wire is wire 0: four results stand side by side.
template <Int rows>
void apply_low(double* state, Int size, const Op& op, const double* columns) {
    const Digits<rows> digits(op);
    const Int mask = digits.at[rows - 1];
    for (Int base = 0; base < size; base = ((base | mask) + 1) & ~mask) {
        Four sums[rows / LANES];
        for (Four& sum : sums) sum = splat(0.0);
        for (Int j = 0; j < rows; ++j) {
            const Four x = splat(state[base + digits.at[j]]);
            for (Int k = 0; k < rows / LANES; ++k) sums[k] += load(columns + j * rows + LANES * k) * x;
        }
        for (Int k = 0; k < rows / LANES; ++k) store(state + base + digits.at[LANES * k], sums[k]);
    }
}

// The same for higher wires: four vectors stand side by side.
template <Int rows>
void apply_high(double* state, Int size, const Op& op, const double* matrix) {
    const Digits<rows> digits(op);
    const Int mask = digits.at[rows - 1] | (LANES - 1);
    for (Int base = 0; base < size; base = ((base | mask) + 1) & ~mask) {
        Four values[rows];
        for (Int j = 0; j < rows; ++j) values[j] = load(state + base + digits.at[j]);
        for (Int i = 0; i < rows; ++i) {
            Four sum = splat(0.0);
            for (Int j = 0; j < rows; ++j) sum += splat(matrix[i * rows + j]) * values[j];
            store(state + base + digits.at[i], sum);
        }
    }
}

void apply(double* state, Int size, const Op& op, const double* matrix) {
    const bool low = op.on[0] == 0;
    switch (op.wires) {
        case 1: return low ? apply_low<4>(state, size, op, matrix) : apply_high<4>(state, size, op, matrix);
        case 2: return low ? apply_low<16>(state, size, op, matrix) : apply_high<16>(state, size, op, matrix);
        default: return low ? apply_low<64>(state, size, op, matrix) : apply_high<64>(state, size, op, matrix);
    }
}

// Writes the probabilities of all basis values: p(v) = 2^−n Σ_z (−1)^|z & v| <Z-part z>.
void write_probabilities(const double* state, Int wires, double* out) {
    const Int values = Int{1} << wires;
    const double scale = 1.0 / static_cast<double>(values);
    for (Int z = 0; z < values; ++z) {
        Int string = 0;
        for (Int wire = 0; wire < wires; ++wire) string |= (z >> wire & 1) << (2 * wire + 1);
        out[z] = state[string] * scale;
    }
    for (Int half = 1; half < values; half *= 2)
        for (Int v = 0; v < values; ++v)
            if (!(v & half)) {
                const double a = out[v], b = out[v + half];
                out[v] = a + b;
                out[v + half] = a - b;
            }
    for (Int v = 0; v < values; ++v) out[v] = out[v] > 0.0 ? out[v] : 0.0;  // rounding leads a little below 0
}

constexpr Int NONE = -1;

// For each operation the one that always follows it on the same wires, if there is one and it is applied often enough
// that multiplying both matrices takes less time than applying both; else NONE. A gate and its noise are such a pair.
void find_followers(const Request& given, Int* followers) {
    constexpr Int UNKNOWN = -2;
    qx::Array<Int> uses(given.num_ops, 0);
    for (Int number = 0; number < given.num_ops; ++number) followers[number] = UNKNOWN;
    for (Int k = 0; k < given.num_steps; ++k) {
        const Int number = given.steps[k], next = k + 1 < given.num_steps ? given.steps[k + 1] : NONE;
        ++uses[number];
        followers[number] = followers[number] == UNKNOWN || followers[number] == next ? next : NONE;
    }
    for (Int number = 0; number < given.num_ops; ++number) {
        const Op& op = given.ops[number];
        bool together = followers[number] >= 0;
        if (together) {
            const Op& next = given.ops[followers[number]];
            together = op.wires == next.wires && uses[number] << 2 * given.num_wires > Int{1} << 4 * op.wires;
            for (Int k = 0; k < op.wires; ++k) together = together && op.on[k] == next.on[k];
        }
        if (!together) followers[number] = NONE;
    }
}

// The product of two transfer matrices as they are laid out: the first one is applied first.
void multiply(const double* first, const double* second, Int rows, bool by_columns, double* out) {
    const double* left = by_columns ? first : second;
    const double* right = by_columns ? second : first;
    for (Int i = 0; i < rows; ++i)
        for (Int j = 0; j < rows; j += LANES) {
            Four sum = splat(0.0);
            for (Int k = 0; k < rows; ++k) sum += splat(left[i * rows + k]) * load(right + k * rows + j);
            store(out + i * rows + j, sum);
        }
}

void run(const Request& given, Int binding) {
    const Int size = Int{1} << 2 * given.num_wires;
    Int floats = 0;
    for (Int k = 0; k < given.num_ops; ++k) floats += Int{1} << 4 * given.ops[k].wires;
    qx::Array<double> matrices(floats), state(size, 0.0);
    qx::Array<Int> begins(given.num_ops);
    const Complex* operands = given.operands + binding * given.total;
    Int begin = 0;
    for (Int number = 0; number < given.num_ops; ++number) {
        const Op& op = given.ops[number];
        const Int side = Int{1} << op.wires, rows = side * side;
        double made[ROWS * ROWS];
        const double* transfer = given.transfers;
        if (op.form < 0) {
            transfer += given.transfer_at[binding * given.num_channels + op.number];
        } else {
            Complex k[SIZE * SIZE];
            const Int* form = given.forms + op.form;
            for (Int at = 0; at < rows; ++at)
                k[at] = form[at] >= 0 ? operands[op.number + form[at]] : Complex{form[at] == -1 ? 1.0 : 0.0, 0.0};
            for (Int at = 0; at < rows * rows; ++at) made[at] = 0.0;
            add_transfer(k, op.wires, made);
            transfer = made;
        }
        begins[number] = begin;
        laid_out(transfer, rows, op.on[0] == 0, matrices.begin() + begin);
        begin += rows * rows;
    }
    qx::Array<Int> followers(given.num_ops), joint(given.num_ops, -1);
    find_followers(given, followers.begin());
    Int joint_floats = 0;
    for (Int number = 0; number < given.num_ops; ++number)
        if (followers[number] != NONE) {
            joint[number] = joint_floats;
            joint_floats += Int{1} << 4 * given.ops[number].wires;
        }
    qx::Array<double> products(joint_floats);
    for (Int number = 0; number < given.num_ops; ++number)
        if (joint[number] >= 0) {
            const Op& op = given.ops[number];
            const double* first = matrices.begin() + begins[number];
            const double* second = matrices.begin() + begins[followers[number]];
            multiply(first, second, Int{1} << 2 * op.wires, op.on[0] == 0, products.begin() + joint[number]);
        }
    double* values = state.begin();
    for (Int v = 0; v < size; ++v) values[v] = part(v, given.num_wires, 0) ? 0.0 : 1.0;  // |0…0⟩
    for (Int k = 0; k < given.num_steps; ++k) {
        const Int number = given.steps[k];
        const bool together = joint[number] >= 0;  // then the next step is that of its follower
        const double* matrix = together ? products.begin() + joint[number] : matrices.begin() + begins[number];
        apply(values, size, given.ops[number], matrix);
        k += together;
    }
    write_probabilities(values, given.num_wires, given.out + (binding << given.num_wires));
}

}  // namespace
}  // namespace qx::narrow_density

// Adds up the transfer matrices of `count` Kraus matrices on some wires, complex [count, 2^wires, 2^wires].
QX_EXPORT_SET(pauli_transfer, (const qx::narrow_density::Complex* kraus, qx::Int count, qx::Int wires, double* out)) {
    for (qx::Int k = 0; k < count; ++k) qx::narrow_density::add_transfer(kraus + (k << 2 * wires), wires, out);
    return 0;
}

// Computes the probabilities of the bindings from number `first` up to `last`.
QX_EXPORT_SET(narrow_density, (const qx::narrow_density::Request* request, qx::Int first, qx::Int last)) {
    return qx::guarded([&] {
        for (qx::Int binding = first; binding < last; ++binding) qx::narrow_density::run(*request, binding);
        return 0;
    });
}
