"""Thresholds of reading circuits, and of the adapter of Cirq."""

from __future__ import annotations

from qsim_ex.native.thresholds import Table


class OfReading(Table):
    """Those of reading a circuit.

    quarter_wires: the fewest wires of circuits whose quarter and eighth turns are structure; in narrower ones a sweep
        takes less time than planning does.
    gates_at_once: the fewest gates that are appended all together; to look at fewer takes longer than one by one.
    native_instructions: the fewest instructions of a circuit of Qiskit that native code reads.
    native_wires: the most wires of circuits whose wires native code has as masks, which have 64 bits.
    tabled_angles: the fewest angles whose phases are made from a table.
    angles_at_once: angles whose phases are made at a time, so that all arrays fit in a processor's cache.
    written_parts: the most parts of a tuple whose text Python makes.
    checked_rows: the most rows of matrices that are checked together; NumPy multiplies larger ones faster.
    kept_pattern: the most entries of a matrix whose pattern is kept; larger ones are seldom.
    kept_bytes: the most bytes of operands of all bindings that are kept; others are computed when they are needed.
    entries_at_once: entries of matrices of a sweep that are computed at a time; bindings_at_once: bindings.
    listed_bits: the most classical bits of a condition whose values are always listed; wide_listed_bits: the most if
        they are few, which is listed_values or fewer. Other conditions are `circuit.control`.
    values_for_one: the most values that a group of bindings computes for each one that is asked for.
    """

    quarter_wires: int = 16
    gates_at_once: int = 17
    native_instructions: int = 17
    native_wires: int = 62
    tabled_angles: int = 256
    angles_at_once: int = 4096
    written_parts: int = 64
    checked_rows: int = 32
    kept_pattern: int = 64
    kept_bytes: int = 1 << 20
    entries_at_once: int = 1 << 12
    bindings_at_once: int = 64
    listed_bits: int = 10
    wide_listed_bits: int = 16
    listed_values: int = 1 << 12
    values_for_one: int = 4


class OfCirq(Table):
    """Those of the adapter of Cirq.

    halved_qubits: the fewest qubits for which two small states and their product are faster than one state.
    resolved_bytes, resolved_points: the most bytes of states, and points, that a sweep computes before it yields them.
    """

    halved_qubits: int = 18
    resolved_bytes: int = 256 << 20
    resolved_points: int = 1024
