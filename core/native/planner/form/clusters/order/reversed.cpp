// Pieces in the other order.

#include "planner/form/clusters/order/reversed.hpp"

#include <bit>
#include <utility>

namespace qx::form {

namespace {

// Makes the adjoint of a square matrix of it.
void adjoin(std::vector<Complex>& entries) {
    const std::size_t size = std::size_t{1} << (std::bit_width(entries.size()) / 2);
    for (std::size_t row = 0; row < size; ++row)
        for (std::size_t column = 0; column <= row; ++column) {
            Complex &own = entries[size * row + column], &other = entries[size * column + row];
            own = std::conj(std::exchange(other, std::conj(own)));
        }
}

// Returns the adjoint of a turn, without what rounding has made of its length (a step of Newton's): turns that are looked at
// again and again would else grow.
Matrix2 undone(const Matrix2& turn) {
    const Matrix2 back = adjoint(turn), square = turn * back;
    Matrix2 half;
    for (std::size_t k = 0; k < 4; ++k) half[k] = 1.5 * identity2[k] - 0.5 * square[k];
    return back * half;
}

}  // namespace

Pieces reversed(Pieces of, bool zeros) {
    Pieces out(static_cast<int>(of.carried().size()), zeros);
    out.phase = -of.phase, out.nothing = of.nothing;
    for (std::size_t wire = 0; wire < of.carried().size(); ++wire)
        out.carried(static_cast<int>(wire)) = undone(of.carried()[wire]);
    while (!of.all.empty()) {
        Piece piece = std::move(of.all.back());
        of.all.pop_back();
        std::vector<Matrix2> before = std::move(piece.before);
        const Mask wires = piece.wires;
        if (piece.kind != Piece::turn) {
            piece.before.assign(before.size(), identity2);
            if (piece.kind == Piece::parity || piece.kind == Piece::where) piece.angle = -piece.angle;
            if (!piece.entries.empty()) adjoin(piece.entries);
            out.put(std::move(piece), false);
        }
        if (before.empty()) continue;
        std::size_t place = 0;
        each(wires, [&](int wire) { out.carried(wire) = undone(before[place++]) * out.carried(wire); });
    }
    return out;
}

}  // namespace qx::form
