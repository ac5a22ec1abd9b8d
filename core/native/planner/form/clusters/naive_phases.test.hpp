// What turns and joint phases of wires do to states, by definition.
#pragma once

#include "planner/form/clusters/pieces.hpp"
#include "planner/form/naive.test.hpp"

namespace qx::form::naive {

inline Matrix2 drawn_turn(Drawn& drawn) {
    const double a = drawn.angle(), b = drawn.angle(), c = drawn.angle();
    const Complex first = std::cos(a) * std::polar(1.0, b), second = std::sin(a) * std::polar(1.0, c);
    return {first, -std::conj(second), second, std::conj(first)};
}

inline State turned(const State& to, int wire, const Matrix2& by) {
    State out(to.size());
    const std::size_t bit = unit(wire);
    for (std::size_t k = 0; k < to.size(); ++k) {
        const std::size_t row = k & bit ? 2 : 0;
        out[k] = by[row] * to[k & ~bit] + by[row + 1] * to[k | bit];
    }
    return out;
}

inline State with_phase(State to, Mask wires, Mask values, double angle) {
    for (std::size_t k = 0; k < to.size(); ++k)
        if ((k & wires) == values) to[k] *= std::polar(1.0, angle);
    return to;
}

inline State multiplied(const std::vector<Complex>& matrix, const State& to) {
    State out(to.size());
    for (std::size_t row = 0; row < to.size(); ++row)
        for (std::size_t k = 0; k < to.size(); ++k) out[row] += matrix[to.size() * row + k] * to[k];
    return out;
}

// Lets a matrix of the wires that are no control act where these have their values.
inline State multiplied(const Piece& piece, const State& to) {
    const Mask mixed = piece.wires & ~piece.control;
    const auto own = [&](std::size_t k) {
        std::size_t out = 0, bit = 1;
        each(mixed, [&](int wire) { out |= k >> wire & 1 ? bit : 0, bit *= 2; });
        return out;
    };
    const std::size_t size = std::size_t{1} << count(mixed);
    State out(to.size());
    for (std::size_t row = 0; row < to.size(); ++row) {
        if ((row & piece.control) != (piece.control ? piece.values : 0)) out[row] = to[row];
        else
            for (std::size_t k = 0; k < to.size(); ++k)
                if (!((row ^ k) & ~mixed)) out[row] += piece.entries[size * own(row) + own(k)] * to[k];
    }
    return out;
}

inline State swapped(State to, Mask wires) {
    const Mask low = unit(lowest(wires));
    for (std::size_t k = 0; k < to.size(); ++k)
        if ((k & wires) == low) std::swap(to[k], to[k ^ wires]);
    return to;
}

// Lets pieces act.
inline State applied(Pieces& of, State to) {
    for (const Piece& piece : of.all) {
        if (piece.has_turns()) each(piece.wires, [&](int wire) { to = turned(to, wire, piece.turn_of(wire)); });
        if (piece.kind == Piece::where) to = with_phase(to, piece.wires, piece.values, piece.angle);
        else if (piece.kind == Piece::swap) to = swapped(to, piece.wires);
        else if (!piece.entries.empty()) to = multiplied(piece, to);
        else to = rotated({0, piece.wires}, piece.angle, to);
    }
    for (int wire = 0; wire < static_cast<int>(of.carried().size()); ++wire) to = turned(to, wire, of.carried(wire));
    for (Complex& one : to) one *= std::polar(1.0, of.phase);
    return to;
}

// Puts the rotation exp(-i angle/2 P…P) of an operator that a turn makes Z.
inline void put_parity(Pieces& to, Mask on, double angle, const Matrix2& to_z) {
    each(on, [&](int wire) { to.carried(wire) = to_z * to.carried(wire); });
    Piece piece{Piece::parity, on, angle};
    piece.before.assign(static_cast<std::size_t>(count(on)), identity2);
    to.put(std::move(piece), false);
    each(on, [&](int wire) { to.carried(wire) = adjoint(to_z) * to.carried(wire); });
}

// What a rewriting of pieces makes; parts: how much of what was read has become phases.
struct Rewritten {
    Pieces made;
    std::size_t parts;
};

// Rewrites pieces, and checks that they do to a drawn state what they did.
inline Rewritten rewritten(Drawn& drawn, Pieces given, Pieces (*by)(Pieces, std::size_t, std::size_t&, std::size_t&)) {
    constexpr std::size_t any = 1'000'000;  // entries that are looked at
    const State first = drawn.state(), before = applied(given, first);
    std::size_t work = 0, parts = 0;
    Pieces made = by(given, any, work, parts);
    CHECK(distance(applied(made, first), before) < 1e-9);
    return {std::move(made), parts};
}

// The matrix of pieces, column by column from what they do to basis states.
inline std::vector<Complex> matrix_of(Pieces& of) {
    const std::size_t size = std::size_t{1} << of.carried().size();
    std::vector<Complex> matrix(size * size);
    for (std::size_t column = 0; column < size; ++column) {
        State one(size);
        one[column] = 1;
        const State image = applied(of, one);
        for (std::size_t row = 0; row < size; ++row) matrix[size * row + column] = image[row];
    }
    return matrix;
}

}  // namespace qx::form::naive
