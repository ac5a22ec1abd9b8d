"""A job of several circuits that was killed continues with the circuit at which it was, through every framework.

Nobody names a seed: it is in the files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cirq
import numpy as np
import pytest
from contract.effects import WINDOWS, Stopped
from contract.entries import QISKIT_OBSERVABLE, for_cirq, for_qiskit, numbers

from qsim_ex.errors import SavedStateError
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2

Found = tuple[np.ndarray, int]
"""The findings of a job, and the seed that gives them again."""


def _backend(circuits: list[Any], **how: Any) -> Callable[..., Found]:
    def job(**options: Any) -> Found:
        if "seed" in options:
            options["seed_simulator"] = options.pop("seed")
        result = QsimExBackend(**options).run(circuits, shots=50, memory=True, **how).result()
        memory = [",".join(result.get_memory(k)) for k in range(len(result.results))]
        return np.array(memory), result.base_seed

    return job


def _sampler(**options: Any) -> Found:
    pubs = [for_qiskit(), (for_qiskit(turn="turn"), [[0.1], [0.4]]), for_qiskit(midway=True)]
    result = SamplerV2(default_shots=50, **options).run(pubs).result()
    return np.concatenate([one.data.c.array.reshape(-1) for one in result]), result.metadata["seed"]


def _estimator(**options: Any) -> Found:
    pubs = [(for_qiskit(midway=True, turn=turn), QISKIT_OBSERVABLE) for turn in (0.1, 0.7)]
    result = EstimatorV2(trajectories=20, default_precision=0.1, **options).run(pubs).result()
    return np.array([float(one.data.evs) for one in result]), result.metadata["seed"]


def _cirq(method: str, **given: Any) -> Callable[..., Found]:
    def job(**options: Any) -> Found:
        found = getattr(QsimExSimulator(**options), method)(**given)
        first = found
        while isinstance(first, list):
            first = first[0]
        return numbers(found), first.qsim_ex["seed"]

    return job


_T = cirq.Circuit(for_cirq(measured=False, turn="turn"), cirq.measure(*cirq.LineQubit.range(3), key="m"))
_PAIRS = [for_cirq(turn="turn"), for_cirq(midway=True, turn="turn")]
JOBS: dict[str, Callable[..., Found]] = {
    "circuits": _backend([for_qiskit(), for_qiskit(midway=True), for_qiskit(turn=0.8)]),
    "parameter_binds": _backend([for_qiskit(turn="turn")], parameter_binds=[{"turn": [0.1, 0.2, 0.3]}]),
    "SamplerV2": _sampler,
    "EstimatorV2": _estimator,
    "run_sweep": _cirq("run_sweep", program=_PAIRS[1], params=[{"turn": 0.1}, {"turn": 0.2}], repetitions=20),
    "run_batch": _cirq(
        "run_batch", programs=_PAIRS, params_list=[{"turn": 0.1}, [{"turn": 0.2}, {"turn": 0.3}]], repetitions=20
    ),
    "run_batch, each its shots": _cirq("run_batch", programs=[for_cirq()] * 3, repetitions=[5, 7, 9]),
    "simulate_sweep": _cirq("simulate_sweep", program=_T, params=[{"turn": 0.1}, {"turn": 0.2}, {"turn": 0.3}]),
}


def _counting(told: list[int], most: float = np.inf) -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:  # noqa: ARG001
        told.append(done)
        if len(told) > most:
            raise Stopped

    return tell


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_a_job_goes_on_where_it_was_killed(name: str, share: float, tmp_path: Path) -> None:
    """It runs what is left, finds what an uninterrupted job with its seed finds, and leaves no file."""
    job = JOBS[name]
    keeps: dict[str, Any] = {**WINDOWS, "checkpoint": tmp_path / "job", "checkpoint_every": 0}
    told: list[int] = []
    job(**keeps, progress=_counting(told))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Stopped):
        job(**keeps, progress=_counting([], share * len(told)))
    assert list(tmp_path.iterdir()) != []
    again: list[int] = []
    found, seed = job(**keeps, progress=_counting(again))
    assert len(again) < (1.2 - share) * len(told)  # the part in which it was killed is begun where its file stands
    assert list(tmp_path.iterdir()) == []
    whole, same = job(**keeps, seed=seed)
    assert same == seed
    if found.dtype.kind == "f":  # means, which are added up in two parts
        assert np.allclose(found, whole, rtol=1e-12)
    else:
        assert np.array_equal(found, whole)


def test_another_job_is_refused(tmp_path: Path) -> None:
    """The file of one job is refused by another job, and by one with another seed."""
    keeps: dict[str, Any] = {**WINDOWS, "checkpoint": tmp_path / "job", "checkpoint_every": 0}
    with pytest.raises(Stopped):
        JOBS["circuits"](**keeps, seed=5, progress=_counting([], 30))
    for other, seed in ((JOBS["parameter_binds"], 5), (JOBS["circuits"], 6)):
        with pytest.raises(SavedStateError, match="another job"):
            other(**keeps, seed=seed)
