"""Thresholds of the ways of a run, and of what is asked of states."""

from __future__ import annotations

from qsim_ex.native.thresholds import Table


class OfRunning(Table):
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
    parts_work: the least work of a state vector, instructions times amplitudes of all bindings, for which the separate
        parts of gates are states of their own; planning and running each of these takes longer than less work.
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
    parts_work: int = 1 << 23
    table_wires: int = 16
    table_size: int = 1 << 22
    wires_for_a_number: int = 40
    values_at_once: int = 1 << 22
    stabilizer_work: int = 1 << 30
    stim_records: int = 1 << 24


class OfObserving(Table):
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
    shared_marginal_wires: those of a marginal that shots of several prefixes share; prefixes_one_by_one: the most
        prefixes that have marginals of their own.
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
    shared_marginal_wires: int = 20
    prefixes_one_by_one: int = 8
    marginal_group: int = 16
    amplitudes_at_once: int = 1 << 20
    copied_at_once: int = 1 << 24
