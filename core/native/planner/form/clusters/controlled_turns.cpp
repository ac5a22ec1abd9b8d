// Turns of a wire under a control that later ones undo, without their control.

#include "planner/form/clusters/controlled_turns.hpp"

#include <algorithm>
#include <cmath>

namespace qx::form {

namespace {

constexpr double rounding = 1e-13;
constexpr std::size_t most_looked_at = 64;  // pieces on a wire, from a turn under a control on
constexpr int most_rounds = 4;

// What acts on two wires where the first one has a value, for both.
struct Turns {
    std::array<Matrix2, 2> where{identity2, identity2};

    void act(const Matrix2& turn) {
        for (Matrix2& one : where) one = turn * one;
    }
    void act(const std::array<Matrix2, 2>& phases) {
        for (std::size_t value = 0; value < 2; ++value) where[value] = phases[value] * where[value];
    }
    // Returns by which phase they differ, where it is 1 beside where it is 0; NAN if by more than that.
    double apart() const {
        const Matrix2 left = where[1] * adjoint(where[0]);
        if (std::norm(left[1]) + std::norm(left[0] - left[3]) > rounding * rounding) return NAN;
        return std::arg(left[0]);
    }
};

// The phases of a wire that a piece on it and on a control is, for each value of the control.
std::array<Matrix2, 2> phases_of(const Piece& piece, int control, int wire) {
    std::array<Matrix2, 2> out{identity2, identity2};
    for (std::size_t k = 0; k < 4; ++k) {
        const bool value = k & 1, own = k & 2;
        double angle = value == own ? -piece.angle / 2 : piece.angle / 2;
        if (piece.kind == Piece::where)
            angle = (piece.values >> control & 1) == value && (piece.values >> wire & 1) == own ? piece.angle : 0;
        out[value][own ? 3 : 0] = std::polar(1.0, angle);
    }
    return out;
}

class WithoutControls {
  public:
    explicit WithoutControls(const Pieces& given)
        : given_(given), on_wire_(given.carried().size()), frames_(on_wire_.size()), done_(given.all.size()) {
        for (Index k = 0; k < given.all.size(); ++k) each(given.all[k].wires, [&](int wire) { add(k, wire); });
    }

    // Looks at all wires; returns whether anything was found.
    bool run() {
        bool found = false;
        for (std::size_t wire = 0; wire < on_wire_.size(); ++wire)
            for (std::size_t from = 0; from < on_wire_[wire].size(); ++from) found |= look(static_cast<int>(wire), from);
        return found;
    }
    Pieces result(bool zeros, std::size_t& parts) const {
        Pieces out(static_cast<int>(on_wire_.size()), zeros);
        out.phase = given_.phase, out.nothing = given_.nothing;
        for (Index k = 0; k < given_.all.size(); ++k) {
            const Done& done = done_[k];
            if (done.wire < 0) {
                out.put(given_.all[k], true);
                continue;
            }
            parts += given_.all[k].parts;
            for (const auto& [wire, by] : {std::pair{done.wire, done.turn}, {done.control, done.phases}})
                out.carried(wire) = by * given_.all[k].turn_of(wire) * out.carried(wire);
        }
        for (std::size_t wire = 0; wire < on_wire_.size(); ++wire)
            out.carried(static_cast<int>(wire)) = given_.carried()[wire] * out.carried(static_cast<int>(wire));
        return out;
    }

  private:
    // What a piece is in place of a turn under a control.
    struct Done {
        int wire = -1, control = -1;
        Matrix2 turn = identity2, phases = identity2;
    };

    void add(Index piece, int wire) {
        const auto at = static_cast<std::size_t>(wire);
        const Piece& own = given_.all[piece];
        int frame = frames_[at].empty() ? 0 : frames_[at].back();
        const bool follows = !on_wire_[at].empty() && given_.all[on_wire_[at].back()].joins();
        if (!own.joins() || !follows || !is_identity(own.turn_of(wire))) ++frame;
        on_wire_[at].push_back(piece), frames_[at].push_back(frame);
    }
    int frame_of(Index piece, int wire) const {
        const auto& own = on_wire_[static_cast<std::size_t>(wire)];
        const auto at = std::lower_bound(own.begin(), own.end(), piece) - own.begin();
        return frames_[static_cast<std::size_t>(wire)][static_cast<std::size_t>(at)];
    }
    bool is_turn(const Piece& piece) const { return piece.joins() && count(piece.wires) == 2; }

    // Looks for pieces on a wire, from one on, that are nothing together.
    bool look(int wire, std::size_t from) {
        const auto& own = on_wire_[static_cast<std::size_t>(wire)];
        const Piece& first = given_.all[own[from]];
        if (!is_turn(first) || done_[own[from]].wire >= 0) return false;
        const int control = lowest(first.wires & ~unit(wire)), frame = frame_of(own[from], control);
        int value = -1;  // of the control, where all others act
        Turns turns;
        turns.act(phases_of(first, control, wire));
        for (std::size_t k = from + 1; k < std::min(own.size(), from + most_looked_at); ++k) {
            const Piece& piece = given_.all[own[k]];
            if (!piece.joins() || !(piece.wires >> control & 1) || done_[own[k]].wire >= 0) return false;
            if (frame_of(own[k], control) != frame) return false;
            turns.act(piece.turn_of(wire));
            if (!is_turn(piece)) {
                const int acts = piece.values >> control & 1;
                if (piece.kind != Piece::where || (value >= 0 && acts != value)) return false;
                value = acts;
                continue;
            }
            turns.act(phases_of(piece, control, wire));
            if (const double by = turns.apart(); !std::isnan(by)) return take(wire, control, value != 0, by, from, k), true;
        }
        return false;
    }
    void take(int wire, int control, bool value, double by, std::size_t from, std::size_t to) {
        const auto& own = on_wire_[static_cast<std::size_t>(wire)];
        for (std::size_t k = from; k <= to; ++k)
            if (is_turn(given_.all[own[k]]))
                done_[own[k]] = {wire, control, phases_of(given_.all[own[k]], control, wire)[value], identity2};
        done_[own[to]].phases = value ? Matrix2{std::polar(1.0, -by), 0, 0, 1} : phase2(by);
    }

    const Pieces& given_;
    std::vector<std::vector<Index>> on_wire_;
    std::vector<std::vector<int>> frames_;  // of each piece on a wire; two have the same if nothing turns it between
    std::vector<Done> done_;
};

}  // namespace

Pieces without_controls(Pieces given, bool zeros, std::size_t& parts) {
    for (int round = 0; round < most_rounds; ++round) {
        WithoutControls found(given);
        if (!found.run()) break;
        given = found.result(zeros, parts);
    }
    return given;
}

}  // namespace qx::form
