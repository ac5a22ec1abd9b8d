"""Programs for several ranks, by name: ``mpiexec -n 4 python tests/support/mpi_programs.py answers``.

Every rank asserts what it finds, and says ``rank 2: done`` in the end; tests/contract/test_over_mpi.py counts.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from qsim_ex import CircuitBuilder, PauliString, PauliSum, Simulator, StateVector, thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise.channels import depolarizing
from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder
from qsim_ex.comm.connection import renew
from qsim_ex.comm.launcher import LAUNCHED
from qsim_ex.errors import CommunicationError, OutOfMemory
from qsim_ex.execution.checkpoints import Checkpoints
from qsim_ex.execution.checkpoints_of_ranks import CheckpointsOfRanks
from tools.fuzz.thresholds import STRETCHES, WRITTEN

WIRES = 9
CPU: dict[str, Any] = {"device": "cpu", "threads": 1}
if os.environ.get("QSIM_EX_TEST_DEVICE") == "gpu":  # the same programs with ranks on the GPUs of this host
    CPU = {"device": "gpu"}
ALONE: dict[str, Any] = {**CPU, "processes": "never"}


class _OneProcess:
    """What programs use of a communicator of mpi4py, for one process that no launcher connects to others."""

    rank, size = 0, 1

    def allgather(self, value: Any) -> list[Any]:
        """Return the value."""
        return [value]

    def bcast(self, value: Any) -> Any:
        """Return the value."""
        return value

    def Barrier(self) -> None:
        """Return."""


def world() -> Any:
    """All ranks."""
    if LAUNCHED is None:
        return _OneProcess()
    from mpi4py import MPI

    return MPI.COMM_WORLD


def divided(**more: Any) -> dict[str, Any]:
    """Options of a state over all ranks."""
    return {**CPU, "processes": world().size, **more}


def same(value: Any) -> Any:
    """Return a value that is the same on all ranks, and assert that it is."""
    everyone = world().allgather(value)
    assert all(np.array_equal(one, everyone[0]) for one in everyone), everyone
    return value


def layers(wires: int = WIRES, count: int = 3, turn: float = 0.3) -> CircuitBuilder:
    """Gates that mix every wire and join them all."""
    builder = CircuitBuilder(wires, wires)
    for layer in range(count):
        for wire in range(wires):
            builder.gate("ry", [wire], turn + wire + layer).gate("cx", [wire, (wire + 1 + layer) % wires])
    return builder


def measured(**how: Any) -> Circuit:
    """`layers`, with all wires measured."""
    made = layers(**how)
    return made.measure(range(made.num_qubits), range(made.num_qubits)).build()


def measured_between() -> Circuit:
    """Gates as a transpiler writes them, a measurement, and gates again."""
    builder = CircuitBuilder(WIRES, WIRES + 1)
    for _ in range(2):
        for wire in [*range(WIRES - 1), *range(WIRES - 1)]:
            builder.gate("h", [wire]).gate("cx", [wire, wire + 1]).gate("rz", [wire + 1], 0.3 + wire)
            builder.gate("cx", [wire, wire + 1]).gate("h", [wire])
        builder.measure([0], [WIRES])
    return builder.measure(range(WIRES), range(WIRES)).build()


# --- programs --------------------------------------------------------------------------------------------------------


def answers() -> None:
    """Whatever is asked of a divided state has the answer that one process gives, on every rank."""
    size = world().size
    circuit = measured()
    result, alone = Simulator(**divided()).run(circuit, shots=300, seed=7), Simulator(**ALONE).run(circuit, 300, 7)
    assert np.array_equal(same(result.packed), alone.packed)
    used = 1 << size.bit_length() - 1
    assert (result.placement, result.facts["processes"], result.facts["processes_used"]) == ("ranks", size, used)
    assert "MPI" in result.facts["communicator"]
    assert ("is not a power of two" in result.deployment.reason) == (used < size)
    ranks = {int(rank) for pair in result.facts["bytes_sent"] for rank in pair.split(">")}
    assert ranks == set(range(used))
    (layer,) = result.facts["layers"]  # all ranks are on this host
    link = "mapped" if CPU["device"] == "gpu" else "host"
    assert (layer["link"], layer["bits"]) == (link, used.bit_length() - 1)
    assert result.facts["bytes_layers"] == [sum(result.facts["bytes_sent"].values())]
    _devices(circuit, alone.packed, used)
    same(Simulator(**divided()).run(circuit, shots=300).packed)
    _chance()
    _values()
    _state()


def _devices(circuit: Circuit, packed: np.ndarray, used: int) -> None:
    """Two sub state vectors for each rank give the same shots; what they exchange is told for each of them."""
    result = Simulator(**divided(virtual_peers=2)).run(circuit, shots=300, seed=7)
    assert np.array_equal(same(result.packed), packed)
    assert result.deployment.levels.peers == used.bit_length()
    link = "mapped" if CPU["device"] == "gpu" else "host"
    assert [layer["link"] for layer in result.facts["layers"]] == ["memory", link]
    assert sum(result.facts["bytes_layers"]) == sum(result.facts["bytes_sent"].values())
    if CPU["device"] == "cpu":  # on a GPU sampling exchanges too
        assert sum(result.facts["bytes_sent"].values()) == result.plan.bytes_peers
    assert {"0.0", "0.1"} <= {name for pair in result.facts["bytes_sent"] for name in pair.split(">")}
    bits = used.bit_length() - 1
    given = [(1, "near", 9e9), (bits - 1, "far", 1e9)][: min(bits, 2)]
    far = Simulator(**divided(network=given))
    assert np.array_equal(same(far.run(circuit, shots=300, seed=7).packed), packed)


def _chance() -> None:
    """Noise, measurements in the middle, resets and conditions."""
    builder = layers(count=1)
    builder.channel(depolarizing(0.2), [WIRES - 1]).measure([WIRES - 1], [0])
    builder.gate("h", [WIRES - 1]).reset([2]).gate("ry", [2], 0.7)
    circuit = builder.measure(range(1, WIRES), range(1, WIRES)).build()
    found, alone = (Simulator(**options).run(circuit, shots=20, seed=5) for options in (divided(), ALONE))
    assert np.array_equal(same(found.packed), alone.packed)


def _values() -> None:
    """Expectation values of many bindings, and circuits with wires that nothing joins."""
    circuit = layers().build()
    sums = [PauliSum((PauliString((1 << WIRES) - 1, 3),)), PauliSum((PauliString(0, 1 << WIRES - 1),))]
    bindings = np.repeat(circuit.operands, 2, axis=0)
    found, alone = (
        Simulator(**options).run_batch(circuit, bindings, observables=sums).values for options in (divided(), ALONE)
    )
    assert np.allclose(same(found), alone, rtol=0, atol=1e-12)
    parts = CircuitBuilder(12, 12)
    for first in (0, 6):
        for wire in range(first, first + 5):
            parts.gate("h", [wire]).gate("cx", [wire, wire + 1])
    whole = parts.measure(range(12), range(12)).build()
    found, alone = (Simulator(**options).run(whole, shots=50, seed=1).packed for options in (divided(), ALONE))
    assert np.array_equal(same(found), alone)


def _state() -> None:
    """Questions of a state vector, and changes of it."""
    psi = Simulator(**ALONE).state(layers().build()).to_numpy()
    with Simulator(**divided()).state(layers().build()) as state:
        assert np.allclose(same(state.to_numpy()), psi, rtol=0, atol=1e-12)
        assert np.allclose(same(state.probabilities([WIRES - 1, 0]).sum()), 1)
        same(state.sample(50))
        same(state.measure([0, WIRES - 1]))
        other = state.clone()
        assert np.isclose(same(other.inner(state)), 1)
        state.apply(layers(turn=0.1).build())
        assert np.isclose(same(state.norm()), 1)
        _slices(state)


def _slices(state: StateVector) -> None:
    """Each rank has its own amplitudes, and all together have each amplitude once."""
    mine = state.own_slices()
    whole = same(state.to_numpy())
    assert all(np.array_equal(one.amplitudes, whole[one.start : one.stop]) for one in mine)
    ends = sorted(end for rank in world().allgather([(one.start, one.stop) for one in mine]) for end in rank)
    assert [end for end, _ in ends] == [0, *(end for _, end in ends[:-1])]
    assert ends[-1][1] == len(whole)


def gradients() -> None:
    """Values and derivatives of a divided state are those of one process, on every rank; other calls are errors."""
    builder, angles = ParameterSweepBuilder(WIRES, 0), np.linspace(0.1, 1.2, 2 * WIRES)
    for number, angle in enumerate(angles):
        wire = number % WIRES
        builder.gate("ry", [wire], np.array([angle])).gate("cx", [wire, (wire + 1) % WIRES])  # type: ignore[arg-type]
    sweep, every = builder.sweep(1), (1 << WIRES) - 1
    sums = [PauliSum((PauliString(every, 0, 1.0), PauliString(0, 6, 0.5))), PauliSum((PauliString(1 << WIRES - 1, 0),))]
    alone, many = Simulator(**ALONE), [Simulator(**divided()), Simulator(**divided(device_wires=4))]
    whole, product, overlap = (
        alone.gradient(sweep, sums),
        alone.vjp(sweep, sums, [2, 3]),
        alone.overlap(sweep, layers().build()),
    )
    for simulator in many:
        found = simulator.gradient(sweep, sums)
        assert np.allclose(same(found.values), whole.values, rtol=0, atol=1e-12)
        assert np.allclose(same(found.jacobian), whole.jacobian, rtol=0, atol=1e-12)
        assert np.allclose(same(simulator.vjp(sweep, sums, [2, 3]).products), product.products, rtol=0, atol=1e-12)
        other = simulator.overlap(sweep, layers().build())
        assert np.allclose(same(other.derivatives), overlap.derivatives, rtol=0, atol=1e-12)
    first = sums if world().rank else sums[:1]
    _refused(lambda: many[0].gradient(sweep, first), "expected the same call")


def shared_out() -> None:
    """Bindings and trajectories of small states are shared out; every rank gets what one process gets."""
    circuit = _turned()
    bindings = np.repeat(circuit.operands, 10, axis=0) * np.linspace(0.5, 1.5, 10)[:, None]
    sums = [PauliSum((PauliString(3, 0), PauliString(0, 5)))]
    asked: list[dict[str, Any]] = [{"shots": 20, "seeds": 3}, {"observables": sums}]
    for how in asked:
        found, alone = (Simulator(**options).run_batch(circuit, bindings, **how) for options in (divided(), ALONE))
        assert (found.facts["shared_out"], found.facts["bindings"]) == ("bindings", 10)
        assert found.seeds == alone.seeds or "seeds" not in how
        if found.packed is not None:
            assert np.array_equal(same(found.packed), alone.packed)
        assert np.array_equal(same(found.values), alone.values)
    same(Simulator(**divided()).run_batch(circuit, bindings, shots=20).packed)  # seeds of rank 0
    noisy = layers(wires=8).channel(depolarizing(0.2), [7]).measure([7], [7]).gate("h", [7])
    for wire in range(8):
        noisy.gate("cx", [wire, (wire + 1) % 8]).channel(depolarizing(0.1), [wire])
    whole = noisy.measure(range(7), range(7)).build()
    for trajectories in (3, 50):
        found, alone = (
            Simulator(**options).run_batch(
                whole, shots=trajectories, seeds=5, observables=[PauliSum((PauliString(0, 5),))]
            )
            for options in (divided(), ALONE)
        )
        assert found.facts["shared_out"] == "trajectories"
        assert np.array_equal(same(found.packed), alone.packed)
        assert np.allclose(same(found.values), alone.values, rtol=0, atol=1e-12)
        assert np.allclose(same(found.errors), alone.errors, rtol=0, atol=1e-12)
        assert found.trajectories == trajectories
    exact = {"method": "density_matrix"}
    same(Simulator(**divided(**exact)).run(whole, shots=50).packed)
    found, alone = (Simulator(**{**options, **exact}).run(whole, 50, 3) for options in (divided(), ALONE))
    assert np.array_equal(same(found.packed), alone.packed)


def _turned() -> Circuit:
    """A circuit of four wires with one angle."""
    builder = CircuitBuilder(4, 4).gate("ry", [0], 0.3)
    for wire in range(3):
        builder.gate("cx", [wire, wire + 1])
    return builder.measure(range(4), range(4)).build()


def frameworks() -> None:
    """Unchanged scripts of Qiskit and Cirq, without a seed and with one."""
    import cirq
    from qiskit import QuantumCircuit

    from qsim_ex_cirq import QsimExSimulator
    from qsim_ex_provider import QsimExBackend, SamplerV2

    ghz = QuantumCircuit(WIRES)
    ghz.h(0)
    for qubit in range(1, WIRES):
        ghz.cx(qubit - 1, qubit)
    ghz.measure_all()
    backend = QsimExBackend(**divided())
    job = backend.run([ghz, ghz], shots=100)
    same(job.result().base_seed)
    assert sorted(same(job.result().get_counts(0))) == ["0" * WIRES, "1" * WIRES]
    counts = backend.run(ghz, shots=100, seed_simulator=5).result().get_counts()
    assert same(counts) == QsimExBackend(**ALONE).run(ghz, shots=100, seed_simulator=5).result().get_counts()
    same(SamplerV2(**divided()).run([ghz], shots=50).result()[0].data.meas.get_counts())
    _at_once(ghz)
    qubits = cirq.LineQubit.range(WIRES)
    circuit = cirq.Circuit(cirq.H(qubits[0]), *(cirq.CNOT(a, b) for a, b in pairwise(qubits)))
    same(QsimExSimulator(**divided()).run(circuit + cirq.measure(*qubits, key="m"), repetitions=40).measurements["m"])
    same(QsimExSimulator(**divided()).simulate(circuit).final_state_vector)
    ghz.remove_final_measurements()
    for state in (backend.state(ghz), QsimExSimulator(**divided()).state(circuit)):
        with state:
            _slices(state)


def _at_once(ghz: Any) -> None:
    """Jobs in the background at the same time, and what primitives draw themselves, are the same everywhere."""
    from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2

    sampler, backend, estimator = (
        kind(**divided(), **more)
        for kind, more in ((SamplerV2, {}), (QsimExBackend, {}), (EstimatorV2, {"default_precision": 0.1}))
    )
    gates = ghz.remove_final_measurements(inplace=False)
    jobs = [sampler.run([ghz], shots=30) for _ in range(3)]
    counts, values = backend.run(ghz, shots=30), estimator.run([(gates, "Z" * WIRES)])
    samples, found = [job.result() for job in jobs], values.result()
    same(counts.result().get_counts())
    for sample in samples:
        same(sample.metadata["seed"])
        same(sample[0].data.meas.get_counts())
    same(found.metadata["seed"])
    same(float(found[0].data.evs))
    _calls_between_jobs(lambda: [sampler.run([ghz], shots=30), backend.run([ghz] * 3, shots=30)])


def _calls_between_jobs(submit: Callable[[], list[Any]]) -> None:
    """What is called while jobs run comes after them on every rank."""
    simulator, circuit = Simulator(**divided()), layers().build()
    with tempfile.TemporaryDirectory() as folder, simulator.state(circuit) as state:
        file = world().bcast(f"{folder}/state")
        for call in (
            lambda: state.probabilities([0]).tolist(),
            lambda: simulator.run(measured(), shots=20).counts(),
            lambda: simulator.state(circuit).close(),
            lambda: StateVector(WIRES, options=simulator.options).close(),
            lambda: state.save(file),
            lambda: StateVector.load(file, options=simulator.options).close(),
        ):
            jobs = submit()
            same(call())
            assert all(job.done() for job in jobs)
        world().Barrier()


def disagreements() -> None:
    """Ranks that differ get an error that names the difference, all of them; and then all go on."""
    rank = world().rank
    simulator = Simulator(**divided())
    rows = np.repeat(_turned().operands, 10, axis=0)
    rows[9] *= 1 + 1e-9 * (rank == 1)
    sweep = ParameterSweepBuilder(4, 0)
    sweep.gate("rx", [0], np.linspace(0, 1 + 1e-9 * (rank == 1), 3000))
    swept = sweep.sweep(3000)
    for name, call in {
        "seeds": lambda: simulator.run(measured(), shots=5, seed=rank),
        "numbers": lambda: simulator.run(measured(turn=0.1 * (rank == 1)), shots=5, seed=1),
        "circuit": lambda: simulator.run(measured(count=2 + (rank == 1)), shots=5, seed=1),
        "bindings": lambda: simulator.run_batch(_turned(), rows, shots=5, seeds=1),
        "bindings ": lambda: simulator.run_batch(
            swept.template, swept.bindings(), observables=[PauliSum((PauliString(0, 1),))]
        ),
        "shots": lambda: simulator.run(measured(), shots=5 + (rank == 1), seed=1),
        "separate": lambda: Simulator(**divided(separate=rank != 1)).run(measured(), shots=5, seed=1),
    }.items():
        try:
            call()
        except CommunicationError as error:
            assert f"{name.strip()}: " in str(error), error  # noqa: PT017  (pytest is not here)
            assert "rank 1" in str(error)  # noqa: PT017
        else:
            raise AssertionError(name)
    same(simulator.run(measured(), shots=5, seed=1).packed)


def failures() -> None:
    """An error on one rank is the error of all, which name the rank; and then all go on."""
    rank = world().rank

    class Broken(Exception):
        """What a callback of rank 1 raises."""

    def progress(done: int, _all: int) -> None:
        if rank == 1 and done > 1:
            raise Broken("the callback is broken")

    circuit = measured()
    for options, mine, words in (
        (divided(progress=progress), Broken, "rank 1 of"),
        (divided(max_memory=100 if rank == 1 else None), OutOfMemory, "rank 1"),
    ):
        began = time.monotonic()
        try:
            Simulator(**options).run(circuit, shots=5, seed=1)
        except (Broken, CommunicationError, OutOfMemory) as error:
            assert isinstance(error, mine) or (rank != 1 and words in str(error)), error  # noqa: PT017
        else:
            raise AssertionError(words)
        assert time.monotonic() - began < 20
        same(Simulator(**divided()).run(circuit, shots=5, seed=1).packed)


def trades() -> None:
    """A rank that has told another one where its array is trades with it, though a third has failed; then all go on."""
    end = renew()
    mine = np.full(4, float(end.rank))
    if not end.reaches((end.rank + 1) % end.size):
        return  # arrays are sent here, since processes reach no memory of each other
    end.barrier()
    if end.rank == 2:
        time.sleep(0.2)
        end.abort(ArithmeticError("the kernel failed"))
    else:
        time.sleep(0.0 if end.rank == 1 else 0.6)
        try:
            end.swap(1 - end.rank, [mine])
            assert mine.tolist() == [float(1 - end.rank)] * 4, mine
        except CommunicationError as error:  # both of them, if rank 0 has heard of it before it told anything
            assert re.search("rank 2 of 3 has failed.*the kernel failed", str(error)), error  # noqa: PT017
            assert mine.tolist() == [float(end.rank)] * 4, mine
        try:
            end.barrier()
        except CommunicationError as error:
            assert "the kernel failed" in str(error), error  # noqa: PT017
        else:
            raise AssertionError("a connection that was aborted goes on")
    same(Simulator(**divided()).run(measured(), shots=5, seed=1).packed)


def memory() -> None:
    """A rank of a large state holds its part and a tenth more."""
    import resource

    wires, size = 24, world().size
    Simulator(**divided()).run(measured(), shots=5, seed=1)  # all code is loaded
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    result = Simulator(**divided()).run(measured(wires=wires, count=1), shots=5, seed=1)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before
    share = (16 << wires) // size
    assert result.facts["bytes_held"] <= 1.1 * share
    assert sum(result.facts["bytes_sent"].values()) > 0
    assert grown <= 1.1 * share + (12 << 20), (grown, share)  # and what plans, MPI and sums take for any state


def global_wires() -> None:
    """Gates on the highest wires alone, and on two of them at once."""
    builder = CircuitBuilder(WIRES)
    top = range(WIRES - 3, WIRES)
    for turn in range(4):
        for wire in top:
            builder.gate("ry", [wire], 0.4 * turn + wire).gate("cz", [wire, top[(wire + 1) % 3]])
        builder.gate("swap", [WIRES - 1, WIRES - 2]).gate("cx", [WIRES - 1, 0])
    with Simulator(**divided()).state(builder.build()) as state, Simulator(**ALONE).state(builder.build()) as alone:
        assert np.allclose(same(state.to_numpy()), alone.to_numpy(), rtol=0, atol=1e-12)


def copies() -> None:
    """States that are not divided say so, once, and nothing is collective: here only rank 0 runs one."""
    if world().rank:
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [Simulator(**CPU).run(measured(), shots=5, seed=1) for _ in range(2)]
    (warned,) = (one for one in caught if "process" in str(one.message))
    assert "Every process computes such a state for itself" in str(warned.message)
    assert f"not divided over the {world().size} processes" in results[0].deployment.reason
    assert results[0].placement == "single"


def clifford() -> None:
    """A circuit that Stim runs in place of a divided state has the same shots on all ranks, without a seed too."""
    builder = CircuitBuilder(60, 2).gate("h", [0])
    for wire in range(59):
        builder.gate("cx", [wire, wire + 1])
    found = Simulator().run(builder.measure([0, 59], [0, 1]).build(), 200)
    assert found.facts["method"] == "stabilizer"
    same(found.packed)


def written() -> None:
    """Ranks run what is written, of a circuit, all bindings and stretches of gates, with the answers of one process."""
    turns = np.array([0.3, 0.7, -1.1])
    builder = ParameterSweepBuilder(WIRES, WIRES)
    for wire in [*range(WIRES - 1), *range(WIRES - 1)]:
        builder.gate("h", [wire]).gate("cx", [wire, wire + 1]).gate("rz", [wire + 1], turns)
        builder.gate("cx", [wire, wire + 1]).gate("h", [wire])
    builder.measure(range(WIRES), range(WIRES))
    sweep = builder.sweep(len(turns))
    with thresholds.instead(**WRITTEN):
        found, alone = (Simulator(**way).run(measured(), 100, seed=4) for way in (divided(), ALONE))
        assert np.array_equal(same(found.packed), alone.packed)
        many, apart = (
            Simulator(**way).run_batch(sweep.template, sweep.bindings(), shots=50, seeds=3)
            for way in (divided(), ALONE)
        )
        assert np.array_equal(same(many.packed), apart.packed)
    assert [one.provenance.facts["written"] for one in (found, many)] == ["as Pauli rotations"] * 2
    with thresholds.instead(**STRETCHES):
        again, apart = (Simulator(**way).run(measured_between(), 20, seed=4) for way in (divided(), ALONE))
    assert np.array_equal(same(again.packed), apart.packed)
    assert again.facts["written"] == "as Pauli rotations in 2 of 2 segments"


def automatic() -> None:
    """A state that is large enough is divided without being told."""
    wires = 20 + world().size.bit_length() - 1
    result = Simulator(**CPU).run(measured(wires=wires, count=1), shots=5)
    assert result.facts["processes_used"] == world().size
    same(result.packed)


def part() -> None:
    """A communicator of some of the ranks, given by the user."""
    from qsim_ex.comm.connection import connected
    from qsim_ex.comm.mpi import Mpi

    pair = world().Split(world().rank // 2)
    with connected(Mpi(pair)):
        seed = world().rank // 2
        found = Simulator(**CPU, processes=2).run(measured(), shots=30, seed=seed)
    assert found.facts["processes"] == 2
    assert np.array_equal(found.packed, Simulator(**ALONE).run(measured(), shots=30, seed=seed).packed)


def _last_rank_fails(end: Any) -> None:
    """All ranks run circuits until one ends in its own way."""
    simulator = Simulator(**divided())
    simulator.run(measured(), shots=5, seed=1)
    if world().rank == world().size - 1:
        end()
    for _ in range(3):
        simulator.run(measured(), shots=5, seed=1)


def raises() -> None:
    """A rank's script raises."""

    def end() -> None:
        raise ArithmeticError("my own mistake")

    _last_rank_fails(end)


def ends() -> None:
    """A rank's script is over too early."""
    _last_rank_fails(lambda: sys.exit(0))


def dies() -> None:
    """A rank is killed."""
    _last_rank_fails(lambda: os.kill(os.getpid(), signal.SIGKILL))


def state_file() -> None:
    """A state is written by all ranks, and read by all, by some, and by one; what cannot be done is refused by all."""
    from qsim_ex.comm.connection import connected
    from qsim_ex.comm.mpi import Mpi
    from qsim_ex.errors import OptionError, SavedStateError

    folder = Path(world().bcast(tempfile.mkdtemp()))
    circuit = layers().build()
    psi = Simulator(**ALONE).state(circuit).to_numpy()
    with Simulator(**divided()).state(circuit) as state:
        state.save(folder / "whole")
        assert np.allclose(same(state.to_numpy()), psi, rtol=0, atol=1e-12)
        try:
            state.save(folder / "nowhere" / "state")
        except SavedStateError as error:
            same(str(error))
        else:
            raise AssertionError("there is no such folder")
        same(state.norm())  # and all go on
    with StateVector(WIRES, **divided()) as state:  # most of it is known to be zero
        state.gate("x", [WIRES - 1]).save(folder / "basis")
    for name, wanted in (("whole", psi), ("basis", np.eye(1, 1 << WIRES, 1 << WIRES - 1)[0])):
        with StateVector.load(folder / name, **divided()) as state:
            assert np.allclose(same(state.to_numpy()), wanted, rtol=0, atol=1e-12)
        with StateVector.load(folder / name, **ALONE) as state:
            assert np.allclose(state.to_numpy(), wanted, rtol=0, atol=1e-12)
        of_some = {**CPU, "processes": 1 if world().rank // 2 else 2}
        with connected(Mpi(world().Split(world().rank // 2))), StateVector.load(folder / name, **of_some) as state:
            assert np.allclose(state.to_numpy(), wanted, rtol=0, atol=1e-12)
    assert sorted(path.name for path in folder.iterdir()) == ["basis", "whole"]
    try:
        how = {"device_wires": 4, "host_memory": "spread", "virtual_peers": 2}
        Simulator(**divided(**how)).run(measured(), shots=5, seed=1)
    except OptionError as error:
        assert "process for each device" in str(error)  # noqa: PT017
    else:
        raise AssertionError("it was not refused")


def checkpoints() -> None:
    """A run that was interrupted on one rank continues on all, and gives what it would have given."""
    from qsim_ex.run import state_in_progress

    folder = Path(world().bcast(tempfile.mkdtemp()))
    noisy = layers(count=1).channel(depolarizing(0.3), [0]).measure([1], [1])
    for wire in range(WIRES):
        noisy.gate("ry", [wire], 0.2 * wire).gate("cz", [wire, (wire + 1) % WIRES])
    chance = noisy.measure([0, WIRES - 1], [0, WIRES - 1]).build()
    for name, circuit, shots, seed in (("a", measured(), 50, 7), ("b", chance, 6, 7), ("c", chance, 6, None)):
        _interrupted(folder / name, circuit, shots, seed)
        assert (folder / name).exists() or (folder / f"{name}.found").exists()
        with patch.object(state_in_progress, "load_into", wraps=state_in_progress.load_into) as restored:
            simulator = Simulator(**divided(checkpoint=folder / name, checkpoint_every=0))
            found = simulator.run(circuit, shots=shots, seed=seed)
        assert restored.called
        alone = Simulator(**ALONE).run(circuit, shots, same(found.seed))
        assert np.array_equal(same(found.packed), alone.packed)
        world().Barrier()
        assert not any(path.name.startswith(name) for path in folder.iterdir())


def _interrupted(path: Path, circuit: Circuit, shots: int, seed: int | None, after: int = 2, **way: Any) -> None:
    """Run with checkpoints, until a rank fails after one of them."""
    kind = CheckpointsOfRanks if world().size > 1 else Checkpoints
    write, count = kind.write_state, 0

    broken = world().size - 1 if world().size < 3 else 1

    def failing(self: Any, *given: Any) -> None:
        nonlocal count
        write(self, *given)
        count += 1
        if world().rank == broken and count == after:
            raise ArithmeticError("a rank is broken")

    kind.write_state = failing  # type: ignore[method-assign]
    try:
        Simulator(**divided(checkpoint=path, checkpoint_every=0, **way)).run(circuit, shots=shots, seed=seed)
    except (ArithmeticError, CommunicationError) as error:
        assert "a rank is broken" in str(error)  # noqa: PT017
    else:
        raise AssertionError("it was not interrupted")
    finally:
        kind.write_state = write  # type: ignore[method-assign]
    world().Barrier()


def over_host() -> None:
    """Parts of ranks in host memory, with windows on one device or two, give all that one process gives."""
    from qsim_ex.run import state_in_progress

    folder = Path(world().bcast(tempfile.mkdtemp()))
    wires = WIRES + 2
    circuit, psi = measured(wires=wires), Simulator(**ALONE).state(layers(wires).build()).to_numpy()
    alone = Simulator(**ALONE).run(circuit, 300, 7)
    ways: tuple[dict[str, Any], ...] = (
        {"device_wires": 5},
        {"device_wires": 4, "virtual_peers": 2},
        {"device_wires": 6, "window_slots": 4},
        {"device_wires": 5, "host_memory": "spread", "in_flight_buffers": 2},
        {"device_wires": 6, "host_memory": "spread", "in_flight_buffers": 1, "window_slots": 4},
    )
    for number, way in enumerate(ways):
        options = divided(**way)
        result = Simulator(**options).run(circuit, 300, 7)
        assert result.placement == "ranks over host"
        assert np.array_equal(same(result.packed), alone.packed)
        assert sum(result.facts["bytes_from_host"]) > 0 or world().rank >= result.facts["processes_used"]
        within = sum(world().allgather(sum(result.facts["bytes_sent_within"].values())))
        assert sum(result.facts["bytes_sent"].values()) + within == result.plan.bytes_peers
        most = 1.5 if "host_memory" in way else 1.2  # these have free places for two windows
        assert result.facts["bytes_held_on_host"] <= most * (16 << wires) / result.facts["processes_used"]
        with Simulator(**options).state(layers(wires).build()) as state:
            assert np.allclose(same(state.to_numpy()), psi, rtol=0, atol=1e-12)
            assert np.isclose(state.expectation(PauliSum((PauliString(3 << wires - 2, 1),))), _xx(psi, wires))
            state.save(folder / f"state{number}")
            with state.clone() as other:
                other.add_wires(2)
                other.gate("h", [wires + 1]).gate("cx", [wires + 1, wires]).gate("cx", [0, wires])
                assert np.isclose(same(other.norm()), 1)
            assert np.array_equal(same(state.sample(20, seed=3)), _alone_sample(psi, wires))
        with StateVector.load(folder / f"state{number}", **options) as state:
            assert np.allclose(same(state.to_numpy()), psi, rtol=0, atol=1e-12)
        noisy = layers(wires, 1).channel(depolarizing(0.3), [0]).measure([1], [1]).gate("ry", [wires - 1], 0.3)
        chance = noisy.gate("cz", [0, wires - 1]).measure([0, wires - 1], [0, wires - 1]).build()
        found = Simulator(**options).run(chance, 6, 5)
        assert np.array_equal(same(found.packed), Simulator(**ALONE).run(chance, 6, 5).packed)
        _interrupted(folder / f"run{number}", circuit, 300, 7, after=1, **way)
        with patch.object(state_in_progress, "load_into", wraps=state_in_progress.load_into) as restored:
            further = ways[number - 1] if number else {}
            run = Simulator(**divided(checkpoint=folder / f"run{number}", **further)).run
            assert np.array_equal(same(run(circuit, 300).packed), alone.packed)
        assert restored.called


def _xx(psi: np.ndarray, wires: int) -> float:
    """<Y-free string> with X on the two highest wires, and Z on wire 0, of a state."""
    index = np.arange(1 << wires)
    return float(np.sum(psi[index ^ 3 << wires - 2].conj() * (-1.0) ** (index & 1) * psi).real)


def _alone_sample(psi: np.ndarray, wires: int) -> np.ndarray:
    with StateVector(wires, initial=psi, **ALONE) as state:
        return state.sample(20, seed=3)


def handed_on() -> None:
    """A saved state and a run's checkpoints of any number of ranks, in `QSIM_EX_TEST_FOLDER`, are read by this one.

    Each number of ranks continues the runs by some steps; the last one, told by `QSIM_EX_TEST_LAST`, ends them.
    """
    folder, last = Path(os.environ["QSIM_EX_TEST_FOLDER"]), "QSIM_EX_TEST_LAST" in os.environ
    noisy = layers(18, 2).channel(depolarizing(0.3), [0]).measure([1], [1])
    chance = noisy.gate("ry", [17], 0.2).gate("cz", [17, 0]).measure([0, 17], [0, 17]).build()
    psi = Simulator(**ALONE).state(layers().build()).to_numpy()
    if (folder / "state").exists():
        with StateVector.load(folder / "state", **divided()) as state:
            assert np.allclose(same(state.to_numpy()), psi, rtol=0, atol=1e-12)
            state.save(folder / "state")
    else:
        with Simulator(**divided()).state(layers().build()) as state:
            state.save(folder / "state")
    few = layers(8, 2)
    for wire in range(8):
        few.channel(depolarizing(0.1), [wire]).gate("ry", [wire], 0.3).gate("cx", [wire, (wire + 1) % 8])
    small = few.measure(range(8), range(8)).build()
    for name, circuit, shots in (("all", measured(wires=18, count=5), 50), ("chance", chance, 3), ("few", small, 40)):
        options = divided(checkpoint=folder / name, checkpoint_every=0)
        if world().size == 1 and name != "all" and not last:
            continue  # one process runs several shots at a time, and has no state in progress
        if not last:
            _interrupted(folder / name, circuit, shots, 7, after=5 if name == "few" else 1)
            assert (folder / name).exists()
            continue
        found = Simulator(**options).run(circuit, shots=shots)
        assert found.seed == 7
        assert np.array_equal(same(found.packed), Simulator(**ALONE).run(circuit, shots, 7).packed)
    world().Barrier()


def jobs() -> None:
    """Jobs of frameworks whose checkpoints are in `QSIM_EX_TEST_FOLDER` are stopped after a run, and go on here.

    The last number of ranks, told by `QSIM_EX_TEST_LAST`, ends them: its results are those of jobs that nobody stopped.
    """
    import cirq
    from qiskit import QuantumCircuit

    from qsim_ex_cirq import QsimExSimulator
    from qsim_ex_provider import QsimExBackend, SamplerV2

    folder, last = Path(os.environ["QSIM_EX_TEST_FOLDER"]), "QSIM_EX_TEST_LAST" in os.environ
    circuits = []
    for wires, turn in ((4, 0.3), (WIRES, 0.4), (WIRES, 0.5), (5, 0.6)):
        one = QuantumCircuit(wires)
        for wire in range(wires):
            one.ry(turn + wire, wire)
            one.cx(wire, (wire + 1) % wires)
        if turn == 0.5:
            one.reset(1)
            one.ry(turn, 1)
        one.measure_all()
        circuits.append(one)
    qubits = cirq.LineQubit.range(6)
    chain = [cirq.CNOT(a, b) ** 0.7 for a, b in pairwise(qubits)]
    programs = [
        cirq.Circuit(cirq.H(qubits[0]), chain[:k], cirq.depolarize(0.1)(qubits[k % 2]), cirq.measure(*qubits, key="m"))
        for k in range(4)
    ]

    def qiskit(seed: int | None, **options: Any) -> list[Any]:
        result = QsimExBackend(**options).run(circuits, shots=50, seed_simulator=seed).result()
        return [result.base_seed, *(result.get_counts(k) for k in range(len(circuits)))]

    def sampler(seed: int | None, **options: Any) -> list[Any]:
        result = SamplerV2(**options, default_shots=40, seed=seed).run(circuits).result()
        return [result.metadata["seed"], *(one.data.meas.get_counts() for one in result)]

    def sweeps(seed: int | None, **options: Any) -> list[Any]:
        simulator = QsimExSimulator(**options, seed=seed)
        return [one.measurements["m"].tolist() for (one,) in simulator.run_batch(programs, repetitions=40)]

    for name, work in (("qiskit", qiskit), ("sampler", sampler), ("sweeps", sweeps)):
        for seed in (5, None):
            path = folder / f"{name}{seed}"
            if not last:
                _stopped(lambda path=path, work=work, seed=seed: work(seed, **divided(checkpoint=path)))
                continue
            found = same(work(seed, **divided(checkpoint=path)))
            if seed is None and name != "sweeps":
                seed = found[0]
            if seed is not None:
                assert found == work(seed, **ALONE), (name, seed)
    world().Barrier()


def _stopped(work: Any) -> None:
    """Run a job until one more of its runs has ended."""
    kind = CheckpointsOfRanks if world().size > 1 else Checkpoints
    end, ended = kind.end, 0

    def failing(self: Any, *given: Any) -> None:
        nonlocal ended
        if not self.found and ended:
            raise ArithmeticError("all are broken")
        ended += not self.found
        end(self, *given)

    kind.end = failing  # type: ignore[method-assign]
    try:
        work()
    except (ArithmeticError, CommunicationError) as error:
        assert "all are broken" in str(error)  # noqa: PT017
    else:
        raise AssertionError("it was not stopped")
    finally:
        kind.end = end  # type: ignore[method-assign]
    world().Barrier()


def missing_files() -> None:
    """A file that one rank does not see, or another one under the same name, is an error on all ranks, by name."""
    folder = Path(tempfile.mkdtemp())  # one for each rank
    try:
        if world().rank != 1:
            with StateVector(WIRES, **ALONE) as state:
                state.gate("h", [0]).save(folder / "state")
        _refused(lambda: StateVector.load(folder / "state", **divided()), r"rank 1.*cannot be read: No such file")
        with StateVector(WIRES, **ALONE) as state:
            state.gate("x" if world().rank == 1 else "h", [0]).save(folder / "state")
        _refused(lambda: StateVector.load(folder / "state", **divided()), r"expected the same file.*rank 1")
        os.chdir(folder)
        run = Simulator(**divided(checkpoint="state")).run
        _refused(lambda: run(measured(), shots=5, seed=1), "which is a saved state")
        same(Simulator(**divided()).run(measured(), shots=5, seed=1).packed)
    finally:
        shutil.rmtree(folder)


def _refused(work: Any, words: str) -> None:
    """Assert that an error with these words comes on every rank."""
    from qsim_ex.errors import SavedStateError

    try:
        work()
    except (SavedStateError, CommunicationError) as error:
        assert re.search(words, str(error)), error  # noqa: PT017
    else:
        raise AssertionError(words)
    world().allgather(None)


def gpus() -> None:
    """Ranks map the memory of each other's GPUs, or copy through the host; the shots are those of one process."""
    from qsim_ex.devices.discover import gpu_count
    from qsim_ex.devices.gpu.device import GpuDevice
    from qsim_ex.errors import DeviceError
    from qsim_ex.placement.exchange import between_ranks

    wires, double = 22, {"device": "gpu", "precision": "double"}
    circuit = measured(wires=wires)
    alone = Simulator(**double, processes="never").run(circuit, 300, 7)
    options = {**double, "processes": world().size}
    result = Simulator(**options).run(circuit, 300, 7)
    assert np.array_equal(same(result.packed), alone.packed)
    assert same(result.facts["device_memory"]).startswith("mapped by f"), result.facts["device_memory"]
    assert [layer["link"] for layer in result.facts["layers"]] == ["mapped"]
    assert result.facts["bytes_held"] <= 1.1 * (16 << wires) / world().size
    with patch.object(between_ranks, "SharesMemory", type(None)):
        result = Simulator(**options).run(circuit, 300, 7)
    assert np.array_equal(same(result.packed), alone.packed)
    assert "device_memory" not in result.facts
    with patch.object(GpuDevice, "map_shared", side_effect=DeviceError("as on another host")):
        larger = measured(wires=wires + 1)
        result = Simulator(**options).run(larger, 300, 7)
    assert np.array_equal(same(result.packed), Simulator(**double, processes="never").run(larger, 300, 7).packed)
    words = "otherwise by NCCL 2" if gpu_count() >= world().size else "share a GPU, which NCCL refuses"
    assert words in same(result.facts["device_memory"]), result.facts["device_memory"]


def gpu_memory() -> None:
    """A rank holds its part of the state in its GPU and a tenth more, as the driver counts, and gives it back."""
    import cupy

    from qsim_ex.placement.exchange import mapped

    wires, size = 28, world().size
    Simulator(**divided()).run(measured(), shots=5, seed=1)  # all code is loaded

    def free() -> int:
        world().Barrier()
        found = cupy.cuda.runtime.memGetInfo()[0]
        world().Barrier()
        return found

    device = cupy.cuda.runtime.deviceGetPCIBusId(cupy.cuda.Device().id)
    share = (8 << wires) // size * world().allgather(device).count(device)
    single = Simulator(**divided(precision="single"))

    def taken_and_kept() -> tuple[int, int]:
        before = free()
        with patch.object(mapped, "KEPT_SHARE", 1 << 30), single.state(measured(wires=wires, count=1)) as state:
            state.norm()
            taken = before - free()
        return taken, before - free()

    # Other tests may take memory of this GPU meanwhile, so the least of some is what these processes took.
    taken, kept = map(min, zip(*(taken_and_kept() for _ in range(5)), strict=True))
    assert taken <= 1.1 * share + (64 << 20), (taken, share)
    assert kept <= 64 << 20, kept


if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        globals()[chosen]()
    sys.stdout.write(f"rank {world().rank}: done\n")
