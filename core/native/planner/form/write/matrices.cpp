// Clusters written as matrices: turns, phases under controls, blocks.

#include <cmath>

#include "planner/form/write/writer.hpp"

namespace qx::form {

void Writer::write_matrix(Mask mixes, const Complex* of) {
    gates.push_back({Gate::matrix, 0, mixes});
    entries.insert(entries.end(), of, of + (std::size_t{1} << 2 * count(mixes)));
}

// Writes a phase where wires have the values of a mask.
void Writer::write_phase(Mask wires, Mask values, Complex by) {
    gates.push_back({Gate::phase, static_cast<Int>(values), wires});
    entries.push_back(by);
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

// Does a bounded amount of work on clusters, and writes them if much was found.
Writer::State Writer::clusters() {
    if (clusters_->advance()) return State::busy;
    if (!clusters_->worthwhile()) return State::given_up;
    phase.value = clusters_->found().phase;
    for (const Piece& piece : clusters_->found().all) {
        if (piece.joins() || piece.kind == Piece::turn)
            each(piece.wires, [&](int wire) { write_turn(wire, piece.turn_of(wire)); });
        switch (piece.kind) {
            case Piece::parity: gates.push_back({Gate::rotation, static_cast<Int>(piece.wires), 0, {piece.angle}}); break;
            case Piece::where: write_phase(piece.wires, piece.values, std::polar(1.0, piece.angle)); break;
            case Piece::block: write_matrix(piece.wires, piece.entries.data()); break;
            case Piece::turn: break;
            case Piece::rotation: {
                const ReadRotation& read = form_.read_in_order[piece.number];
                gates.push_back({Gate::rotation, static_cast<Int>(read.pauli.z), read.pauli.x, read.angle});
            }
        }
    }
    int wire = 0;
    for (const Matrix2& turn : clusters_->found().carried()) write_turn(wire++, turn);
    last = gates.size();
    return State::done;
}

}  // namespace qx::form
