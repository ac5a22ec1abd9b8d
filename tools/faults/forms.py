"""Faults planted into native code that finds and writes forms, one at a time."""

from __future__ import annotations

from tools.faults.planted import Fault

KIND = ("qiskit-bases",)
"""The kind of cases that has to find them."""

FAULTS = {
    # signs
    "a turned row's sign": Fault("tableau.cpp", "((power >> 1 & 1) ^ negative)", "((power >> 1 & 1) | negative)"),
    "a listed rotation's sign": Fault(
        "form.cpp",
        "layers_->add(image.pauli, image.negative ? -item.angle : item.angle);",
        "layers_->add(image.pauli, item.angle);",
    ),
    "a controlled part's sign": Fault("write/conditions.cpp", "part.negative ? -quarters : quarters", "quarters"),
    "a pulled rotation's sign": Fault("write/wires.cpp", "if (string.negative) rotation.angle = -rotation.angle;", ""),
    "a reflection's sign": Fault("write/between.cpp", "if (b.negative) turned(p);", ""),
    # phases
    "a merged half turn's phase": Fault(
        "layers.cpp",
        "if (sum.quarters) quarter(pauli, sum.quarters);",
        "if (sum.quarters) quarter(pauli, sum.quarters & 3);",
    ),
    "a state's first phase": Fault("stabilizer_state.cpp", " + 4 * count(a & value_ & turned_)", ""),
    "a phase on zeros": Fault("form.cpp", "string.negative ? 0.5 : -0.5", "string.negative ? -0.5 : 0.5"),
    "a cluster's phase": Fault("clusters/cluster.cpp", "to.add_phase(phases.all);", ""),
    # symplectic products
    "half of a product in layers": Fault(
        "layers.cpp",
        "if (anticommute(one.pauli, pauli)) return false;",
        "if (is_odd(one.pauli.x & pauli.z)) return false;",
    ),
    "products joined by or": Fault(
        "tableau.cpp",
        "(a[k] & b[words_ + k]) ^ (a[words_ + k] & b[k])",
        "(a[k] & b[words_ + k]) | (a[words_ + k] & b[k])",
    ),
    "a basis that is not reduced": Fault(
        "layers.cpp", "if (meets(pauli, one.bit)) pauli ^= one.pauli;", "if (meets(pauli, one.bit)) return;"
    ),
    # growth: what is still known of zeros
    "zeros that stay known": Fault("zeros.cpp", "each(odd & alive_, [&]", "each(odd & ~alive_, [&]"),
    "a sign on zeros": Fault(
        "zeros.cpp", "return SignedPauli{pauli} * SignedPauli{{0, pauli.z ^ z}};", "return {{pauli.x, z}};"
    ),
    "a wire that is not touched": Fault(
        "clusters/pieces.cpp",
        "put_ones(piece);\n    untouched_ &= ~piece.wires;",
        "put_ones(piece);",
    ),
    # ends
    "an end without a quarter turn": Fault(
        "write/quarters.cpp", "for (SignedPauli& image : z_) turn(image, about.pauli, back);", ""
    ),
    "an end without flips": Fault(
        "write/clifford_gates.cpp", "each(of.x | (of.z & ~unit(wire)),", "each(of.x & unit(wire),"
    ),
    "an end's negative X": Fault(
        "write/clifford_gates.cpp", "if (z_[place(wire)].negative) before({Gate::x, 0, unit(wire)});", ""
    ),
    # clusters' matrices
    "a block's matrix transposed": Fault(
        "clusters/segment.cpp",
        "for (const Column& column : columns_) out.push_back(column.at(row));",
        "for (std::size_t k = 0; k < columns_.size(); ++k) out.push_back(columns_[row].at(k));",
    ),
    "a turn before a block": Fault(
        "clusters/pieces.cpp", "times(a, turn[0]) + times(b, turn[2])", "times(a, turn[0]) + times(b, turn[1])"
    ),
    "a joint phase's value": Fault(
        "clusters/joint_phases.cpp",
        "one.bits |= more, one.values |= more & ~other.values;",
        "one.bits |= more, one.values |= more;",
    ),
    "a known one's value": Fault(
        "clusters/pieces.cpp", "if (piece.kind == Piece::parity && is_one) piece.angle = -piece.angle;", ""
    ),
    "a flip that a phase does not know": Fault("clusters/pieces.cpp", "else piece.values ^= unit(wire);", ""),
    "the other phase of two wires": Fault(
        "clusters/pieces.cpp", "piece.values |= unit(wire), piece.angle = -piece.angle;", "piece.values |= unit(wire);"
    ),
    "pieces that pass others": Fault("clusters/cluster.cpp", "if (!goes) stays |= wires;", ""),
    "the other value of a control": Fault(
        "clusters/blocks/controlled.cpp",
        "piece.values = own.value ? piece.control : 0;",
        "piece.values = piece.control;",
    ),
    "a turn that a swap under a control undoes": Fault(
        "clusters/pieces.cpp",
        "before = adjoint(turn) * before, carried(wire) = turn;",
        "before = adjoint(turn) * before;",
    ),
    "a wire that is turned between what reads it": Fault(
        "clusters/blocks/selected.cpp",
        "is_diagonal(piece.turn_of(wire)) ? 0 : unit(wire)",
        "is_diagonal(piece.turn_of(wire)) ? 0 : Mask{0}",
    ),
    "a piece that passes what it shares a wire with": Fault(
        "clusters/blocks/selected.cpp",
        "later_ |= piece.wires & ~passes, passed_ |= passes;",
        "passed_ |= passes;",
    ),
    "a wire that is turned behind what passed": Fault("clusters/blocks/selected.cpp", "!(turns & passed_)", "true"),
    "the values of several controls": Fault(
        "clusters/blocks/selection.cpp", "out.values = values_of(value_, 0);", "out.values = read_;"
    ),
    "which matrix what is read chooses": Fault("write/matrices.cpp", "(row | read) * (all + 1)", "row * (all + 1)"),
    "a bit whose flip counts its old value": Fault(
        "clusters/bits/diagrams.hpp",
        "return sum(of, both(change(of, wire), where));",
        "return sum(of, both(at_zero(of, wire), where));",
    ),
    "a phase of the opposite of a bit": Fault(
        "clusters/bits/bit_phases.cpp",
        "add_product(bits, -angle), add_product",
        "add_product(bits, angle), add_product",
    ),
    "a turn about the opposite axis": Fault(
        "clusters/bits/evaluation.cpp", "angles.add(where, sign * angle);", "angles.add(where, angle);"
    ),
    "phases of a product of signs": Fault(
        "clusters/bits/bit_phases.cpp", "write(diagrams_->both(first, change), -2 * angle, with, to)", "true"
    ),
    "a sign that X under controls leaves": Fault("write/matrices.cpp", "if (!passes) continue;", "continue;"),
    "the values of a phase of two wires": Fault(
        "write/phases/shared_phases.cpp", "if (all_[one.on[end]].sign >= 0) values |=", "values |="
    ),
    # few rotations
    "axes the wrong way round": Fault("layers.cpp", "if (last.negative) std::swap(axes[0], axes[1]);", ""),
    "an opposite axis": Fault(
        "gates/turn.cpp", "(right_handed == flips) == (quarters == 1)", "(right_handed || flips) == (quarters == 1)"
    ),
    "an eighth turned back": Fault(
        "write/grouping.cpp", "const int back = own.string.negative ? more : -more;", "const int back = -more;"
    ),
}
"""By name."""
