// The meaning of work, from its definition: numbers are made one after another, and each piece is applied to a state
// amplitude by amplitude, on bits or along directions. Tests of planning compare with it. It also checks that patterns tell
// the truth of numbers.
#pragma once

#include <doctest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "kernels/euler.hpp"
#include "planner/coefficients/program.hpp"
#include "planner/linear/frame.hpp"

namespace qx::plan::naive {

using Number = std::complex<double>;
using State = std::vector<Number>;

inline constexpr double near_enough = 1e-9;

inline double distance(const State& one, const State& other) {
    double largest = one.size() == other.size() ? 0 : 1e9;
    for (std::size_t k = 0; k < one.size() && k < other.size(); ++k)
        largest = std::max(largest, std::abs(one[k] - other[k]));
    return largest;
}

// The number that a class of entries stands for; `given` where the class leaves it open.
inline Number value_of(char entry, Number given) {
    const double root = std::sqrt(0.5);
    const Number eighth_turn{root, root};
    switch (entry) {
        case zero: return 0;
        case one: return 1;
        case minus_one: return -1;
        case unit_imag: return {0, 1};
        case minus_unit_imag: return {0, -1};
        case root_half: return root;
        case minus_root_half: return -root;
        case imag_root_half: return {0, root};
        case minus_imag_root_half: return {0, -root};
        case eighth: return eighth_turn;
        case minus_eighth: return std::conj(eighth_turn);
        case three_eighths: return {-root, root};
        case minus_three_eighths: return {-root, -root};
        case real: return given.real();
        case imag: return {0, given.imag()};
        default: return given;
    }
}

// All numbers of a program, which begin with the operands.
inline State numbers_of(const CoefficientProgram& program, const PlanContext& context, const State& operands) {
    State at = operands;
    at.resize(static_cast<std::size_t>(program.size()));
    auto multiply = [&](const Product& product) {
        const ProductKind kind = product.kind();
        State left, right;
        context.each_place(product.left, kind.left(), [&](Index place) { left.push_back(at[place]); });
        context.each_place(product.right, kind.right(), [&](Index place) { right.push_back(at[place]); });
        for (Index row = 0; row < kind.blocks * kind.size; ++row)
            for (Index column = 0; column < kind.columns; ++column) {
                Number sum = 0;
                for (Index k = 0; k < kind.size; ++k)
                    sum += left[row * kind.size + k] * right[(row / kind.size * kind.size + k) * kind.columns + column];
                at[product.start + row * kind.columns + column] = sum;
            }
    };
    for (std::size_t k = 0; k < program.early(); ++k) multiply(program.products()[k]);
    for (const Euler& euler : program.eulers()) {
        Complex entry[4], made[euler_numbers];
        for (Index k = 0; k < 4; ++k) {
            const Number of = at[context.place(euler.matrix, k)];
            entry[k] = {of.real(), of.imag()};
        }
        split_rotation(entry[0], entry[1], entry[2], entry[3], euler.imaginary, made);
        for (Index k = 0; k < euler_numbers; ++k) at[euler.start + k] = {made[k].re, made[k].im};
    }
    for (std::size_t k = program.early(); k < program.products().size(); ++k) multiply(program.products()[k]);
    for (const Fold& fold : program.folds())
        for (Index entry = 0; entry < fold.entries; ++entry) {
            Number product = 1;
            const std::uint64_t* bits = program.incidence(fold) + entry * ((fold.factors + 63) / 64);
            for (Index k = 0; k < fold.factors; ++k)
                if (bits[k / 64] >> k % 64 & 1) product *= at[program.factors(fold)[k]];
            at[fold.start + entry] = product;
        }
    return at;
}

// Returns the state after a piece of work in a sweep.
inline State applied(const Piece& piece, const PlanContext& context, const State& numbers, const State& state) {
    State out(state.size());
    const Mask *directions = context.directions(piece), *rows = directions + piece.num_mixed, *reads = context.reads(piece);
    const Index size = static_cast<Index>(piece.size());
    const Interned::Bytes classes = context.patterns[piece.pattern];
    bool honest = true;
    for (Mask x = 0; x < state.size(); ++x) {
        if ((x & piece.when.mask) != piece.when.value) {
            out[x] += state[x];
            continue;
        }
        Index block = 0, column = 0;
        for (int k = 0; k < piece.num_reads; ++k) block |= static_cast<Index>(is_odd(x & reads[k])) << k;
        for (int k = 0; k < piece.num_mixed; ++k) column |= static_cast<Index>(is_odd(x & rows[k])) << k;
        for (Index row = 0; row < size; ++row) {
            Mask to = x;
            for (int k = 0; k < piece.num_mixed; ++k)
                if ((row ^ column) >> k & 1) to ^= directions[k];
            Number factor;
            if (piece.kind == Kind::permute) {
                factor = context.values[piece.to + column] == row ? 1 : 0;
            } else {
                const Index entry = (block * size + row) * size + column;
                const Number given = numbers[context.place(piece.source, entry)];
                factor = value_of(classes[entry], given);
                honest =
                    honest && (classes[entry] == zero || classes[entry] == one || std::abs(factor - given) < near_enough);
            }
            out[to] += factor * state[x];
        }
    }
    CHECK_MESSAGE(honest, "a pattern says what its numbers are not");
    return out;
}

inline State applied(const std::vector<Piece>& work, const PlanContext& context, const State& numbers, State state) {
    for (const Piece& piece : work) state = applied(piece, context, numbers, state);
    return state;
}

// Returns a state with bit b of its indices at place to[b].
inline State moved(const State& state, const std::vector<int>& to) {
    State out(state.size());
    for (Mask x = 0; x < state.size(); ++x) {
        Mask place = 0;
        for (Mask bits = x; bits; bits &= bits - 1) place |= unit(to[static_cast<std::size_t>(lowest(bits))]);
        out[place] = state[x];
    }
    return out;
}

// Draws work, with the operands that it takes; entries 0 and 1 of these are the constants.
class Drawn {
  public:
    explicit Drawn(unsigned seed, int num_bits) : random_(seed), num_bits_(num_bits) { context.labels.of({}); }

    PlanContext context;
    State operands{0, 1};

    int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
    double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
    int bit() { return below(num_bits_); }
    int other(int than) { return (than + 1 + below(num_bits_ - 1)) % num_bits_; }
    Mask mask() { return random_() & qx::plan::below(num_bits_); }
    Number phase() { return std::polar(1.0, 6.283185307179586 * uniform()); }
    State state() {
        State out(std::size_t{1} << num_bits_);
        for (Number& entry : out) entry = {uniform() - 0.5, uniform() - 0.5};
        return out;
    }

    // A piece on some bits, under a condition, with entries of classes; their numbers are drawn where classes leave them
    // open.
    Piece piece(Kind kind, const std::vector<int>& bits, const std::vector<Mask>& reads, When when,
                const std::vector<char>& classes, const State& numbers = {}) {
        Piece out;
        out.kind = kind, out.when = when;
        out.pattern = context.patterns.of({classes.data(), classes.size()});
        out.source = {static_cast<Index>(operands.size()), static_cast<Index>(classes.size())};
        for (std::size_t k = 0; k < classes.size(); ++k)
            operands.push_back(value_of(classes[k], numbers.empty() ? phase() : numbers[k]));
        context.put(out, bits.data(), static_cast<int>(bits.size()), reads.data(), static_cast<int>(reads.size()));
        return out;
    }
    Piece x(int target, When when = {}) {
        Piece out = piece(Kind::permute, {target}, {}, when, {zero, one, one, zero});
        out.to = static_cast<Index>(context.values.size());
        context.values.insert(context.values.end(), {1, 0});
        return out;
    }
    Piece cx(int control, int target, bool value = true) { return x(target, {unit(control), value ? unit(control) : 0}); }
    Piece swap(int one_bit, int other_bit) {
        Piece out = piece(Kind::permute, {one_bit, other_bit}, {}, {},
                          {one, zero, zero, zero, zero, zero, one, zero, zero, one, zero, zero, zero, zero, zero, one});
        out.to = static_cast<Index>(context.values.size());
        context.values.insert(context.values.end(), {0, 2, 1, 3});
        return out;
    }
    Piece h(int target) { return piece(Kind::mix, {target}, {}, {}, {root_half, root_half, root_half, minus_root_half}); }
    // A unitary matrix on one bit.
    Piece turn(int target) {
        const double angle = 6.283185307179586 * uniform();
        const Number a = phase(), b = phase(), c = phase();
        return piece(Kind::mix, {target}, {}, {}, {complex_, complex_, complex_, complex_},
                     {a * std::cos(angle), -a * b * std::sin(angle), a * c * std::sin(angle), a * b * c * std::cos(angle)});
    }
    // Phases of one or two parities, under a condition of one bit perhaps.
    Piece phases(const std::vector<char>& from) {
        std::vector<Mask> reads;
        for (int k = 1 + below(2); k > 0; --k) reads.push_back(1 + random_() % qx::plan::below(num_bits_));
        When when;
        if (below(3) == 0) when.mask = unit(bit()), when.value = below(2) ? when.mask : 0;
        std::vector<char> classes(std::size_t{1} << reads.size());
        for (char& entry : classes) entry = from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
        return piece(Kind::diagonal, {}, reads, when, classes);
    }

  private:
    std::mt19937_64 random_;
    int num_bits_;
};

inline const std::vector<char> any_phase{one, complex_};
inline const std::vector<char> eighth_turns{one,       eighth,       unit_imag,           three_eighths,
                                            minus_one, minus_eighth, minus_three_eighths, minus_unit_imag};

// A flip under a condition, drawn in one order with every compiler: each may evaluate arguments in its own.
inline Piece drawn_cx(Drawn& drawn, int target) {
    const int control = drawn.other(target);
    return drawn.cx(control, target, drawn.below(2));
}

// Returns work of which a quarter is CX, which change the frame alone.
inline std::vector<Piece> work_with_cx(Drawn& drawn, int count) {
    std::vector<Piece> work;
    for (int k = 0; k < count; ++k) {
        const int target = drawn.bit();
        switch (drawn.below(4)) {
            case 0: work.push_back(drawn_cx(drawn, target)); break;
            case 1: work.push_back(drawn.turn(target)); break;
            case 2: work.push_back(drawn.x(target)); break;
            default: work.push_back(drawn.phases(any_phase));
        }
    }
    return work;
}

// Applies framed work to a state as it is in memory: bit k of a piece flips along a direction, and a parity says its value.
inline State framed(const FramedWork& work, const Framed& of, const PlanContext& context, const State& numbers,
                    const State& state) {
    State out(state.size());
    const Piece& piece = of.piece;
    for (Mask x = 0; x < state.size(); ++x) {
        bool holds = true;
        for (int k = 0; k < of.num_conditions; ++k)
            holds = holds && is_odd(work.conditions(of)[k] & x) == (of.values >> k & 1);
        if (!holds) {
            out[x] += state[x];
            continue;
        }
        Index block = 0, column = 0;
        const Index rows = static_cast<Index>(piece.size());
        for (int k = 0; k < piece.num_reads; ++k)
            block |= static_cast<Index>(is_odd(work.reads(of)[k] & x) != (of.read_flips >> k & 1)) << k;
        for (int k = 0; k < piece.num_mixed; ++k)
            column |= static_cast<Index>(is_odd(work.rows(of)[k] & x) != (of.flips >> k & 1)) << k;
        for (Index row = 0; row < rows; ++row) {
            Mask to = x;
            for (int k = 0; k < piece.num_mixed; ++k)
                if ((row ^ column) >> k & 1) to ^= work.directions(of)[k];
            const Index entry = (block * rows + row) * rows + column;
            Number factor = piece.kind == Kind::permute ? Number(context.values[piece.to + column] == row)
                                                        : value_of(context.patterns[piece.pattern][entry],
                                                                   numbers[context.place(piece.source, entry)]);
            out[to] += factor * state[x];
        }
    }
    return out;
}

// The value of the work's bits at an index in memory.
inline Mask seen(const Frame& frame, Mask x) {
    Mask out = 0;
    for (std::size_t bit = 0; bit < frame.parities.size(); ++bit) out |= Mask{is_odd(frame.parities[bit] & x)} << bit;
    return out ^ frame.flip;
}

}  // namespace qx::plan::naive
