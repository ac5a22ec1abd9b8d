// Turns of wires that only rounding has made, where they are nothing.

#include "planner/form/clusters/settled_turns.hpp"

#include <cmath>
#include <numbers>

namespace qx::form {

namespace {

constexpr double rounding = 1e-13;  // by how much a piece and the rest of a turn may fail to commute
constexpr double almost = 1e-16;    // the square of the most that is a rest
constexpr double dropped = 1e-11;   // the most that is left out before a matrix, of which no more is known

// A turn on a wire, and by how much a rest of it may fail to commute with the piece behind it; none of a piece that has
// none.
struct Place {
    Matrix2* turn;
    double angle;
};

// What a turn almost is, if it mixes by no more than rests do, or does not keep anything but them; else itself.
Matrix2 simple(const Matrix2& of) {
    if (std::norm(of[1]) < almost) return {of[0] / size_of(of[0]), 0, 0, of[3] / size_of(of[3])};
    if (std::norm(of[0]) < almost) return {0, of[1] / size_of(of[1]), of[2] / size_of(of[2]), 0};
    return of;
}

double far(const Matrix2& a, const Matrix2& b) {
    double out = 0;
    for (std::size_t k = 0; k < 4; ++k) out = std::max(out, std::norm(a[k] - b[k]));
    return std::sqrt(out);
}

void settle(std::vector<Place>& on, Rounding& limits) {
    const auto pass = [](const Place& from, const Place& through, const Place& to, bool forward) {
        if (!from.turn || !to.turn) return;
        const Matrix2 left = simple(*from.turn);
        const double rest = far(*from.turn, left);
        if (rest == 0 || rest * through.angle > rounding) return;
        if (forward) *to.turn = *to.turn * (*from.turn * adjoint(left));
        else *to.turn = (adjoint(left) * *from.turn) * *to.turn;
        *from.turn = left;
    };
    for (const Place& one : on) {
        if (!one.turn) continue;
        const double off = far(*one.turn, simple(*one.turn));
        if ((one.angle == HUGE_VAL && off < dropped) || limits.take(off)) *one.turn = simple(*one.turn);
    }
    for (std::size_t k = 0; k + 1 < on.size(); ++k) pass(on[k], on[k], on[k + 1], true);
    for (std::size_t k = on.size() - 1; k > 0; --k) pass(on[k], on[k - 1], on[k - 1], false);
}

}  // namespace

void settle_turns(Pieces& of, Rounding limits) {
    limits.tolerance = 0;
    std::vector<std::vector<Place>> on_wire(of.carried().size());
    for (Piece& piece : of.all) {
        std::size_t place = 0;
        const double angle = piece.joins() ? std::fabs(std::remainder(piece.angle, 2 * std::numbers::pi)) : HUGE_VAL;
        each(piece.wires, [&](int wire) {
            on_wire[static_cast<std::size_t>(wire)].push_back({piece.has_turns() ? &piece.before[place++] : nullptr, angle});
        });
    }
    for (std::size_t wire = 0; wire < on_wire.size(); ++wire) {
        on_wire[wire].push_back({&of.carried(static_cast<int>(wire)), HUGE_VAL});
        settle(on_wire[wire], limits);
    }
}

}  // namespace qx::form
