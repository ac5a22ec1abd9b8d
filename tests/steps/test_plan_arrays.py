"""The arrays of a plan: what is known of them without making them."""

from __future__ import annotations

import numpy as np

from qsim_ex import CircuitBuilder, Simulator
from qsim_ex.steps.plan_arrays import KIND, NAMES, SWEEP


def test_bytes_are_those_of_all_arrays() -> None:
    """Bytes are counted from lengths: no array is made for that; and sweeps alone are numbered one by one."""
    builder = CircuitBuilder(5)
    for wire in range(5):
        builder.gate("ry", [wire], 0.3).gate("cx", [wire, (wire + 1) % 5]).gate("rzz", [wire, (wire + 2) % 5], 0.2)
    (plan,) = Simulator(device="cpu").plans(builder.build())
    arrays = plan.steps[0].arrays
    made = arrays.__dict__.keys() & {name for name, *_ in NAMES}
    found = arrays.bytes
    assert arrays.__dict__.keys() & {name for name, *_ in NAMES} == made
    assert found == sum(getattr(arrays, name).nbytes for name, *_ in NAMES) + arrays._program_bytes
    sweeps = np.flatnonzero(arrays.steps[:, KIND] == SWEEP).tolist()
    assert arrays.sweep_places == {number: place for place, number in enumerate(sweeps)}
