"""Programs with loops: shots follow the definitions, with little memory too, and steps do not grow with shots."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from qsim_ex import Circuit, CircuitBuilder, Options, PauliSum, ReadoutError, Simulator, bit_flip, reference
from qsim_ex.circuit.classical import Expression
from qsim_ex.errors import LoopError
from qsim_ex.run.branches import Branches
from qsim_ex.run.collector import Collector
from qsim_ex.run.loop_traversal import LoopTraversal
from qsim_ex.run.machine import Machine

SHOTS = 20_000


def simulator(**options: object) -> Simulator:
    """A simulator on the CPU."""
    return Simulator(Options(device="cpu", **options))  # type: ignore[arg-type]


def until_success(*, noise: bool = False) -> Circuit:
    """A coin that is thrown until it shows 1, a second wire that turns in every round, and a third that was reset."""
    builder = CircuitBuilder(3, 3)
    with builder.loop(builder.bits([0]).invert()):
        builder.gate("ry", [0], 1.1)
        builder.gate("rx", [1], 0.7)
        builder.gate("cx", [1, 2])
        if noise:
            builder.channel(bit_flip(0.2), [1])
        builder.measure([0], [0])
        with builder.condition([0], [1]):
            builder.reset([2])
            builder.measure([1], [1])
    builder.gate("rx", [1], 0.4)
    return builder.measure([1, 2], [1, 2]).build()


def agrees(circuit: Circuit, counts: dict[int, int]) -> None:
    """Check counts against the distribution by the definitions."""
    shots = sum(counts.values())
    found = {bits: float(np.trace(rho).real) for bits, rho in reference.by_bits(circuit).items()}
    assert set(counts) <= {bits for bits, p in found.items() if p > 1e-12}
    for bits, p in found.items():
        assert abs(counts.get(bits, 0) - shots * p) < 5 * np.sqrt(shots * p) + 1e-6


@pytest.mark.parametrize("noise", [False, True], ids=["ideal", "noisy"])
def test_shots_follow_the_definitions(noise: bool) -> None:
    """The shots of a loop with measurements, resets and channels are distributed as by the definitions."""
    circuit = until_success(noise=noise)
    agrees(circuit, simulator().run(circuit, SHOTS, seed=3).counts())


def test_each_round_has_random_numbers_of_its_own() -> None:
    """The outcomes of a measurement in different rounds of two loops in one another are independent."""
    builder = CircuitBuilder(1, 9)
    rounds, inner = builder.variable(2), builder.variable(2)
    three = Expression.constant(3, 2)
    one = Expression.constant(1, 2)
    with builder.loop(rounds.binary("less", three)):
        builder.store(rounds, rounds.binary("add", one))
        builder.store(inner, Expression.constant(0, 2))
        with builder.loop(inner.binary("less", three)):
            builder.store(inner, inner.binary("add", one))
            builder.store(builder.bits(range(1, 9)), builder.bits(range(8)))
            builder.gate("h", [0])
            builder.measure([0], [0])
    counts = simulator().run(builder.build(), SHOTS, seed=1).counts()
    assert len(counts) == 512
    assert sum((count - SHOTS / 512) ** 2 for count in counts.values()) * 512 / SHOTS < 511 + 6 * np.sqrt(2 * 511)


@pytest.mark.parametrize("rows", [1, 3, 50])
def test_little_memory_gives_the_same_shots(rows: int) -> None:
    """With room for few states, shots begin again later and choose the same."""
    circuit = until_success(noise=True)
    expected = simulator().run(circuit, 300, seed=8).packed
    with patch.object(Machine, "_rows", lambda *_: rows):
        assert np.array_equal(simulator().run(circuit, 300, seed=8).packed, expected)


@pytest.mark.parametrize("options", [{"virtual_peers": 2}, {"device_wires": 2}, {"separate": False}], ids=str)
def test_placements_give_the_same_shots(options: dict[str, int]) -> None:
    """A divided state goes through a loop one shot after the other, and finds the same."""
    circuit = until_success()
    expected = simulator().run(circuit, 40, seed=8).packed
    assert np.array_equal(simulator(**options).run(circuit, 40, seed=8).packed, expected)


def test_the_body_is_planned_once() -> None:
    """However many rounds a loop has, no more plans are asked for than a few rounds need."""
    builder = CircuitBuilder(3, 1)
    count = builder.variable(10)
    with builder.loop(count.binary("less", Expression.constant(300, 10))):
        builder.store(count, count.binary("add", Expression.constant(1, 10)))
        builder.gate("swap", [0, 1]).gate("h", [1]).gate("cx", [1, 2]).measure([2], [0])
    plans: set[int] = set()
    asked = Machine.plan_for

    def plan_for(machine: Machine, *given: object) -> object:
        plans.add(id(made := asked(machine, *given)))  # type: ignore[arg-type]
        return made

    with patch.object(Machine, "plan_for", plan_for):
        simulator().run(builder.build(), 20, seed=1)
    assert len(plans) <= 4


def test_twice_the_shots_take_no_more_steps() -> None:
    """What is done in Python depends on the rounds and not on the shots."""
    steps: list[int] = []
    once = LoopTraversal._step

    def step(traversal: LoopTraversal, group: object) -> bool:
        steps[-1] += 1
        return once(traversal, group)  # type: ignore[arg-type]

    builder = CircuitBuilder(2, 2)
    count = builder.variable(8)
    with builder.loop(count.binary("less", Expression.constant(6, 8))):
        builder.store(count, count.binary("add", Expression.constant(1, 8)))
        builder.gate("h", [0]).gate("cx", [0, 1]).measure([0], [0])
        with builder.condition([0], [1]):
            builder.reset([1])
    circuit = builder.measure([1], [1]).build()
    with patch.object(LoopTraversal, "_step", step):
        for shots in (10_000, 20_000):
            steps.append(0)
            simulator().run(circuit, shots, seed=1)
    assert steps[1] <= steps[0] + 10


def test_branches_come_together_after_a_loop() -> None:
    """Whatever rounds shots took, all of them end in one batch of states."""
    ends: list[int] = []
    right = Collector.finish

    def finish(collector: Collector, unit: object, inputs: object, states: object, branches: Branches) -> None:
        ends.append(len(branches.shots))
        right(collector, unit, inputs, states, branches)  # type: ignore[arg-type]

    with patch.object(Collector, "finish", finish):
        simulator().run(until_success(), 1000, seed=2)
    assert ends == [1000]


def test_an_expectation_value_after_a_loop() -> None:
    """The mean over trajectories is the value of the definitions."""
    circuit = until_success()
    observable = _z(1)
    found = simulator().run_batch(circuit, observables=[observable], trajectories=SHOTS, seeds=2)
    rho = reference.density_matrix(circuit)
    signs = 1 - 2.0 * (np.arange(8) >> 1 & 1)
    assert abs(found.values[0, 0] - (rho.diagonal().real * signs).sum()) < 5 / np.sqrt(SHOTS)


def _z(wire: int) -> PauliSum:
    from qsim_ex import PauliString

    return PauliSum((PauliString.parse("Z", [wire], 1.0),))


def test_a_condition_sees_a_misread_bit() -> None:
    """A loop goes on as long as the bit that is read says so, whatever the wire is."""
    builder = CircuitBuilder(1, 2)
    builder.gate("x", [0])
    with builder.loop(builder.bits([0]).invert()):
        builder.measure([0], [0])
        builder.store(builder.bits([1]), builder.bits([1]).unary("invert"))
    readout = (ReadoutError((0,), np.array([[1.0, 0.0], [0.5, 0.5]])),)
    counts = simulator().run(builder.build(), SHOTS, seed=4, readout=readout).counts()
    assert set(counts) == {1, 3}
    assert abs(counts[3] - SHOTS * 2 / 3) < 5 * np.sqrt(SHOTS * 2 / 9)


def test_a_save_under_a_condition() -> None:
    """A save under a condition keeps the states for which it holds."""
    builder = CircuitBuilder(1, 1)
    builder.gate("h", [0]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.reset([0])
        builder.save("here", "statevector", how="list")
    saved = simulator().run(builder.build(), 8, seed=1)
    ones = [key for key, row in enumerate(np.unpackbits(saved.packed, axis=1)[:, -1]) if row]
    assert len(ones) == 8 - np.count_nonzero(np.linalg.norm(np.asarray(saved.saved["here"]), axis=1) < 0.5)


def saved_rounds(how: str, *, state: bool = True) -> Circuit:
    """A coin that is thrown until it shows 1, and a wire that turns by 0.05 in each round and is saved."""
    builder = CircuitBuilder(2, 1)
    with builder.loop(builder.bits([0]).invert()):
        builder.gate("ry", [0], 1.1).gate("ry", [1], 0.05).measure([0], [0])
        if state:
            builder.save("state")
        builder.save("z", "expectation_value", wires=[1], observable=PauliSum.from_labels({"Z": 1.0}), how=how)
    return builder.build()


@pytest.mark.parametrize("rows", [1000, 3])
def test_saves_in_a_loop_are_of_all_rounds(rows: int) -> None:
    """A list has the rounds of each shot in turn; means and sums are those of the list, with little memory too."""
    with patch.object(Machine, "_rows", lambda *_: rows):
        saved = {
            how: simulator().run(saved_rounds(how), 60, seed=4).saved["z"]
            for how in ("list", "average", "accum", "c_list", "c_average", "c_accum")
        }
        state = simulator().run(saved_rounds("list"), 60, seed=4).saved["state"]
    rounds = np.rint(np.arccos(np.clip(saved["list"], -1, 1)) / 0.05).astype(int)
    assert np.abs(saved["list"] - np.cos(0.05 * rounds)).max() < 1e-12
    begins = np.flatnonzero(rounds == 1)
    assert len(begins) == 60
    for first, last in zip(begins, [*begins[1:], len(rounds)], strict=True):
        assert np.array_equal(rounds[first:last], np.arange(1, last - first + 1))
    assert abs(1 - 2 * np.sum(np.abs(state[2:]) ** 2) - saved["list"][begins[1] - 1]) < 1e-12  # of the first shot
    assert abs(saved["average"] - saved["list"].mean()) < 1e-12
    assert abs(saved["accum"] - saved["list"].sum()) < 1e-10
    assert {*saved["c_list"]} == {0, 1}
    assert len(saved["c_list"][1]) == 60
    for bits, values in saved["c_list"].items():
        assert abs(saved["c_average"][bits] - values.mean()) < 1e-12
        assert abs(saved["c_accum"][bits] - values.sum()) < 1e-10


def test_saves_in_a_loop_are_exact_with_density_matrices() -> None:
    """The mean over all passes, each with its probability, and the sum that a shot has in the mean."""
    p, left, total, passes = np.sin(0.55) ** 2, 1.0, 0.0, 0.0
    for number in range(1, 400):
        total, passes, left = total + left * np.cos(0.05 * number), passes + left, left * (1 - p)
    for how, expected in (("average", total / passes), ("accum", total)):
        found = simulator(method="density_matrix").run(saved_rounds(how, state=False)).saved["z"]
        assert abs(found - expected) < 1e-12


def test_saves_of_a_stopped_loop_are_whole(tmp_path: Path) -> None:
    """A run that goes on from a checkpoint has the saves of the run that was not stopped."""
    for how in ("list", "c_average", "accum"):
        circuit = saved_rounds(how)
        whole = simulator().run(circuit, 50, seed=4).saved["z"]
        kept = {"checkpoint": tmp_path / how, "checkpoint_every": 0.0}
        finish = Collector.finish

        def stopped(collector: Collector, *given: object, finish: object = finish) -> None:
            finish(collector, *given)  # type: ignore[operator]
            raise KeyboardInterrupt

        with (
            patch.object(Machine, "_rows", lambda *_: 20),
            patch.object(Collector, "finish", stopped),
            pytest.raises(KeyboardInterrupt),
        ):
            simulator(**kept).run(circuit, 50, seed=4)
        with patch.object(Machine, "_rows", lambda *_: 20):
            again = simulator(**kept).run(circuit, 50, seed=4).saved["z"]
        if isinstance(whole, dict):
            assert all(abs(again[bits] - value) < 1e-12 for bits, value in whole.items())
        else:
            assert np.abs(np.asarray(again) - np.asarray(whole)).max() < 1e-10


def test_a_loop_without_an_end() -> None:
    """The error of a loop that goes round too often says how often, for how many shots, and what to do."""
    builder = CircuitBuilder(1, 1)
    with builder.loop():
        builder.gate("x", [0])
    circuit = builder.measure([0], [0]).build()
    with pytest.raises(LoopError, match=r"max_loop_rounds=12 rounds, got 5 shots .* 12 times; .*raise max_loop_rounds"):
        simulator(max_loop_rounds=12).run(circuit, 5)


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """A run that goes on keeps the shots of an interrupted one, and gives the same shots as a whole one."""
    circuit, path = until_success(noise=True), tmp_path / "run.checkpoint"
    expected = simulator().run(circuit, 60, seed=5).packed
    told: list[int] = []

    class Stop(Exception):
        pass

    def progress(done: int, _total: int) -> None:
        told.append(done)
        if done > 40:
            raise Stop

    options = {"checkpoint": str(path), "checkpoint_every": 0, "device_wires": 2}
    with pytest.raises(Stop):
        simulator(**options, progress=progress).run(circuit, 60, seed=5)
    assert path.exists() or list(tmp_path.iterdir())
    assert np.array_equal(simulator(**options).run(circuit, 60, seed=5).packed, expected)
    assert not list(tmp_path.iterdir())


def test_idle_wires_take_no_memory() -> None:
    """A loop on three of many wires is simulated on three."""
    builder = CircuitBuilder(60, 1)
    with builder.loop(builder.bits([0]).invert()):
        builder.gate("h", [50]).gate("cx", [50, 7]).gate("cx", [7, 31]).measure([31], [0])
    result = simulator().run(builder.build(), 50, seed=1)
    assert result.counts() == {1: 50}
    assert result.provenance.facts["idle_wires"] == 57
