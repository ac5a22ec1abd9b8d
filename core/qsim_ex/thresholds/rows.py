"""The table of thresholds: a row each, by the part of the engine that asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from qsim_ex.native.thresholds import Native


@dataclass(frozen=True)
class OfReading:
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


@dataclass(frozen=True)
class OfPlanning:
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
    written_percent: the most that it may take of the share of the time as the circuit came below which its own surely
        is less (`Rates.surely`); 0: it is never tried.
    planned_microseconds, between_microseconds, gate_nanoseconds: planning a gate of a form, between gates, as it came.
    short_runs: how many times as long as planning it a run is short, before which only few rotations are looked for.
    sooner_microseconds, beside_microseconds: planning from which on what is planned sooner is looked for first (twice
        as long for short runs), and by other threads.
    worth_percent, few_percent, whole_percent: how much of the time of planning a run has to take so that it is looked
        further within it, and, if it does not look taken apart, for few rotations, or all. settled_microseconds: runs
        from which on new kernels are worth it. clustered_microseconds: those within which clusters are looked for.
    gates_of_a_rotation: the fewest gates for each rotation of a form but one a wire, since plans of dense circuits are
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
    compared_microseconds: int = 500
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
    stretch_gates: int = 16
    gates_of_a_rotation: int = 2
    written_rotations: int = 4096
    written_bindings: int = 4


@dataclass(frozen=True)
class OfRunning:
    """Those of the ways of a run: trajectories, narrow densities, stabilizer circuits, tables of separate parts.

    shots_at_once: the most shots whose random numbers are made together, a multiple of 4.
    trajectory_wires: the widest states whose trajectories run in compiled code whatever the noise; others have plans.
    measured_trajectory_wires: those without channels: elsewhere all shots with equal outcomes share one state.
    damped_trajectory_wires: those whose channels depend on the state so often that plans would be short.
    pieces_for_a_question: the pieces of work for each such channel up to which that is often.
    unit_bytes: the bytes of states and outcomes of one unit of work.
    call_work: the most work of one call, in about nanoseconds, since Ctrl-C waits for it; call_events: the most random
        numbers that one may keep as events.
    work_alone: the work below which other threads do not pay, as if no shots shared a state.
    shared_shots: the least shots of a part, if threads share all shots: the steps of shots without events are repeated
        in each. shared_wires: the wires of a state up to which that matters.
    block_wires: the widest states of which blocks of steps are one matrix; of wider ones the steps are faster.
    block_shots: the shots for each column of a block's matrix for which making it pays.
    narrow_density_wires: the widest states whose density matrix costs less than a few trajectories, without idle wires.
    exact_wires: those whose saved means are exact however few trajectories are asked for; if many, 3 more.
    narrow_bindings: the most bindings of such a state at a time; Ctrl-C waits for them.
    table_wires, table_size: the most wires of a part whose probabilities are kept in a table, and its largest size.
    wires_for_a_number: the wires that one number in [0, 1) chooses. values_at_once: the most saved values at a time.
    stabilizer_work: the least work of a state vector, instructions times amplitudes of the largest part, for which
        Stim is chosen. Where something is random before the end, each shot does that work, and `method_work` is enough.
    stim_records: the most records of all shots, or wires of all shots, that are sampled at a time.
    """

    shots_at_once: int = 1 << 16
    trajectory_wires: int = 10
    measured_trajectory_wires: int = 8
    damped_trajectory_wires: int = 17
    pieces_for_a_question: int = 6
    unit_bytes: int = 1 << 27
    call_work: int = 1 << 28
    call_events: int = 1 << 22
    work_alone: int = 1 << 20
    shared_shots: int = 64
    shared_wires: int = 8
    block_wires: int = 3
    block_shots: int = 8
    narrow_density_wires: int = 5
    exact_wires: int = 8
    narrow_bindings: int = 1024
    table_wires: int = 16
    table_size: int = 1 << 22
    wires_for_a_number: int = 40
    values_at_once: int = 1 << 22
    stabilizer_work: int = 1 << 30
    stim_records: int = 1 << 24


@dataclass(frozen=True)
class OfObserving:
    """Those of shots, marginals and expectation values.

    searched_wires: the wires of a batch of states that are drawn from amplitudes; those above from marginals.
    sorted_shots: the shots that one thread sorts, or looks up, at a time.
    chosen_wires: wires that one number of 53 bits chooses; the next wires have a number of their own.
    density_by_strings: the most wires whose density matrix comes from Pauli strings for all rows at once: 16 of them.
    batched_string_wires: the same, where an observer asks a batch.
    z_parts: the most strings with one X-part that are summed in one pass.
    sums_at_once: the most sums, or shots, that are computed at a time: 32 MiB.
    marginal_wires: the most wires that one pass sums over, so that the result stays in a processor's cache.
    divided_marginal_wires: those of a state in parts: 512 MiB on the host; shots of 38 wires need one visit.
    marginal_group: the wires of one marginal of many.
    amplitudes_at_once: the amplitudes that are gathered at a time: their indices take 8 MiB.
    copied_at_once: the most amplitudes that are copied over the host at a time: 256 MiB in complex128.
    """

    searched_wires: int = 12
    sorted_shots: int = 1 << 16
    chosen_wires: int = 40
    density_by_strings: int = 2
    batched_string_wires: int = 4
    z_parts: int = 1024
    sums_at_once: int = 1 << 22
    marginal_wires: int = 22
    divided_marginal_wires: int = 26
    marginal_group: int = 16
    amplitudes_at_once: int = 1 << 20
    copied_at_once: int = 1 << 24


@dataclass(frozen=True)
class OfPlacing:
    """Those of states in parts, batches, exchanges and migrations.

    batch_bytes: the bytes of states and numbers that a CPU works on at a time: about the size of its last cache.
    number_bytes: the bytes of numbers of a batch that are made on the host at a time; batch_rows: the most states.
    summed_bytes: the most bytes of answers that are summed at once, since each rank needs some copies of them.
    slice_message_bytes: the most bytes of one message of slices, unless a slice has more.
    pieces_of_a_part, small_piece: a part is cut into so many pieces at least, so that links and staging overlap, but
        not into pieces of fewer amplitudes than this.
    row_pitch: the largest stride of rows, in amplitudes: copy engines take at most 2 GiB.
    link_piece_bytes: the most bytes of one copy: a third of a millisecond over NVLink, far longer than queuing takes.
    linked_bytes: the most bytes that are queued on a device before the host waits, so that a cancelled run ends soon.
    mapped_piece_bytes: the most bytes of one launch into mapped memory: between two H200s launches of 32 MiB reached
        0.86 of the speed of those of 1 GiB. mapped_bytes: those that are queued before the host waits.
    rank_piece_bytes: the most bytes of one piece of a schedule between ranks.
    direct_bytes: the fewest bytes that are swapped in place: two small messages around it take as long as this size.
    group_bytes: the bytes of pieces after which a run can be cancelled, and two ranks wait for each other.
    window_piece: the bytes of one copy of a migration: 1.2 ms on a link of 55 GB/s, so that starting it takes little.
    window_bytes, window_copies: the most bytes, and copies, that are queued in one direction.
    rehearsed_slices: the most slices of a state that is rehearsed: with more, the table of places would take longer
        than planning.
    queued_work: the most work that is queued on a device before the host waits.
    first_bytes: the bytes of a value, with its size, that ranks gather by one message, which takes 20 to 50 µs.
    reached_at_once: the bytes of another process's memory that are swapped at a time, a multiple of 16: on two cores
        256 and 512 KiB were fastest, which stay in a core's cache. reached_runs: the most runs of one call, 1,024 or
        fewer (IOV_MAX).
    file_piece: the amplitudes of a piece of a file; fewer where a sub state vector has fewer.
    """

    batch_bytes: int = 1 << 24
    number_bytes: int = 1 << 28
    batch_rows: int = 1 << 17
    summed_bytes: int = 1 << 26
    slice_message_bytes: int = 1 << 23
    pieces_of_a_part: int = 8
    small_piece: int = 1 << 20
    row_pitch: int = 1 << 26
    link_piece_bytes: int = 1 << 27
    linked_bytes: int = 1 << 33
    mapped_piece_bytes: int = 1 << 28
    mapped_bytes: int = 1 << 31
    rank_piece_bytes: int = 1 << 25
    direct_bytes: int = 1 << 16
    group_bytes: int = 1 << 28
    window_piece: int = 1 << 26
    window_bytes: int = 1 << 32
    window_copies: int = 256
    rehearsed_slices: int = 1 << 16
    queued_work: int = 1 << 37
    first_bytes: int = 1024
    reached_at_once: int = 1 << 19
    reached_runs: int = 1024
    file_piece: int = 1 << 22


@dataclass(frozen=True)
class OfCpu:
    """Those of the CPU.

    sum_block_bits: log2 of the amplitudes of a block of a sum, which are neighbours in memory; sum_unit_blocks: of the
        least blocks of a unit, which threads share.
    sum_alone: the most amplitudes of a state for whose sums threads are never worth it.
    sum_masks: the most Z-masks that share a pass: their totals of a block are 4 MiB.
    product_bytes: the bytes of each of the matrices of a product.
    large_bytes: the fewest bytes of a buffer that is kept (the C library does well with less), or that processes share.
    unasked_bytes: the bytes that every machine has; reading the free memory takes 40 of the 60 µs of a small state.
    chunk_bits: log2 of the amplitudes that one thread moves or adds between two checks for Ctrl-C.
    amplitudes_alone: the number of amplitudes below which waking a thread does not pay.
    """

    sum_block_bits: int = 10
    sum_unit_blocks: int = 6
    sum_alone: int = 1 << 12
    sum_masks: int = 256
    product_bytes: int = 32 << 20
    large_bytes: int = 1 << 22
    unasked_bytes: int = 1 << 24
    chunk_bits: int = 18
    amplitudes_alone: int = 1 << 15


@dataclass(frozen=True)
class OfGpu:
    """Those of the kernels of sweeps on a GPU.

    loaded_microseconds: what a sweep is predicted to be slower interpreted than compiled, from which on a first run
        takes its kernel from disk. On an H100 that cost it 0.7 ms, and gained 0.7 to 3 at 28 wires.
    """

    loaded_microseconds: int = 2000


@dataclass(frozen=True)
class OfCirq:
    """Those of the adapter of Cirq.

    halved_qubits: the fewest qubits for which two small states and their product are faster than one state.
    resolved_bytes, resolved_points: the most bytes of states, and points, that a sweep computes before it yields them.
    """

    halved_qubits: int = 18
    resolved_bytes: int = 256 << 20
    resolved_points: int = 1024


@dataclass(frozen=True)
class Thresholds(OfReading, OfPlanning, OfRunning, OfObserving, OfPlacing, OfCpu, OfGpu, OfCirq):
    """All of them; `native` has those that native code asks for."""

    native: Native = field(default_factory=Native)
