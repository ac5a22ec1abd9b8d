"""Every way into the engine: how each is called, and what is seen of what comes back.

An `Entry` is a method with the options of whatever it belongs to. `Seen` is what any of them gives: the numbers that
were found, and where and how the engine says that it found them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache, partial
from typing import Any
from unittest import mock

import cirq
import numpy as np
import sympy
from qiskit.circuit import Parameter, QuantumCircuit

from qsim_ex import BatchedStateVector, Circuit, CircuitBuilder, Options, PauliString, PauliSum, Simulator, StateVector
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import EstimatorV2, QsimExBackend, QsimExProvider, SamplerV2
from qsim_ex_provider.options import KNOWN

WIRES, SHOTS = 6, 40

ENGINE = tuple(one.name for one in fields(Options))
CIRQ = ("dtype", "noise", "seed", "split_untangled_states", "trajectories")


# --- circuits: layers that mix all wires, the same in each framework's words -----------------------------------------


@cache
def circuit(measured: bool = True, midway: bool = False, turn: float = 0.3) -> Circuit:
    """In the engine's words; midway: a wire is measured on the way, so that something is left to chance."""
    builder = CircuitBuilder(WIRES, WIRES)
    for layer in range(3):
        for wire in range(WIRES):
            builder.gate("ry", [wire], turn + wire).gate("cx", [wire, (wire + 1 + layer) % WIRES])
        if midway and layer == 1:
            builder.measure([0], [0])
    return (builder.measure(range(WIRES), range(WIRES)) if measured else builder).build()


@cache
def for_qiskit(measured: bool = True, midway: bool = False, turn: Any = 0.3) -> QuantumCircuit:
    """In Qiskit's words; `turn` may be the name of a parameter."""
    made = QuantumCircuit(WIRES, WIRES)
    angle: Any = Parameter(turn) if isinstance(turn, str) else turn
    for layer in range(3):
        for wire in range(WIRES):
            made.ry(angle + wire, wire)
            made.cx(wire, (wire + 1 + layer) % WIRES)
        if midway and layer == 1:
            made.measure(0, 0)
    if measured:
        made.measure(range(WIRES), range(WIRES))
    return made


QUBITS = cirq.LineQubit.range(WIRES)


@cache
def for_cirq(measured: bool = True, midway: bool = False, turn: Any = 0.3) -> cirq.Circuit:
    """In Cirq's words; `turn` may be the name of a symbol."""
    made = cirq.Circuit()
    angle: Any = sympy.Symbol(turn) if isinstance(turn, str) else turn
    for layer in range(3):
        for k, qubit in enumerate(QUBITS):
            made += [cirq.ry(angle + k).on(qubit), cirq.CNOT(qubit, QUBITS[(k + 1 + layer) % WIRES])]
        if midway and layer == 1:
            made += cirq.measure(QUBITS[0], key="midway")
    return made + cirq.measure(*QUBITS, key="end") if measured else made


OBSERVABLE = PauliSum((PauliString.parse("ZX", [0, 3]),))
CIRQ_OBSERVABLE = cirq.Z(QUBITS[0]) * cirq.X(QUBITS[3])
QISKIT_OBSERVABLE = "IIXIIZ"


# --- what comes back -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """found: the numbers that came back, as an array. says: where and how, for each run that the engine did."""

    found: np.ndarray
    says: tuple[Mapping[str, Any], ...]

    @property
    def where(self) -> Mapping[str, Any]:
        """Return the engine's report of its last run."""
        return self.says[-1]


def of_result(result: Any) -> dict[str, Any]:
    """Return the report of a result."""
    return {
        "device": result.device,
        "description": result.device_description,
        "precision": result.precision,
        "placement": result.placement,
        **result.deployment.to_json(),
    }


def of_state(state: Any) -> dict[str, Any]:
    """Return the report of a state."""
    where = state.where
    return {
        "device": where.device.name,
        "description": where.device.description,
        "precision": "single" if state.dtype == np.complex64 else "double",
        "placement": where.deployment.kind,
        **where.deployment.to_json(),
    }


@contextmanager
def listening() -> Iterator[list[dict[str, Any]]]:
    """The engine's reports of all runs while the context lasts, on any thread."""
    said: list[dict[str, Any]] = []
    with mock.patch.multiple(Simulator, **{name: _told(name, said) for name in ("run", "run_batch", "state")}):
        yield said


def _told(name: str, said: list[dict[str, Any]]) -> Any:
    asked = getattr(Simulator, name)

    def ask(*given: Any, **named: Any) -> Any:
        found = asked(*given, **named)
        said.append(of_state(found) if isinstance(found, StateVector) else of_result(found))
        return found

    return ask


def numbers(found: Any) -> np.ndarray:
    """Return the result of any of the methods, as one array."""
    match found:
        case np.ndarray():
            return found
        case StateVector() | BatchedStateVector():
            with found as state:
                return state.to_numpy()
        case cirq.Result():
            return np.concatenate([found.records[key].reshape(-1) for key in sorted(found.records)])
        case cirq.SimulationTrialResult():
            return np.asarray(found.final_state_vector)
        case str():
            return np.frombuffer(found.encode(), dtype=np.uint8)
        case cirq.SparseSimulatorStep():
            return found.state_vector(copy=True)
        case dict():
            return np.array(sorted(found.items()))
        case _ if hasattr(found, "packed"):
            values = getattr(found, "values", None)
            return np.asarray(values if found.packed is None else found.packed)
        case _ if hasattr(found, "to_numpy"):  # a table of Cirq's `sample`
            return np.asarray(found.to_numpy())
        case _ if hasattr(found, "__iter__"):
            return np.concatenate([numbers(one).reshape(-1) for one in found])
        case _:
            return np.asarray(found)


# --- ways in ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """One way in.

    of: makes what the method belongs to from options, by name, and returns the method. usual: how it is called where
    nothing else is said. takes: its options. chance: how it is called where the answer depends on the seed.
    draw: makes of what comes back numbers that depend on the seed. read: makes numbers of what comes back.
    windows: options with which it takes many steps. runs: something is computed; otherwise it is only planned.
    """

    name: str
    of: Callable[[dict[str, Any]], Callable[..., Any]]
    usual: Mapping[str, Any]
    takes: tuple[str, ...] = ENGINE
    chance: Mapping[str, Any] = field(default_factory=dict)
    draw: Callable[[Any], np.ndarray] | None = None
    read: Callable[[Any], np.ndarray] = numbers
    windows: Mapping[str, Any] = field(default_factory=lambda: {"device": "cpu", "device_wires": 4})
    runs: bool = True

    def __str__(self) -> str:
        """For the names of tests."""
        return self.name

    def call(self, options: Mapping[str, Any], **changes: Any) -> Seen:
        """Call it with some options and, where they are named, other parameters."""
        with listening() as said:
            found = self.of(dict(options))(**{**self.usual, **changes})
            if isinstance(found, StateVector | BatchedStateVector):
                said.append(of_state(found))
            return Seen(self.read(found), tuple(said))

    def by_chance(self, options: Mapping[str, Any]) -> np.ndarray:
        """Call it so that the answer depends on the seed."""
        if self.draw is None:
            return self.call(options, **self.chance).found
        return self.draw(self.of(dict(options))(**self.usual))


def _qiskit(result: Any) -> np.ndarray:
    """The shots and states of a result of Qiskit."""
    found = [np.frombuffer(" ".join(result.get_memory(k)).encode(), dtype=np.uint8) for k in range(len(result.results))]
    return np.concatenate(found)


def _backend_run(options: dict[str, Any], **given: Any) -> np.ndarray:
    return _qiskit(QsimExBackend().run(given.pop("run_input"), **{"memory": True, **options}, **given).result())


def _backend_made(options: dict[str, Any], **given: Any) -> np.ndarray:
    return _qiskit(QsimExBackend(**{"memory": True, **options}).run(**given).result())


def _backend_set(options: dict[str, Any], **given: Any) -> np.ndarray:
    backend = QsimExBackend()
    backend.set_options(**{"memory": True, **options})
    return _qiskit(backend.run(**given).result())


def _provided(options: dict[str, Any], **given: Any) -> np.ndarray:
    return _qiskit(QsimExProvider(**{"memory": True, **options}).get_backend().run(**given).result())


def _of(owner: Any, method: str) -> Callable[[dict[str, Any]], Callable[..., Any]]:
    return lambda options: getattr(owner(**options), method)


def _with(function: Callable[..., Any]) -> Callable[[dict[str, Any]], Callable[..., Any]]:
    return lambda options: partial(function, options)


def _applied(options: dict[str, Any]) -> Callable[..., Any]:
    return StateVector(WIRES, **options).apply


def _applied_to_many(options: dict[str, Any]) -> Callable[..., Any]:
    return BatchedStateVector(3, WIRES, **options).apply


def _drawn(state: StateVector | BatchedStateVector) -> np.ndarray:
    with state:
        return np.asarray(state.draw(SHOTS))


def _sampled(result: Any) -> np.ndarray:
    return np.concatenate([one.data.c.array.reshape(-1) for one in result.result()])


def _estimated(result: Any) -> np.ndarray:
    return np.concatenate([np.stack([one.data.evs, one.data.stds]).reshape(-1) for one in result.result()])


def _cirq(method: str, *, wait: bool = False) -> Callable[[dict[str, Any]], Callable[..., Any]]:
    def made(options: dict[str, Any]) -> Callable[..., Any]:
        bound = getattr(QsimExSimulator(**options), method)
        return (lambda **given: asyncio.run(bound(**given))) if wait else bound

    return made


BITS = [0, 5, 21]
POINTS = [{"turn": 0.3}, {"turn": 0.8}]
ENGINE_RUNS = (
    Entry("Simulator.run", _of(Simulator, "run"), {"circuit": circuit(), "shots": SHOTS}),
    Entry(
        "Simulator.run_batch",
        _of(Simulator, "run_batch"),
        {"circuit": circuit(), "bindings": np.repeat(circuit().operands, 3, axis=0), "shots": SHOTS},
    ),
    Entry("Simulator.state", _of(Simulator, "state"), {"circuit": circuit(measured=False)}, draw=_drawn),
    Entry("StateVector.apply", _applied, {"circuit": circuit(measured=False)}, draw=_drawn),
    Entry(
        "BatchedStateVector.apply",
        _applied_to_many,
        {"circuit": circuit(measured=False)},
        draw=_drawn,
        windows={"device": "cpu"},  # a batch is never divided
    ),
)
_PLANNED: dict[str, dict[str, Any]] = {
    "explain": {"circuit": circuit()},
    "plans": {"circuit": circuit()},
    "summary": {"circuit": circuit()},
    "placement": {"num_wires": WIRES},
}
PLANS = tuple(
    Entry(f"Simulator.{name}", _of(Simulator, name), usual, read=lambda one: numbers(str(one)), runs=False)
    for name, usual in _PLANNED.items()
)
_BACKEND = {"takes": KNOWN, "read": np.asarray}
QISKIT = (
    Entry("QsimExBackend.run", _with(_backend_run), {"run_input": for_qiskit()}, **_BACKEND),
    Entry("QsimExBackend(...)", _with(_backend_made), {"run_input": for_qiskit()}, **_BACKEND),
    Entry("QsimExBackend.set_options", _with(_backend_set), {"run_input": for_qiskit()}, **_BACKEND),
    Entry("QsimExProvider(...)", _with(_provided), {"run_input": for_qiskit()}, **_BACKEND),
    Entry(
        "SamplerV2.run",
        _of(SamplerV2, "run"),
        {"pubs": [for_qiskit()]},
        takes=(*ENGINE, "default_shots", "noise_model"),
        read=_sampled,
    ),
    Entry(
        "EstimatorV2.run",
        _of(EstimatorV2, "run"),
        {"pubs": [(for_qiskit(measured=False), QISKIT_OBSERVABLE)]},
        takes=(*ENGINE, "default_precision", "noise_model", "trajectories"),
        chance={"pubs": [(for_qiskit(midway=True), QISKIT_OBSERVABLE)]},
        read=_estimated,
    ),
)
_SAMPLES = {"program": for_cirq(), "repetitions": SHOTS}
_STATES = {"program": for_cirq(measured=False)}
_VALUES = {**_STATES, "observables": CIRQ_OBSERVABLE}
_CHANCE = {"program": for_cirq(measured=False, midway=True)}
_SWEPT = {"params": POINTS, "program": for_cirq(measured=False, turn="turn")}
_CALLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "run": (_SAMPLES, {}),
    "run_async": (_SAMPLES, {}),
    "run_sweep": ({**_SAMPLES, "program": for_cirq(turn="turn"), "params": POINTS}, {}),
    "run_sweep_async": ({**_SAMPLES, "program": for_cirq(turn="turn"), "params": POINTS}, {}),
    "run_sweep_iter": ({**_SAMPLES, "program": for_cirq(turn="turn"), "params": POINTS}, {}),
    "run_batch": ({"programs": [for_cirq(), for_cirq(midway=True)], "repetitions": SHOTS}, {}),
    "run_batch_async": ({"programs": [for_cirq(), for_cirq(midway=True)], "repetitions": SHOTS}, {}),
    "sample": ({**_SAMPLES, "program": for_cirq(turn="turn"), "params": POINTS}, {}),
    "sample_expectation_values": (
        {"program": for_cirq(measured=False), "observables": CIRQ_OBSERVABLE, "num_samples": 50 * SHOTS},
        {},
    ),
    "sample_from_amplitudes": ({"circuit": for_cirq(measured=False), "param_resolver": None, "seed": 3}, {}),
    "simulate": (_STATES, _CHANCE),
    "state": (_STATES, {}),
    "simulate_sweep": (_SWEPT, {**_CHANCE, "params": None}),
    "simulate_sweep_iter": (_SWEPT, {**_CHANCE, "params": None}),
    "simulate_into_1d_array": (_STATES, _CHANCE),
    "simulate_moment_steps": (
        {"circuit": for_cirq(measured=False)},
        {"circuit": for_cirq(measured=False, midway=True)},
    ),
    "compute_amplitudes": ({**_STATES, "bitstrings": BITS}, _CHANCE),
    "compute_amplitudes_sweep": ({**_SWEPT, "bitstrings": BITS}, {**_CHANCE, "params": None}),
    "compute_amplitudes_sweep_iter": ({**_SWEPT, "bitstrings": BITS}, {**_CHANCE, "params": None}),
    "simulate_expectation_values": (_VALUES, _CHANCE),
    "simulate_expectation_values_sweep": ({**_VALUES, **_SWEPT}, {**_CHANCE, "params": None}),
    "simulate_expectation_values_sweep_iter": ({**_VALUES, **_SWEPT}, {**_CHANCE, "params": None}),
    "simulate_expectation_estimates_sweep": ({**_VALUES, **_SWEPT}, {**_CHANCE, "params": None}),
}
"""How each method of `QsimExSimulator` is called, and what is different where it is to depend on the seed."""


def cirq_numbers(method: str) -> Callable[[Any], np.ndarray]:
    """How what a method of `QsimExSimulator` gives is made numbers."""
    match method:
        case "simulate_into_1d_array":
            return lambda found: found[1]
        case "simulate_expectation_estimates_sweep":
            return lambda found: np.array([one.values + one.errors for one in found]).reshape(-1)
        case _:
            return numbers


CIRQ_METHODS = tuple(
    Entry(
        f"QsimExSimulator.{method}",
        _cirq(method, wait=method.endswith("_async")),
        usual,
        takes=(*CIRQ, *(name for name in ENGINE if name not in ("precision", "seed"))),
        chance=chance,
        draw=_drawn if method == "state" else None,
        read=cirq_numbers(method),
    )
    for method, (usual, chance) in _CALLS.items()
)

ENTRIES = (*ENGINE_RUNS, *PLANS, *QISKIT, *CIRQ_METHODS)
