"""Runs of every kind on few wires: each returns the numbers that it finds, and what they are by definition.

They pass through native code in every way: plans for one device and for several levels, programs and launches of GPUs,
batches, noise, readers of frameworks, shots, and questions to a state.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import cirq
import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.quantum_info import Statevector, random_unitary
from support import literal_executor as literal
from support.cuda.emulated_runtime import EmulatedRuntime
from support.deployments import ON_CPU

from qsim_ex import CircuitBuilder, PauliString, PauliSum, Simulator, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.digest import digest_of
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.ops import Op
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.execution.prepare import prepare
from qsim_ex.kernels.cpu.narrow_density import probabilities
from qsim_ex.observe import sampling
from qsim_ex.placement import index_bits
from qsim_ex.placement.single import Single
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.cut import cut
from qsim_ex.planning.planner import make_plan
from qsim_ex.planning.resumed import operands_of, resumed
from qsim_ex.run.density_table import table_of
from qsim_ex.run.methods import trajectories
from qsim_ex.steps import Layout, Levels, Plan, Shape
from qsim_ex.steps.compiled import key_of
from qsim_ex.steps.step import Sweep
from qsim_ex_cirq.translation.circuits import translate
from qsim_ex_provider.translation.circuits import translate_noisy

Found = np.ndarray
SMALL = Shape(tile=5, registers=4, low=2, edge=2, most_blocks=None, dense=3, start=5)
"""Tiles of five bits, so that states of few wires take several sweeps."""

N = 7
XX = PauliString(0b100001, 0)


def drawn(seed: int, gates: int = 25, n: int = N) -> Circuit:
    """Rotations, phases, CX and dense matrices on drawn wires."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(n)
    for _ in range(gates):
        one, other, third = rng.permutation(n)[:3].tolist()
        match int(rng.integers(5)):
            case 0:
                builder.gate("u", [one], *rng.uniform(-3, 3, 3))
            case 1:
                builder.gate("cp", [one, other], rng.uniform(-3, 3))
            case 2:
                builder.gate("rzz", [one, other], rng.uniform(-3, 3)).gate("h", [third])
            case 3:
                builder.gate("cx", [one, other]).gate("sx", [third])
            case _:
                builder.unitary(np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0], [one, other])
    return builder.build()


@cache
def defined(seed: int, gates: int, n: int = N) -> Found:
    """The state that drawn gates make of |0…0⟩."""
    return reference.simulate(drawn(seed, gates, n))


def planned(circuit: Circuit, levels: Levels | None = None) -> Plan:
    """The plan of a circuit from |0…0⟩."""
    n = circuit.num_qubits
    return make_plan(circuit.instructions, n, Layout.identity(n), SMALL, (1 << n) - 1, levels, place=True)


def run_on_the_cpu() -> tuple[Found, Found]:
    """A state on one device, with sums over it."""
    with Simulator(device="cpu", precision="double", threads=1).state(drawn(0, 10)) as state:
        found, marginal, value = state.to_numpy(), state.probabilities([1, 4]), state.expectation(PauliSum((XX,)))
    wanted = defined(0, 10)
    shares = (np.abs(wanted.reshape((2,) * N)) ** 2).sum(axis=(0, 1, 3, 4, 6)).reshape(-1)
    return np.concatenate([found, marginal, [value]]), np.concatenate(
        [wanted, shares, [np.vdot(wanted[np.arange(1 << N) ^ XX.x], wanted)]]
    )


def planned_on(levels: Levels) -> tuple[Found, Found]:
    """A plan on several levels, to the letter."""
    circuit = drawn(1, 8)
    plan = planned(circuit, levels)
    return literal.after(plan, circuit, reference.zero_state(N)), defined(1, 8)


def run_on(row: str) -> tuple[Found, Found]:
    """A state on several devices, or in host memory."""
    with Simulator(precision="double", threads=1, **ON_CPU[row].options).state(drawn(2, 6, n=8)) as state:
        return state.to_numpy(), defined(2, 6, 8)


def run_a_batch() -> tuple[Found, Found]:
    """Several bindings of one structure, with expectation values."""
    circuits = [CircuitBuilder(3).gate("ry", [0], angle).gate("cx", [0, 2]).build() for angle in (0.1, 0.7, 2.0)]
    operands = np.stack([circuit.operands[0] for circuit in circuits])
    observable = PauliSum((PauliString(0, 0b101, 0.5), PauliString(0, 1, 2.0)))
    simulator = Simulator(device="cpu", precision="double", threads=1)
    found = simulator.run_batch(circuits[0], operands, observables=[observable]).values
    return np.ravel(found), np.array([0.5 + 2 * np.cos(angle) for angle in (0.1, 0.7, 2.0)])


def noisy() -> Circuit:
    """A circuit with channels, measured and read again."""
    builder = CircuitBuilder(3, 3).gate("h", [0]).channel(noise.depolarizing(0.3), [0]).gate("cx", [0, 1])
    builder.channel(noise.amplitude_damping(0.3), [1]).gate("ry", [2], 0.4).channel(noise.depolarizing(0.2, 2), [1, 2])
    return builder.measure([0, 1, 2], [0, 1, 2]).build()


def run_trajectories(threads: int = 1) -> tuple[Found, Found]:
    """Compiled trajectories; the general way, which the definition is too slow for, has the same shots."""
    found = Simulator(device="cpu", precision="double", threads=threads).run_batch(noisy(), **ASKED)
    assert found.facts["way"] == "compiled trajectories"
    return found.packed.ravel(), in_the_general_way()


ASKED: dict[str, Any] = {"shots": 100, "seeds": 5, "trajectories": 100}


@cache
def in_the_general_way() -> Found:
    """The shots of the noisy circuit, without compiled trajectories."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trajectories, "_enabled", False)
        return Simulator(device="cpu", precision="double", threads=1).run_batch(noisy(), **ASKED).packed.ravel()


def run_density() -> tuple[Found, Found]:
    """The density matrix of few wires."""
    circuit = noisy()
    table = table_of(circuit.structure)
    assert table is not None
    transfers, at = table.transfers(circuit.operands)
    found = probabilities(len(table.wires), table.ops, table.steps, table.forms, circuit.operands, transfers, at)
    return found[0], reference.density_matrix(circuit).diagonal().real


def run_on_a_gpu() -> tuple[Found, Found]:
    """A first run on an emulated GPU: programs, launches and tables are native code's."""
    circuit, device = drawn(3, 15), GpuDevice.on(EmulatedRuntime(32_764))
    plan = planned(circuit)
    work = prepare(plan, circuit.operands, (device,), np.dtype(np.complex128), "never")
    fresh = (1 << N) - 1
    state = Single(device, device.allocate(1 << N, np.dtype(np.complex128)), plan.start, fresh, begun=False)
    state.run(plan, work, lambda: None)
    return state.read(0, 1 << N, range(N)), defined(3, 15)


def resume() -> tuple[Found, Found]:
    """The rest of a plan, planned anew for other levels."""
    circuit = drawn(4, 10)
    plan, buffer = planned(circuit), reference.zero_state(N)
    for part in cut(plan)[:1]:
        buffer = literal.run(part, bind(part, circuit.operands), buffer, whole=False)
    rest = resumed(plan, 1, Levels(N - 1, 1, 1), SMALL)
    for part in cut(rest):
        buffer = literal.run(part, bind(part, operands_of(plan, circuit.operands)), buffer, whole=False)
    return literal.in_order(buffer, rest.end), defined(4, 10)


def read_qiskit() -> tuple[Found, Found]:
    """A circuit of Qiskit, read through its C interface."""
    circuit = QuantumCircuit(4)
    for k in range(3):
        circuit.ry(0.3 + k, k)
        circuit.cx(k, k + 1)
        circuit.ccx(k, (k + 1) % 4, (k + 2) % 4)
        circuit.unitary(random_unitary(4, seed=k), [k, k + 1])
    circuit.append(circuit.to_gate(label="all of it"), range(4))
    found = reference.simulate(translate_noisy(circuit, None).circuit)
    return found, Statevector(circuit).data


def read_cirq() -> tuple[Found, Found]:
    """A circuit of Cirq, read from its operations."""
    qubits = cirq.LineQubit.range(4)
    layers = [[cirq.ry(0.3 + k).on(qubits[k]), cirq.CNOT(qubits[k], qubits[k + 1])] for k in range(3)]
    circuit = cirq.Circuit(layers, cirq.CZ(qubits[0], qubits[3]), cirq.T(qubits[1]))
    found = reference.simulate(translate(circuit, qubit_order=qubits[::-1]).circuit)
    return found, circuit.final_state_vector(qubit_order=qubits[::-1], dtype=np.complex128)


def draw_shots() -> tuple[Found, Found]:
    """Shots, counted, which are all basis states of a GHZ state."""
    builder = CircuitBuilder(N, N).gate("h", [0])
    for k in range(N - 1):
        builder.gate("cx", [k, k + 1])
    circuit = builder.measure(range(N), range(N)).build()
    counts = Simulator(device="cpu", threads=1).run(circuit, shots=400, seed=3).counts()
    return np.array([sum(counts.values()), *sorted(set(counts))], dtype=object), np.array([400, 0, 127], dtype=object)


def ask_a_state() -> tuple[Found, Found]:
    """Sums between states, many Pauli strings, and a search, as devices are asked for them."""
    psi, other = (reference.simulate(drawn(seed, n=13)) for seed in (5, 6))
    device, shares, every = CpuDevice(threads=1), np.abs(psi) ** 2, np.arange(1 << 13)
    strings = device.pauli(psi, 13, 3, [0, 5])
    first = device.search(psi, range(13), *(np.array(row) for row in ([0], [0, 1])), np.array([shares[:9].sum()]))
    inner = device.inner(psi, other)
    few = reference.simulate(drawn(5))
    strings = np.append(strings, device.pauli(few, N, 1, [0]))
    signs = [1 - 2 * (np.bitwise_count(every & z) % 2) for z in (0, 5)]
    wanted = [np.vdot(psi[every ^ 3], sign * psi) for sign in signs]
    wanted.append(np.vdot(few[np.arange(1 << N) ^ 1], few))
    return np.array([*strings, *first, inner]), np.array([*wanted, 9, np.vdot(psi, other)])


def put_in_order() -> tuple[Found, Found]:
    """Random numbers in ascending order, and how often each value comes."""
    numbers = np.random.default_rng(0).random(300)
    values = (numbers * 10).astype(np.int64)
    found = [*sampling.ascending(numbers), *(index_bits.tallied(values)[k] for k in range(10))]
    return np.array(found), np.array([*numbers.argsort(kind="stable"), *np.bincount(values)])


def name_and_copy() -> tuple[Found, Found]:
    """The key of a circuit, and sweeps that Python has copied, whose kernels are compared and encoded."""
    circuit = drawn(7, 8)
    digest_of(circuit.instructions, Op)
    plan = planned(circuit)
    assert len({key_of(step) for step in plan.steps if isinstance(step, Sweep)}) > 1
    copied, device, psi = copy.deepcopy(plan), CpuDevice(threads=1), reference.zero_state(N)
    prepared = device.prepare(copied.steps, N, np.complex128)
    for step, numbers in zip(copied.steps, bind(copied, circuit.operands), strict=True):
        device.run(psi, N, step, numbers, prepared)
    return literal.in_order(psi, copied.end), defined(7, 8)


RUNS: dict[str, Callable[[], tuple[Found, Found]]] = {
    "a run on the CPU": run_on_the_cpu,
    "a plan for peers": lambda: planned_on(Levels(5, 1, 1)),
    "a plan for host memory": lambda: planned_on(Levels(4, 0, 2)),
    "a run in host memory": lambda: run_on("migrated, 3 windows"),
    "a run on several devices": lambda: run_on("peers over host"),
    "a batch": run_a_batch,
    "trajectories": run_trajectories,
    "trajectories on threads": lambda: run_trajectories(threads=3),
    "a narrow density matrix": run_density,
    "a first run on a GPU": run_on_a_gpu,
    "a resumed plan": resume,
    "a circuit of Qiskit": read_qiskit,
    "a circuit of Cirq": read_cirq,
    "shots": draw_shots,
    "numbers in order": put_in_order,
    "questions to a state": ask_a_state,
    "copied sweeps": name_and_copy,
}
