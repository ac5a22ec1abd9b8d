"""What shots record on their way: a value for each time that they come by, in order, whatever way they take."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from qsim_ex import Circuit, CircuitBuilder, Options, Simulator
from qsim_ex.circuit.classical import Expression
from qsim_ex.errors import NotSupported
from qsim_ex.result import Result
from qsim_ex.run.exact import traversal as exact_traversal
from qsim_ex.run.machine import Machine

SHOTS = 300


def simulator(**options: object) -> Simulator:
    """A simulator on the CPU."""
    return Simulator(Options(device="cpu", **options))  # type: ignore[arg-type]


def coins() -> Circuit:
    """A coin that is thrown until it shows 1, and in each round another one; all of them are counted in bits, too.

    Recorded are the number of each round, both coins of each round, and the number of all rounds behind the loop.
    """
    builder = CircuitBuilder(2, 10)
    rounds, heads = builder.bits(range(2, 6)), builder.bits(range(6, 10))
    with builder.loop(builder.bits([0]).invert()):
        builder.gate("ry", [0], 1.8).gate("ry", [1], 1.3).measure([0, 1], [0, 1])
        builder.record("rounds", rounds)
        builder.store(rounds, rounds.binary("add", Expression.constant(1, 4)))
        builder.store(heads, heads.binary("add", builder.bits([1]).cast(4)))
        builder.record("coins", builder.bits([0, 1]))
    builder.record("rounds", rounds)
    return builder.build()


def number(bits: np.ndarray) -> np.ndarray:
    """Values of bits, the least significant first."""
    return bits @ (1 << np.arange(bits.shape[-1]))


def fits(result: Result) -> None:
    """Check that the records say what the bits of each shot say."""
    bits = result.bits()
    rounds, heads = number(bits[:, 2:6]), number(bits[:, 6:])
    coins, counted = result.records["coins"], result.records["rounds"]
    assert coins.counts.tolist() == rounds.tolist()
    assert counted.counts.tolist() == (rounds + 1).tolist()
    thrown, numbers = coins.padded(), number(counted.padded())
    assert thrown.shape == (len(bits), rounds.max(), 2)
    for shot, count in enumerate(rounds.tolist()):
        assert thrown[shot, :count, 0].tolist() == [0] * (count - 1) + [1]
        assert thrown[shot, :, 1].sum() % 16 == heads[shot]
        assert not thrown[shot, count:].any()
        assert numbers[shot, : count + 1].tolist() == list(range(count + 1))


def test_records_are_those_of_each_round() -> None:
    """Every shot has a record of each of its rounds, in order, and what stands behind the loop comes last."""
    fits(simulator().run(coins(), SHOTS, seed=3))


@pytest.mark.parametrize("rows", [1, 3, 50])
def test_little_memory_gives_the_same_records(rows: int) -> None:
    """Shots that begin again later have each record once."""
    expected = simulator().run(coins(), SHOTS, seed=8).records["coins"]
    with patch.object(Machine, "_rows", lambda *_: rows):
        found = simulator().run(coins(), SHOTS, seed=8)
    fits(found)
    assert np.array_equal(found.records["coins"].padded(), expected.padded())


def test_a_divided_state_and_many_bindings() -> None:
    """A state in pieces records the same, and each binding of a batch has records of its own."""
    expected = simulator().run(coins(), 40, seed=8).records["coins"].padded()
    assert np.array_equal(simulator(virtual_peers=2).run(coins(), 40, seed=8).records["coins"].padded(), expected)
    circuit = coins()
    batch = simulator().run_batch(circuit, np.repeat(circuit.operands, 3, axis=0), shots=40, seeds=[5, 8, 9])
    for binding in range(3):
        fits(batch[binding])
    assert np.array_equal(batch[1].records["coins"].padded(), expected)


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """A run that goes on has the records of the shots that an interrupted one has done."""
    expected = simulator().run(coins(), SHOTS, seed=5).records["coins"].padded()

    class Stop(Exception):
        pass

    def progress(done: int, total: int) -> None:
        if done > total // 2:
            raise Stop

    options = {"checkpoint": str(tmp_path / "run"), "checkpoint_every": 0, "device_wires": 1}
    with pytest.raises(Stop):
        simulator(**options, progress=progress).run(coins(), SHOTS, seed=5)
    found = simulator(**options).run(coins(), SHOTS, seed=5)
    fits(found)
    assert np.array_equal(found.records["coins"].padded(), expected)


def test_nothing_is_recorded() -> None:
    """Lists that no shot comes by are empty; without shots there are none."""
    builder = CircuitBuilder(1, 1)
    with builder.branch(builder.bits([0])):
        builder.record("never", builder.bits([0]))
    circuit = builder.measure([0], [0]).build()
    records = simulator().run(circuit, 3, seed=1).records["never"]
    assert records.padded().shape == (3, 0, 1)
    assert simulator().run(circuit, seed=1).records == {}


def test_too_many_lists_of_exact_branches_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches of density matrices with other records stay apart; where there are too many, the error counts them."""
    monkeypatch.setattr(exact_traversal, "_RECORDED", 200)
    with pytest.raises(NotSupported, match=r"at most 200 branches with lists of records of their own, got \d+"):
        simulator(method="density_matrix").run(coins(), 3)
