// Clusters written as matrices: turns, phases under controls, blocks.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "planner/form/write/compared/work.hpp"
#include "planner/form/write/flips.hpp"
#include "planner/form/write/writer.hpp"

namespace qx::form {

namespace {

constexpr double rounding = 1e-12;

}  // namespace

void Writer::write_matrix(Mask mixes, const Complex* of) {
    gates.push_back({Gate::matrix, 0, mixes});
    entries.insert(entries.end(), of, of + (std::size_t{1} << 2 * count(mixes)));
}

// Writes a matrix of some wires, of which those that it does not mix are read: what reads a wire need not wait for it.
void Writer::write_block(Mask wires, const std::vector<Complex>& of) {
    const Mask all = unit(count(wires)) - 1;
    Mask mixed = 0;  // places of wires
    for (Mask row = 0; row <= all; ++row)
        for (Mask column = 0; column <= all; ++column)
            if (size_of(of[row * (all + 1) + column]) > rounding) mixed |= row ^ column;
    gates.push_back({Gate::matrix, 0, 0});
    Mask place = 1;
    each(wires, [&](int wire) {
        if (mixed & place) gates.back().mask |= unit(wire);
        else gates.back().wire |= static_cast<Int>(unit(wire));
        place <<= 1;
    });
    // The next larger part of a mask is (part - mask) & mask; behind the largest one comes 0.
    const auto each_part = [](Mask mask, auto act) {
        Mask part = 0;
        do act(part), part = (part - mask) & mask;
        while (part);
    };
    each_part(all & ~mixed, [&](Mask read) {
        each_part(mixed, [&](Mask row) {
            each_part(mixed, [&](Mask column) { entries.push_back(of[(row | read) * (all + 1) + (column | read)]); });
        });
    });
}

// Writes a phase where wires have the values of a mask.
void Writer::write_phase(Mask wires, Mask values, Complex by) {
    gates.push_back({Gate::phase, static_cast<Int>(values), wires});
    entries.push_back(by);
}

// Lets the last gate act where wires have the values of a mask.
void Writer::put_under(Mask wires, Mask values) {
    gates.back().conditions = static_cast<Index>(conditions.size());
    each(wires, [&](int wire) { conditions.push_back({unit(wire), (values >> wire & 1) != 0}); });
    gates.back().num_conditions = static_cast<Index>(conditions.size()) - gates.back().conditions;
}

// Writes a turn of a wire as one whose rows begin with positive numbers, and a phase; what both have in common is of all.
void Writer::write_turn(int wire, const Matrix2& turn) {
    Matrix2 left = turn;
    const Matrix2 phases = split_phases(left);
    if (!is_identity(left)) write_matrix(unit(wire), left.data());
    phase.value += std::arg(phases[0]);
    const Complex one = phases[3] / phases[0];
    if (!is_identity({1, 0, 0, one})) write_phase(unit(wire), unit(wire), one);
}

// Writes a turn of a wire that is 0: what is then 0 or 1 is written as nothing or as X, and a phase of all.
void Writer::write_turn_of_zero(int wire, const Matrix2& turn) {
    const bool is_one = size_of(turn[0]) < rounding;
    if (!is_one && size_of(turn[2]) >= rounding) return write_turn(wire, turn);
    if (is_one) gates.push_back({Gate::x, 0, unit(wire)});
    phase.value += std::arg(turn[is_one ? 2 : 0]);
}

// Writes a piece without the turns before it. target: what it is of a wire; left: the turns before that one which are not
// written yet.
void Writer::write_piece(const Piece& piece, const Target& target, const std::vector<Matrix2>& left) {
    switch (piece.kind) {
        case Piece::parity: gates.push_back({Gate::rotation, static_cast<Int>(piece.wires), 0, {piece.angle}}); break;
        case Piece::swap: gates.push_back({Gate::swap, lowest(piece.wires), unit(highest(piece.wires))}); break;
        case Piece::pair:
        case Piece::block: write_block(piece.wires, piece.entries); break;
        case Piece::controlled:
            write_block(piece.wires & ~piece.control, piece.entries);
            put_under(piece.control, piece.values);
            break;
        case Piece::turn: break;
        case Piece::rotation: {
            const ReadRotation& read = form_.read_in_order[piece.number];
            gates.push_back({Gate::rotation, static_cast<Int>(read.pauli.z), read.pauli.x, read.angle});
            break;
        }
        case Piece::where: {
            if (target.wire < 0) return write_phase(piece.wires, piece.values, std::polar(1.0, piece.angle));
            const Mask own = unit(target.wire);
            Mask values = piece.values;
            if (target.turns) {
                const Matrix2& before = left[static_cast<std::size_t>(target.wire)];
                write_matrix(own, turn_under_controls(piece, target.wire, before, target.inverts).data());
                if (target.inverts) values = ~values;
            } else {
                gates.push_back({Gate::flip, 0, own, {std::numbers::pi}});
            }
            put_under(piece.wires & ~own, values);
        }
    }
}

// Whether there are as many CX, for each matrix, as a plan in a CNOT frame asks for.
bool Writer::mostly_adds() const {
    std::size_t added = 0, mixing = 0;
    for (const Gate& gate : gates)
        added += gate.kind == Gate::flip && gate.num_conditions == 1, mixing += gate.kind == Gate::matrix;
    return static_cast<double>(added) >= cx_ratio_ * static_cast<double>(mixing);
}

// Does a bounded amount of work on clusters, and writes them if much was found. Where other manners are looked at whatever
// that takes, it does so, too, if they are fewer than gates on several wires were, and less work than what stands between
// these.
Writer::State Writer::clusters() {
    if (beside_ ? beside_->advance() == State::busy : clusters_->advance()) return State::busy;
    const Pieces& found = clusters_->found();
    const std::vector<Target> chosen = targets(found, false);
    const bool are_few = beside_ || !clusters_->worthwhile(percent_of_turns(found, chosen) / 2);
    if (are_few && !beside_) {
        if (within_ >= 0 || static_cast<Int>(found.all.size()) >= form_.joins()) return State::given_up;
        if (between_ < 0 && form_.read_under.empty()) {
            beside_ = std::make_unique<Writer>(form_, microseconds_, Manner::between, within_, cx_ratio_, between_);
            return State::busy;
        }
    }
    write_pieces(found, targets(found, true));
    if (!mostly_adds()) write_pieces(found, chosen);
    last = gates.size();
    const bool compares = are_few && form_.read_under.empty();  // between gates under many conditions nothing is written
    if (compares && work_of(gates) >= (beside_ ? work_of(beside_->gates) : between_)) return State::given_up;
    return State::done;
}

// Writes pieces, each as what was chosen for it.
void Writer::write_pieces(const Pieces& found, const std::vector<Target>& chosen) {
    gates.clear(), entries.clear(), conditions.clear();
    phase.value = found.phase;
    std::vector<Matrix2> left(found.carried().size(), identity2);  // what acts on each wire before its next piece
    Mask zeros = form_.on_zeros() ? below(static_cast<int>(left.size())) : 0;
    for (const Piece& piece : found.all) zeros &= ~piece.wires;
    for (std::size_t k = 0; k < found.all.size(); ++k) {
        const Piece& piece = found.all[k];
        bool passes = false;  // whether a sign passes X
        each(piece.wires, [&](int wire) {
            Matrix2& own = left[static_cast<std::size_t>(wire)];
            own = turn_before(piece, wire) * own;
            const bool is_target = wire == chosen[k].wire;
            if (is_target && chosen[k].turns) return;
            if (!piece.joins() || is_target) {
                const Matrix2 frame = is_target ? flip_frame(piece, wire, chosen[k].inverts) : identity2;
                passes = is_target && passes_flip(frame * own);
                if (!passes) write_turn(wire, frame * own), own = adjoint(frame);
                return;
            }
            const Matrix2 phases = split_phases(own);
            if (!is_identity(own)) write_matrix(unit(wire), own.data());
            own = phases;
        });
        write_piece(piece, chosen[k], left);
        if (chosen[k].turns && chosen[k].inverts) {
            Matrix2& own = left[static_cast<std::size_t>(chosen[k].wire)];
            own = own_phase(piece, chosen[k].wire) * own;
        }
        if (!passes) continue;
        const Mask controls = piece.wires & ~unit(chosen[k].wire), values = piece.values & controls;
        if (count(controls) > 1) write_phase(controls, values, -1);
        else left[static_cast<std::size_t>(lowest(controls))][values ? 3 : 0] *= -1;  // which are phases now
    }
    for (std::size_t wire = 0; wire < left.size(); ++wire) {
        const Matrix2 turn = found.carried()[wire] * left[wire];
        if (zeros >> wire & 1) write_turn_of_zero(static_cast<int>(wire), turn);
        else write_turn(static_cast<int>(wire), turn);
    }
}

}  // namespace qx::form
