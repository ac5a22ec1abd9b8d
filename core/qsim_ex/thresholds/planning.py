"""Thresholds of dividing a circuit, of plans, and of what is written in its place."""

from __future__ import annotations

from qsim_ex.native.thresholds import Table


class OfPlanning(Table):
    """Those of dividing a circuit, and of plans as Python has them.

    jointly: the most wires that are measured or reset at one branch point, with 2^wires joint probabilities.
    narrow: the widest part whose live ranges take no turns, nor do measurements part it: all shots are compiled code's.
    gain: the least number of wires by which a part has to become smaller, as turns and parts add branch points.
    method_work: the least instructions times amplitudes of a state for which a method is looked for.
    plan_parts: the most parts of a plan: a checkpoint may be written after each, and each is prepared by itself.
    large_plan: the most instructions of a plan of which many are kept; each takes about half a KiB.
    packed_at_once, packed_by_numpy: the packed numbers that are made at once, if a step has no more: 1 MiB, and up to
        which NumPy takes operands sooner than native code. operands_at_once: those of superoperators at a time.
    written_microseconds: the least predicted time of a run for which what is written out of the circuit's form is
        tried; compared_microseconds: where it comes again and again. written_nanoseconds: of each gate, to find it.
    compared_gates: the gates from which on each takes less to compare in all manners.
    written_percent: the most that it may take of the share of the time as the circuit came below which its own surely
        is less (`Rates.surely`); 0: it is never tried.
    planned_microseconds, between_microseconds, gate_nanoseconds: planning a gate of a form, between gates, as it came.
    short_runs: how many times as long as planning it a run is short, before which only few rotations are looked for.
    sooner_microseconds, beside_microseconds: planning from which on what is planned sooner is looked for first (twice
        as long for short runs), and by other threads.
    worth_percent, few_percent, whole_percent: how much of the time of planning a run has to take so that it is looked
        further within it, and, if it does not look taken apart, for few rotations, or all. settled_microseconds: runs
        from which on new kernels are worth it. clustered_microseconds: those within which clusters are looked for.
    far_fewer: how many times fewer gates than a circuit that looks taken apart has are faster, planning included. Of
        185 circuits in the bases of machines with as few between their gates four took 1.02 to 1.4 of the time of
        planning both and running the faster, and all 0.64 in the geometric mean (28 wires, one H200, predicted).
    many_more: how many times as many gates as the circuit has promise nothing, in any manner.
    rotations_of_a_gate: the most rotations of a form for each gate and two a wire, since plans of dense circuits are
        good; 0: any. written_rotations: the most rotations. written_bindings: the most bindings of a matrix compared.
        stretch_gates: the fewest gates between what is random, saved or conditional that are written.
    """

    jointly: int = 10
    narrow: int = 8
    gain: int = 2
    method_work: int = 1 << 20
    plan_parts: int = 256
    large_plan: int = 1 << 13
    packed_at_once: int = 1 << 16
    packed_by_numpy: int = 1 << 10
    operands_at_once: int = 1 << 20
    written_microseconds: int = 2000
    written_nanoseconds: int = 200
    compared_microseconds: int = 250
    compared_gates: int = 2500
    written_percent: int = 100
    planned_microseconds: int = 30
    between_microseconds: int = 19
    gate_nanoseconds: int = 2000
    short_runs: int = 4
    sooner_microseconds: int = 10_000
    beside_microseconds: int = 4000
    worth_percent: int = 80
    few_percent: int = 1000
    whole_percent: int = 10_000
    settled_microseconds: int = 10**6
    clustered_microseconds: int = 15_000
    far_fewer: int = 4
    many_more: int = 3
    stretch_gates: int = 16
    rotations_of_a_gate: int = 2
    written_rotations: int = 4096
    written_bindings: int = 4
