"""stimcirq: circuits of Stim's run on the simulator, with Stim's noise and measurements.

Stim's feedback and its flipped measurements have no meaning for Cirq's own simulator, and so none here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stim
import stimcirq

SHOTS = 2000
PROGRAMS = {
    "bell": "H 0\nCX 0 1\nM 0 1",
    "every kind of measurement": "RX 0\nRY 1\nH 2\nMX 0\nMY 1\nM !2\nMR 2\nMZZ 0 2\nM 2",
    "noise": "H 0\nX_ERROR(0.2) 1\nDEPOLARIZE1(0.3) 0\nDEPOLARIZE2(0.2) 0 1\nPAULI_CHANNEL_1(0.1,0.2,0) 1\nH 0\nM 0 1",
    "annotations": "H 0\nM 0\nCX 0 1\nM 1\nTICK\nDETECTOR(0, 1) rec[-1] rec[-2]\nOBSERVABLE_INCLUDE(0) rec[-1]",
    "a loop": "REPEAT 3 {\nH 0\nM 0\nSHIFT_COORDS(1)\n}",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_are_as_frequent_as_stims(cirq_simulator: Any, name: str) -> None:
    """All measured bits together are distributed as Stim's own samples."""
    program = stim.Circuit(PROGRAMS[name])
    result = cirq_simulator(seed=7).run(stimcirq.stim_circuit_to_cirq_circuit(program), repetitions=SHOTS)
    keys = sorted(result.records, key=lambda key: (len(key), key))
    ours = np.concatenate([result.records[key].reshape(SHOTS, -1) for key in keys], axis=1)
    theirs = program.compile_sampler(seed=3).sample(SHOTS)
    counts: dict[bytes, list[int]] = {}
    for place, bits in enumerate((ours, theirs)):
        for row in bits.astype(np.uint8):
            counts.setdefault(row.tobytes(), [0, 0])[place] += 1
    assert ours.shape == theirs.shape
    assert all(abs(a - b) < 5 * np.sqrt(a + b + 1) for a, b in counts.values())


def test_a_sampler_of_stim_is_replaced(cirq_simulator: Any) -> None:
    """What a StimSampler samples, the simulator samples too."""
    circuit = stimcirq.stim_circuit_to_cirq_circuit(
        stim.Circuit.generated("repetition_code:memory", distance=3, rounds=2)
    )
    ours, theirs = (one.run(circuit, repetitions=20) for one in (cirq_simulator(seed=1), stimcirq.StimSampler()))
    assert set(ours.records) == set(theirs.records)
