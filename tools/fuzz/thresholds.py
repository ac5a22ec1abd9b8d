"""Draws the numbers at which the engine takes another way, so that a few wires and gates go every way."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

DRAWN: Mapping[str, tuple[int, ...]] = {
    "quarter_wires": (0, 3, 5),
    "gates_at_once": (0, 2, 5),
    "native_instructions": (0, 4, 1 << 30),
    "native_wires": (0, 3),
    "tabled_angles": (0, 3, 1 << 30),
    "angles_at_once": (1, 3),
    "written_parts": (0, 3, 1 << 30),
    "written_bytes": (1, 300),
    "checked_rows": (0, 2, 4),
    "kept_pattern": (0, 4, 16),
    "kept_bytes": (0, 400),
    "entries_at_once": (1, 3),
    "bindings_at_once": (1, 2),
    "listed_bits": (2, 3),
    "wide_listed_bits": (1, 2),
    "listed_values": (1, 2),
    "values_for_one": (1, 2, 100),
    "jointly": (1, 2, 3),
    "narrow": (0, 2, 4),
    "gain": (1, 3),
    "method_work": (0, 300),
    "plan_parts": (1, 2, 3),
    "large_plan": (0, 5),
    "written_microseconds": (0,),
    "written_nanoseconds": (0, 1 << 40),
    "compared_microseconds": (0, 1 << 30),
    "written_percent": (0, 1 << 40),
    "change_microseconds": (0, 1),
    "clustered_percent": (0, 100),
    "clustered_entries": (0, 1 << 30),
    "block_pieces": (2, 8),
    "phase_pairs": (0, 1),
    "planned_microseconds": (0, 1 << 30),
    "between_microseconds": (0, 1 << 30),
    "gate_nanoseconds": (0, 1 << 40),
    "short_runs": (0, 1 << 40),
    "sooner_microseconds": (0, 1 << 40),
    "beside_microseconds": (0, 1 << 40),
    "worth_percent": (0, 1 << 40),
    "whole_percent": (0, 1 << 40),
    "settled_microseconds": (0, 1 << 40),
    "clustered_microseconds": (0, 1 << 40),
    "stretch_gates": (0, 2, 5),
    "gates_of_a_rotation": (0, 1),
    "written_rotations": (0, 2),
    "written_bindings": (1, 2),
    "coefficients_at_once": (1, 3),
    "packed_at_once": (1, 5),
    "packed_by_numpy": (0, 4),
    "operands_at_once": (1, 50),
    "shots_at_once": (4, 32),
    "trajectory_wires": (0, 3, 5),
    "measured_trajectory_wires": (0, 3, 12),
    "damped_trajectory_wires": (0, 4, 6),
    "pieces_for_a_question": (0, 2, 1000),
    "unit_bytes": (1, 1 << 10),
    "call_work": (1, 1 << 10),
    "call_events": (1, 50),
    "work_alone": (0, 1 << 10),
    "shared_shots": (1, 8),
    "shared_wires": (0, 3),
    "block_wires": (0, 1, 2),
    "block_shots": (0, 2, 1 << 20),
    "narrow_density_wires": (0, 2, 3),
    "exact_wires": (0, 1, 3),
    "narrow_bindings": (1, 2),
    "table_wires": (0, 1, 3),
    "table_size": (1, 4, 30),
    "wires_for_a_number": (1, 2, 3),
    "values_at_once": (1, 20),
    "stabilizer_work": (0, 1 << 10),
    "stim_records": (1, 300),
    "searched_wires": (1, 2, 4),
    "sorted_shots": (1, 7, 50),
    "chosen_wires": (1, 2, 3),
    "density_by_strings": (0, 1, 3),
    "batched_string_wires": (0, 1, 2),
    "z_parts": (1, 2),
    "sums_at_once": (1, 10),
    "marginal_wires": (1, 2, 4),
    "divided_marginal_wires": (1, 2, 4),
    "marginal_group": (1, 2, 3),
    "amplitudes_at_once": (1, 5),
    "copied_at_once": (1, 8),
    "batch_bytes": (1, 300),
    "number_bytes": (1 << 15,),
    "batch_rows": (2, 3),
    "summed_bytes": (16, 100),
    "slice_message_bytes": (1, 32),
    "pieces_of_a_part": (1, 2),
    "small_piece": (1, 4),
    "row_pitch": (1, 4),
    "link_piece_bytes": (1, 64),
    "linked_bytes": (0, 100),
    "mapped_piece_bytes": (16, 100),
    "mapped_bytes": (0, 100),
    "rank_piece_bytes": (16, 100),
    "direct_bytes": (0, 64, 1 << 30),
    "group_bytes": (1, 100),
    "window_piece": (16, 100),
    "window_bytes": (0, 100),
    "window_copies": (1, 2),
    "rehearsed_slices": (1, 4),
    "queued_work": (0, 100),
    "first_bytes": (9, 30),
    "reached_at_once": (16, 48),
    "reached_runs": (1, 2),
    "file_piece": (1, 4),
    "sum_block_bits": (0, 1, 3),
    "sum_unit_blocks": (0, 1),
    "sum_alone": (0, 16),
    "sum_masks": (1, 2),
    "product_bytes": (1, 300),
    "large_bytes": (1, 100),
    "unasked_bytes": (0, 100),
    "chunk_bits": (0, 2, 4),
    "slice_microseconds": (0, 1),
    "amplitudes_alone": (0, 16),
    "loaded_microseconds": (0, 10),
    "past_caches": (1, 100),
    "scale_left": (0, 1),
    "turned_bits": (0, 40),
    "window": (1, 3, 10),
    "looked_at": (0, 1, 4),
    "relabeled": (0, 1, 2),
    "parities": (0, 1, 2),
    "run_work": (0, 8, 1 << 30),
    "item_work": (0, 9),
    "read_at_once": (1, 3, 20),
    "instructions_at_once": (1, 3),
    "runs_at_once": (1, 2),
    "pieces_at_once": (1, 3),
    "left_behind": (1, 3, 20),
    "reasons": (1, 2, 5),
    "compared_pieces": (1, 20),
    "compared_bits": (0, 1, 60),
    "frame_conditions": (0, 1),
    "scheduled_pieces": (0, 20),
    "staged_bits": (0, 1, 60),
    "divided_pieces": (0, 10),
    "divided_work": (0, 20),
    "parity_candidates": (0, 1, 4),
    "spared_from": (0, 1),
    "alike_bits": (0, 1, 3),
    "summed_entries": (0, 4, 1 << 30),
    "blocks_at_once": (1, 2),
    "sweeps_at_once": (1, 2),
    "chunk_work": (1, 100),
    "chunk_amplitudes": (1, 10),
    "chunk_bytes": (1, 64),
    "distinct_rows": (0, 1, 3),
    "layer_strings": (0, 1, 3),
    "layers_asked": (0, 1, 3),
    "layers_looked_at": (0, 2, 10),
    "items_moved": (0, 3, 10),
    "selectors": (0, 1, 3),
    "rotations_ahead": (0, 2),
    "rotations_looked_at": (1, 3),
    "halved_qubits": (2, 3, 4),
    "resolved_bytes": (1, 1 << 8),
    "resolved_points": (1, 2),
}
"""For each row of `qsim_ex.thresholds` the numbers that are drawn besides its own, the least first."""

_SELDOM_MET = (
    # of conditions and groups
    "listed_bits", "listed_values", "values_for_one", "pieces_for_a_question", "wires_for_a_number", "values_at_once",
    # of planning, and of the form
    "pieces_at_once", "divided_pieces", "compared_pieces", "compared_bits", "scheduled_pieces", "parity_candidates",
    "spared_from", "alike_bits",
    "layer_strings", "layers_asked", "layers_looked_at", "items_moved", "selectors",
    "rotations_ahead", "planned_microseconds", "between_microseconds", "gate_nanoseconds",
    "written_nanoseconds", "written_rotations", "short_runs", "sooner_microseconds", "beside_microseconds",
    "worth_percent", "whole_percent", "settled_microseconds", "clustered_microseconds",
    # of ranks, copies and files
    "group_bytes", "rank_piece_bytes", "direct_bytes", "summed_bytes", "slice_message_bytes", "mapped_bytes",
    "pieces_of_a_part", "reached_at_once", "reached_runs", "rehearsed_slices", "plan_parts", "written_parts",
    "written_bytes",
    # of questions, and of the CPU
    "density_by_strings", "batched_string_wires", "marginal_group", "sum_masks", "z_parts",
    "slice_microseconds", "chunk_work", "halved_qubits", "resolved_points",
)  # fmt: skip
"""Those of ways that few circuits go."""

_OFTEN = {
    **dict.fromkeys(_SELDOM_MET, 0.3),
    **dict.fromkeys(("compared_pieces", "compared_bits", "marginal_group", "halved_qubits"), 0.6),
    **dict.fromkeys(("quarter_wires", "gates_at_once", "native_instructions"), 0.7),
}
"""How likely others are drawn for those that most circuits meet, or few; for all others it is a tenth."""


WRITTEN = {
    "method_work": 0,
    "written_microseconds": 0,
    "written_nanoseconds": 0,
    "written_percent": 1 << 40,
    "change_microseconds": 0,
    "phase_pairs": 0,
    "planned_microseconds": 0,
    "between_microseconds": 0,
    "gate_nanoseconds": 0,
    "gates_of_a_rotation": 0,
    "stretch_gates": 2,
}
"""Those with which what is written out of a form runs in place of its circuit."""

BETWEEN = WRITTEN | {
    "planned_microseconds": 1,
    "between_microseconds": 1,
    "short_runs": 0,
    "worth_percent": 0,
    "whole_percent": 0,
    "clustered_microseconds": 0,
    "written_percent": 100,
    "change_microseconds": 1 << 30,
    "gates_of_a_rotation": 1,
}
"""Those with which a first run looks at what is written between gates, and for clusters, and may give it up."""

SHORT = WRITTEN | {"written_microseconds": 1, "written_nanoseconds": 1 << 40}
"""Those with which each gate is found to take too little time."""

STRETCHES = WRITTEN | {"trajectory_wires": 0, "measured_trajectory_wires": 0, "damped_trajectory_wires": 0}
"""Those with which what is written between random outcomes runs, and no trajectories run in compiled code."""

_SETS = (WRITTEN, STRETCHES, STRETCHES, BETWEEN, SHORT)
_LIKELY = 0.15
"""How likely one of these sets is drawn."""


def drawn(random: Random) -> dict[str, int]:
    """Some of the numbers, each with another value than its own; now and then one of the sets above."""
    found = {name: random.choice(of) for name, of in DRAWN.items() if random.random() < _OFTEN.get(name, 0.1)}
    chosen = random.random() / _LIKELY
    return found | (_SETS[int(chosen * len(_SETS))] if chosen < 1 else {})
