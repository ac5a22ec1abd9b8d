"""A result counts its bits, however many there are."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qsim_ex import CircuitBuilder, NoiseModel, NoisyBuilder, Simulator, depolarizing
from qsim_ex.errors import MeasurementError
from qsim_ex.placement.deployment import single
from qsim_ex.precision import DOUBLE
from qsim_ex.result import Provenance, Result
from qsim_ex.run import outcome
from qsim_ex.run.outcome import LATEST


def result_of(bits: np.ndarray | None, num_clbits: int) -> Result:
    """A result that holds the given bits and nothing else of interest."""
    packed = None if bits is None else np.packbits(bits, axis=1, bitorder="little")
    shots = None if bits is None else len(bits)
    how = Provenance("cpu", "", "double", single(0, DOUBLE.storage, 0, ""), (), {}, 0, {})
    return Result(shots, num_clbits, packed, {}, 0, how)


@given(st.integers(0, 130), st.integers(0, 12), st.integers(0, 999))
def test_counts_are_the_bits(num_clbits: int, shots: int, seed: int) -> None:
    """Counts of up to 130 classical bits are those of the rows, in order."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (shots, num_clbits), dtype=np.uint8)
    bits = bits[rng.integers(0, shots, shots)] if shots else bits  # repeat some rows
    result = result_of(bits, num_clbits)
    assert np.array_equal(result.bits(), bits)
    wanted: dict[int, int] = {}
    for row in bits.tolist():
        value = sum(bit << k for k, bit in enumerate(row))
        wanted[value] = wanted.get(value, 0) + 1
    assert result.counts() == wanted
    assert list(result.counts()) == sorted(wanted)


def test_no_shots_no_counts() -> None:
    """A result without shots refuses to count."""
    with pytest.raises(MeasurementError, match="shots"):
        result_of(None, 3).counts()
    with pytest.raises(MeasurementError, match="shots"):
        result_of(None, 3).bits()


def test_plans_are_counted_when_asked_for_and_kept_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result reports the same plan however late it is asked, and of large ones only the latest keep their plans."""
    monkeypatch.setattr(outcome, "KEPT_GATES", 0)
    simulator = Simulator(device="cpu")
    made = [CircuitBuilder(2, 2).gate("h", [k % 2]).measure([0, 1], [0, 1]).build() for k in range(2)]
    first = simulator.run(made[0], 5)
    wanted = copy.deepcopy(first).plan
    others = [simulator.run(made[1], 5) for _ in range(LATEST)]
    assert first.provenance.plans == ()
    assert others[-1].provenance.plans
    assert first.plan == wanted
    assert pickle.loads(pickle.dumps(others[0])).plan == others[0].plan
    assert pickle.loads(pickle.dumps(others[-1])).provenance.plans == ()


def test_small_plans_are_kept_longer_than_large_ones() -> None:
    """A list of more results than are kept in any case keeps the plans of small circuits, which nobody counts."""
    simulator, made = Simulator(device="cpu"), CircuitBuilder(2, 2).gate("h", [0]).measure([0, 1], [0, 1]).build()
    found = [simulator.run(made, 5) for _ in range(LATEST + 2)]
    assert all(one.provenance.plans for one in found)
    assert not any("plan" in one.provenance.__dict__ for one in found)


def test_metadata_of_a_noisy_run_on_few_wires() -> None:
    """A run of trajectories that are compiled without a plan tells its metadata, and its plan's costs are zero."""
    builder = NoisyBuilder(1, 1, NoiseModel().with_error("h", depolarizing(0.1)))
    result = Simulator(device="cpu").run(builder.gate("h", [0]).measure([0], [0]).build(), shots=10, seed=7)
    about = result.metadata()
    assert about["placement"] == "single"
    assert about["plan"]["sweeps"] == result.plan.sweeps == 0
