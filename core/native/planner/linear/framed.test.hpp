// Work on directions and parities, applied to a state amplitude by amplitude; see planner/naive.test.hpp.
#pragma once

#include "planner/linear/frame.hpp"
#include "planner/naive.test.hpp"

namespace qx::plan::naive {

// Returns work of which a quarter is CX, which change the frame alone.
inline std::vector<Piece> drawn_work(Drawn& drawn, int count) {
    std::vector<Piece> work;
    for (int k = 0; k < count; ++k) {
        const int target = drawn.bit();
        switch (drawn.below(4)) {
            case 0: work.push_back(drawn.cx(drawn.other(target), target, drawn.below(2))); break;
            case 1: work.push_back(drawn.turn(target)); break;
            case 2: work.push_back(drawn.x(target)); break;
            default: work.push_back(drawn.phases(any_phase));
        }
    }
    return work;
}

// Applies framed work to a state as it is in memory: bit k of a piece flips along a direction, and a parity says its value.
inline State framed(const FramedWork& work, const Framed& of, const Book& book, const State& numbers, const State& state) {
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
            Number factor = piece.kind == Kind::rename
                                ? Number(book.values[piece.to + column] == row)
                                : value_of(book.patterns[piece.pattern][entry], numbers[book.place(piece.source, entry)]);
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
