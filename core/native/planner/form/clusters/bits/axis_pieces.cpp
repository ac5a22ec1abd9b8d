// Pieces in a frame in which turns of single wires are gone.

#include "planner/form/clusters/bits/axis_pieces.hpp"

#include <utility>

#include "planner/form/gates/rounding.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-26;  // the square of what axes of two pieces may be apart that become one's

// The turns of one of two wires, where the operator of the other one is -1, and where it is 1.
std::pair<Matrix2, Matrix2> turns_of(const AxisPiece& piece, std::size_t place) {
    const Matrix2 whole = phase_about(piece.axes[place], piece.angle);
    if (!piece.is_parity) return {whole, identity2};
    Matrix2 if_zero = whole;
    for (Complex& one : if_zero) one *= std::polar(1.0, -piece.angle / 2);
    return {adjoint(if_zero), if_zero};
}

}  // namespace

AxisPieces::AxisPieces(const Pieces& of) : phase(of.phase), nothing(of.nothing), behind_(of.carried().size(), identity2) {
    for (const Piece& piece : of.all) {
        if (piece.kind == Piece::turn) {
            Matrix2& own = behind_[static_cast<std::size_t>(lowest(piece.wires))];
            own = piece.before[0] * own;
            continue;
        }
        Item item;
        std::size_t place = 0;
        each(piece.wires, [&](int wire) {
            Matrix2& own = behind_[static_cast<std::size_t>(wire)];
            if (piece.has_turns()) own = piece.before[place++] * own;
            if (!piece.joins()) return item.turns.push_back(std::exchange(own, identity2));
            const Axis axis = pulled({0, 0, 1}, own);
            item.own.axes.push_back(piece.kind == Piece::parity || piece.values >> wire & 1 ? axis : -axis);
        });
        if (piece.joins()) {
            item.own.wires = piece.wires, item.own.angle = piece.angle, item.own.parts = piece.parts;
            item.own.is_parity = piece.kind == Piece::parity;
        } else {
            item.other = piece;
        }
        all.push_back(std::move(item));
    }
    for (std::size_t wire = 0; wire < behind_.size(); ++wire) behind_[wire] = of.carried()[wire] * behind_[wire];
}

void AxisPieces::turn(int wire, const Matrix2& by, std::size_t from) {
    for (std::size_t k = from; k < all.size(); ++k) {
        Item& item = all[k];
        if (!(item.wires() >> wire & 1)) continue;
        const auto place = static_cast<std::size_t>(count(item.wires() & below(wire)));
        if (item.other) {
            item.turns[place] = item.turns[place] * by;
            return;
        }
        item.own.axes[place] = pulled(item.own.axes[place], by);
    }
    Matrix2& own = behind_[static_cast<std::size_t>(wire)];
    own = own * by;
}

void AxisPieces::join_pairs() {
    std::vector<std::size_t> last(behind_.size(), all.size());  // pieces of each wire
    for (std::size_t k = 0; k < all.size(); ++k) {
        const Mask wires = all[k].wires();
        if (!wires) continue;
        const std::size_t before = last[static_cast<std::size_t>(lowest(wires))];
        bool may = before < k && !all[k].other && count(wires) == 2 && all[before].wires() == wires;
        each(wires, [&](int wire) { may = may && last[static_cast<std::size_t>(wire)] == before; });
        if (!may || !join(before, k)) each(wires, [&](int wire) { last[static_cast<std::size_t>(wire)] = k; });
    }
    std::erase_if(all, [](const Item& one) { return !one.wires(); });
}

// Joins two pieces, of which the first one becomes both; returns false if they have no axis in common.
bool AxisPieces::join(std::size_t number, std::size_t next) {
    AxisPiece &first = all[number].own, &second = all[next].own;
    if (all[number].other) return false;
    for (const std::size_t control : {0U, 1U}) {
        const int sign = along(first.axes[control], second.axes[control], 1, rounding);
        if (!sign) continue;
        const auto [before_one, before_zero] = turns_of(first, 1 - control);
        auto [behind_one, behind_zero] = turns_of(second, 1 - control);
        if (sign < 0) std::swap(behind_one, behind_zero);
        const Matrix2 if_one = behind_one * before_one, if_zero = behind_zero * before_zero;
        const AxisPhase made = axis_phase(if_one * adjoint(if_zero));
        const int other = control ? lowest(first.wires) : highest(first.wires);
        const int own = control ? highest(first.wires) : lowest(first.wires);
        const Matrix2 alone = phase_about(first.axes[control], made.phase);
        first.parts += second.parts, first.angle = made.angle, first.axes[1 - control] = made.axis;
        first.is_parity = false;
        all[next] = {};
        if (!is_nothing(if_zero)) turn(other, if_zero, number);
        if (!is_nothing(alone)) turn(own, alone, number + 1);
        if (std::fabs(made.angle) < Rounding::of_one) nothing += first.parts, first = {};
        return true;
    }
    return false;
}

Pieces AxisPieces::pieces(bool zeros) const {
    Pieces out(static_cast<int>(behind_.size()), zeros);
    out.phase = phase, out.nothing = nothing;
    std::vector<Matrix2> frames(behind_.size(), identity2);  // in which each wire is now
    for (const Item& item : all) {
        std::size_t place = 0;
        if (item.other) {
            Piece piece = *item.other;
            each(piece.wires, [&](int wire) {
                Matrix2& frame = frames[static_cast<std::size_t>(wire)];
                const Matrix2 before = item.turns[place] * adjoint(std::exchange(frame, identity2));
                if (piece.has_turns()) piece.before[place] = before;
                else out.carried(wire) = before * out.carried(wire);
                ++place;
            });
            out.put(std::move(piece), false);
            continue;
        }
        Piece piece{item.own.is_parity ? Piece::parity : Piece::where, item.own.wires, item.own.angle};
        piece.parts = item.own.parts;
        each(piece.wires, [&](int wire) {
            Matrix2& frame = frames[static_cast<std::size_t>(wire)];
            Axis now = pulled(item.own.axes[place++], adjoint(frame));
            const bool is_opposite = now[2] < -1e-12;  // then the other value, behind less of a turn
            if (is_opposite) now = -now;
            if (!item.own.is_parity && !is_opposite) piece.values |= unit(wire);
            if (item.own.is_parity && is_opposite) piece.angle = -piece.angle;
            piece.before.push_back(to_z(now));
            frame = piece.before.back() * frame;
        });
        out.put(std::move(piece), false);
    }
    for (std::size_t wire = 0; wire < behind_.size(); ++wire) {
        Matrix2& own = out.carried(static_cast<int>(wire));
        own = behind_[wire] * adjoint(frames[wire]) * own;
    }
    return out;
}

}  // namespace qx::form
