"""Errors that users must get instead of surprises, at every way in: the engine, Qiskit's, and Cirq's.

Each line is a mistake; it is made at every entry point where it can be made. Some of Qiskit's and Cirq's own classes
find the mistake first, and then the error is theirs.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from qiskit.circuit import Gate, Parameter, QuantumCircuit
from qiskit.circuit.exceptions import CircuitError as QiskitCircuitError
from qiskit.circuit.library import Initialize, UnitaryGate
from qiskit.exceptions import QiskitError
from support.gpus import gpu_missing
from support.held import Hold

from qsim_ex import Bindings, CircuitBuilder, Simulator, StateVector, errors
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2, save_statevector

CPU = Simulator(device="cpu")
BACKEND = QsimExBackend(device="cpu")
SAMPLER, ESTIMATOR = SamplerV2(device="cpu"), EstimatorV2(device="cpu")
CIRQ = QsimExSimulator(device="cpu")
A, B, C = cirq.LineQubit.range(3)


# --- circuits with one mistake in them -------------------------------------------------------------------------------


def engine(change: Callable[[CircuitBuilder], Any] = lambda _: None, wires: int = 2, measured: bool = True) -> Any:
    """A circuit of the engine."""
    builder = CircuitBuilder(wires, wires).gate("h", [0])
    change(builder)
    return (builder.measure(range(wires), range(wires)) if measured else builder).build()


def qiskit(change: Callable[[QuantumCircuit], Any] = lambda _: None, qubits: int = 2, measured: bool = True) -> Any:
    """A circuit of Qiskit's called "given"."""
    circuit = QuantumCircuit(qubits, qubits, name="given")
    circuit.h(0)
    change(circuit)
    if measured:
        circuit.measure(range(qubits), range(qubits))
    return circuit


def of_cirq(*operations: cirq.Operation, measured: bool = True) -> cirq.Circuit:
    """A circuit of Cirq's."""
    circuit = cirq.Circuit(cirq.H(A), *operations)
    return circuit + cirq.measure(A, key="end") if measured else circuit


def sampled(circuit: QuantumCircuit, **options: Any) -> Any:
    """The result of the sampler."""
    return SamplerV2(**{"device": "cpu", **options}).run([circuit]).result()


def estimated(circuit: QuantumCircuit, **options: Any) -> Any:
    """The result of the estimator for Z on every qubit."""
    pub = (circuit, "Z" * circuit.num_qubits)
    return EstimatorV2(**{"device": "cpu", **options}).run([pub]).result()


def with_unbound(circuit: QuantumCircuit) -> None:
    """Two parameters without values."""
    circuit.rx(Parameter("theta"), 0)
    circuit.ry(Parameter("alpha"), 0)


def with_opaque(circuit: QuantumCircuit) -> None:
    """A gate without a definition."""
    circuit.append(Gate("unheard_of", 2, []), [1, 0])


def chain(circuit: QuantumCircuit) -> None:
    """All qubits are entangled with one another."""
    for qubit in range(1, circuit.num_qubits):
        circuit.cx(0, qubit)
        circuit.rx(0.1, qubit)


def engine_chain(builder: CircuitBuilder) -> None:
    """All wires are entangled with one another."""
    for wire in range(1, builder.num_qubits):
        builder.gate("cx", [0, wire]).gate("rx", [wire], 0.1)


WIDE_LINE = cirq.LineQubit.range(60)
WIDE_CIRQ = cirq.Circuit(
    cirq.H(WIDE_LINE[0]),
    ([cirq.CNOT(WIDE_LINE[0], one), cirq.rx(0.1)(one)] for one in WIDE_LINE[1:]),
    cirq.measure(*WIDE_LINE, key="end"),
)


class Opaque(cirq.Gate):
    """A gate of Cirq's with neither a matrix nor a decomposition."""

    def _num_qubits_(self) -> int:
        return 1


class Says(cirq.Gate):
    """A gate of Cirq's on one qubit that says it has this matrix."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = np.asarray(matrix)

    def _num_qubits_(self) -> int:
        return 1

    def _unitary_(self) -> Any:
        return self.matrix


MATRICES: dict[str, tuple[Any, str]] = {
    "not square": ([[1, 0, 0], [0, 1, 0]], "square"),
    "not a power of two": (np.eye(3), "power of two|rows for 1 wires"),
    "not unitary": ([[1, 1], [0, 1]], "a unitary matrix"),
    "NaN": ([[np.nan, 0], [0, 1]], "NaN|finite"),
    "infinity": ([[np.inf, 0], [0, 1]], "infinity|finite"),
}


@dataclass(frozen=True)
class Mistake:
    """make: makes the mistake. error, words: the error, and what it says."""

    make: Callable[[], Any]
    error: type[Exception] | tuple[type[Exception], ...]
    words: str


def whole(name: str) -> str:
    """What the error says of a number that is none, by the name under which it was given."""
    return f"expected {name} to be a whole number >= 1, got .*; pass {name}=1000"


def shots(value: Any) -> dict[str, Mistake]:
    """A number of shots that is none."""
    words = whole("shots")
    return {
        "Simulator.run": Mistake(lambda: CPU.run(engine(), shots=value), errors.ShotsError, words),
        "Simulator.run_batch": Mistake(lambda: CPU.run_batch(engine(), shots=value), errors.ShotsError, words),
        "QsimExBackend.run": Mistake(lambda: BACKEND.run(qiskit(), shots=value), errors.ShotsError, words),
        "QsimExBackend": Mistake(lambda: QsimExBackend(shots=value), errors.ShotsError, words),
        "SamplerV2": Mistake(lambda: SamplerV2(default_shots=value), errors.ShotsError, whole("default_shots")),
        "SamplerV2.run": Mistake(lambda: SAMPLER.run([qiskit()], shots=value), errors.ShotsError, words),
        "PUB": Mistake(lambda: SAMPLER.run([(qiskit(), None, value)]), errors.ShotsError, words),
        "EstimatorV2": Mistake(lambda: EstimatorV2(trajectories=value), errors.ShotsError, whole("trajectories")),
    }


def repetitions(value: Any) -> dict[str, Mistake]:
    """A number of repetitions that is none."""
    return {
        "QsimExSimulator.run": Mistake(
            lambda: CIRQ.run(of_cirq(), repetitions=value), errors.ShotsError, whole("repetitions")
        ),
        "QsimExSimulator.run_batch": Mistake(
            lambda: CIRQ.run_batch([of_cirq()], repetitions=value), errors.ShotsError, whole("repetitions")
        ),
    }


def matrix(kind: str) -> dict[str, Mistake]:
    """A gate with a matrix that is none; Qiskit's and Cirq's own gates are told not to check it."""
    given, words = MATRICES[kind]
    unchecked = [[1, 1], [0, 1]] if np.shape(given) != (2, 2) else given
    found = {
        "CircuitBuilder.unitary": Mistake(lambda: CircuitBuilder(2).unitary(given, [0]), errors.MatrixError, words),
        "StateVector.unitary": Mistake(
            lambda: StateVector(2, device="cpu").unitary(given, [0]), errors.MatrixError, words
        ),
        "QsimExSimulator": Mistake(lambda: CIRQ.simulate(of_cirq(Says(given)(B))), errors.MatrixError, words),
    }
    if unchecked is given:  # Qiskit's gate counts its qubits by the matrix, so it takes no other shape
        gate = UnitaryGate(given, check_input=False)
        found["QsimExBackend"] = Mistake(
            lambda: BACKEND.run(qiskit(lambda c: c.append(gate, [0]))), errors.MatrixError, words
        )
    else:
        found["UnitaryGate"] = Mistake(
            lambda: UnitaryGate(given), (QiskitError, ValueError), "unitary|[Ii]nput matrix|square|power"
        )
    return found


WIDE = (errors.OutOfMemory, r"60 wires in complex\d+ need .* EiB")
GPU = (errors.DeviceError, errors.MissingPackage)

LINES: dict[str, dict[str, Mistake]] = {
    "negative shots": {**shots(-1), **repetitions(-1)},
    "fractional shots": {**shots(2.5), **repetitions(2.5)},
    "zero shots": shots(0),
    "counts of a circuit without measurements": {
        "Simulator.run": Mistake(
            lambda: CPU.run(engine(measured=False), shots=5), errors.MeasurementError, "measures nothing"
        ),
        "Result.counts": Mistake(
            lambda: CPU.run(engine(measured=False)).counts(), errors.MeasurementError, "pass shots=1000"
        ),
        "QsimExBackend": Mistake(
            lambda: BACKEND.run(qiskit(measured=False)).result().get_counts(),
            (errors.MeasurementError, QiskitError),
            "measures nothing|No counts",
        ),
        "QsimExSimulator": Mistake(
            lambda: CIRQ.run(of_cirq(measured=False)), errors.MeasurementError, "no measurements to sample"
        ),
    },
    "unbound parameters": {
        "QsimExBackend": Mistake(
            lambda: BACKEND.run(qiskit(with_unbound)), errors.ParameterError, "'given' .*alpha, theta"
        ),
        "SamplerV2": Mistake(lambda: sampled(qiskit(with_unbound)), errors.ParameterError, "'given' .*alpha, theta"),
        "EstimatorV2": Mistake(
            lambda: estimated(qiskit(with_unbound, measured=False)), errors.ParameterError, "'given' .*alpha, theta"
        ),
        **{
            f"QsimExSimulator.{name}": Mistake(
                lambda name=name: getattr(CIRQ, name)(of_cirq(cirq.X(B) ** sympy.Symbol("s"))),
                errors.ParameterError,
                "symbols were not specified: s",
            )
            for name in ("run", "simulate")
        },
    },
    "unknown instruction": {
        "CircuitBuilder.gate": Mistake(
            lambda: CircuitBuilder(2).gate("czz", [0, 1]), errors.UnknownInstruction, "'czz'.* Did you mean 'cz'"
        ),
        "StateVector.gate": Mistake(
            lambda: StateVector(2, device="cpu").gate("czz", [0, 1]), errors.UnknownInstruction, "'czz'"
        ),
        **{
            name: Mistake(
                lambda call=call: call(qiskit(with_opaque)),
                errors.UnknownInstruction,
                r"'unheard_of' has neither .*instruction 1 of circuit 'given'.* on qubits \[1, 0\]",
            )
            for name, call in (("QsimExBackend", BACKEND.run), ("SamplerV2", sampled), ("EstimatorV2", estimated))
        },
        "QsimExSimulator": Mistake(lambda: CIRQ.simulate(of_cirq(Opaque()(B))), errors.UnknownInstruction, "Opaque"),
    },
    **{f"a matrix that is {kind}" if " " in kind else f"a matrix with {kind}": matrix(kind) for kind in MATRICES},
    "an unnormalised initial state": {
        "StateVector": Mistake(
            lambda: StateVector(1, initial=[1, 1], device="cpu"), errors.StateError, "of norm 1, got"
        ),
        "Simulator.state": Mistake(
            lambda: CPU.state(engine(measured=False), initial=[1, 1, 0, 0]), errors.StateError, "of norm 1, got"
        ),
        "CircuitBuilder.initialize": Mistake(
            lambda: CircuitBuilder(1).initialize([1, 1], [0]), errors.StateError, "of norm 1, got"
        ),
        "Initialize": Mistake(lambda: Initialize([1, 1]), QiskitError, "Sum of amplitudes-squared is not 1"),
        "QsimExSimulator": Mistake(
            lambda: CIRQ.simulate(of_cirq(measured=False), initial_state=np.array([1, 1])), errors.StateError, "norm"
        ),
    },
    "more wires than memory": {
        "StateVector": Mistake(lambda: StateVector(60, device="cpu"), *WIDE),
        "Simulator.run": Mistake(lambda: CPU.run(engine(engine_chain, 60), shots=5), *WIDE),
        "QsimExBackend": Mistake(lambda: BACKEND.run(qiskit(chain, 60)).result(), *WIDE),
        "SamplerV2": Mistake(lambda: sampled(qiskit(chain, 60)), *WIDE),
        "EstimatorV2": Mistake(lambda: estimated(qiskit(chain, 60, measured=False)), *WIDE),
        "QsimExSimulator.run": Mistake(lambda: CIRQ.run(WIDE_CIRQ), *WIDE),
        "QsimExSimulator.simulate": Mistake(lambda: CIRQ.simulate(WIDE_CIRQ[:-1]), *WIDE),
    },
    "an unknown option": {
        name: Mistake(
            lambda make=make: make(devise="cpu"),
            (errors.OptionError, AttributeError),
            "'devise'.*Did you mean 'device'",
        )
        for name, make in {
            "Simulator": Simulator,
            "StateVector": lambda **given: StateVector(2, **given),
            "QsimExBackend": QsimExBackend,
            "QsimExBackend.set_options": BACKEND.set_options,
            "QsimExBackend.run": lambda **given: BACKEND.run(qiskit(), **given),
            "SamplerV2": SamplerV2,
            "EstimatorV2": EstimatorV2,
            "QsimExSimulator": QsimExSimulator,
        }.items()
    },
    "a device that is not there": {
        "Simulator": Mistake(lambda: Simulator(device="gpu").run(engine(), shots=1), GPU, "GPU"),
        "StateVector": Mistake(lambda: StateVector(2, device="gpu"), GPU, "GPU"),
        "QsimExBackend": Mistake(lambda: QsimExBackend(device="gpu").run(qiskit()).result(), GPU, "GPU"),
        "SamplerV2": Mistake(lambda: sampled(qiskit(), device="gpu"), GPU, "GPU"),
        "EstimatorV2": Mistake(lambda: estimated(qiskit(measured=False), device="gpu"), GPU, "GPU"),
        "QsimExSimulator": Mistake(lambda: QsimExSimulator(device="gpu").run(of_cirq()), GPU, "GPU"),
    },
    "duplicate wires": {
        "CircuitBuilder.gate": Mistake(lambda: CircuitBuilder(2).gate("cx", [1, 1]), errors.WireError, "wire 1 twice"),
        "CircuitBuilder.measure": Mistake(
            lambda: CircuitBuilder(2, 2).measure([1, 1], [0, 1]), errors.WireError, "wire 1 twice"
        ),
        "StateVector.probabilities": Mistake(
            lambda: StateVector(2, device="cpu").probabilities([0, 0]), errors.WireError, "wire 0 twice"
        ),
        "QuantumCircuit": Mistake(lambda: qiskit(lambda c: c.cx(1, 1)), QiskitCircuitError, "duplicate"),
        "cirq.Circuit": Mistake(lambda: of_cirq(cirq.CNOT(A, A)), ValueError, "[Dd]uplicate"),
        "QsimExSimulator": Mistake(
            lambda: CIRQ.simulate(of_cirq(measured=False), qubit_order=[A, A]), errors.WireError, "qubit order"
        ),
    },
    "not a qubit": {
        "CircuitBuilder": Mistake(lambda: CircuitBuilder(2).gate("h", ["q0"]), errors.WireError, "whole number"),
        "QsimExSimulator": Mistake(
            lambda: CIRQ.sample_from_amplitudes(
                cirq.Circuit(cirq.IdentityGate(qid_shape=(3,))(cirq.LineQid(0, dimension=3))), None, 1
            ),
            errors.NotSupported,
            "expected qubits, got one qid of 3 levels",
        ),
    },
    "no bindings": {
        "Simulator.run_batch": Mistake(
            lambda: CPU.run_batch(circuit := engine(), Bindings.of(circuit.operands[:0]), shots=5),
            errors.CircuitError,
            "at least one binding, got none; leave bindings out",
        ),
    },
    "a key or a label used twice": {
        "CircuitBuilder.save": Mistake(
            lambda: CircuitBuilder(1).save("a").save("a"), errors.CircuitError, "'a'.* twice|'a'.* already"
        ),
        "save_statevector": Mistake(
            lambda: BACKEND.run(qiskit(lambda c: save_statevector(save_statevector(c)))),
            errors.CircuitError,
            "'statevector', .* already",
        ),
        "QsimExSimulator": Mistake(
            lambda: CIRQ.run(cirq.Circuit(cirq.measure(A, key="k"), cirq.measure(B, C, key="k"))),
            errors.MeasurementError,
            "'k' is measured on one qubit and again on 2",
        ),
    },
}
"""Each line: the mistake at each of its ways in."""

CASES = {f"{line}: {where}": mistake for line, ways in LINES.items() for where, mistake in ways.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_gets_its_error(name: str) -> None:
    """The error is of a class of its own, and says what was wrong."""
    if name.startswith("a device that is not there") and not gpu_missing():
        pytest.skip("there is a GPU")
    mistake = CASES[name]
    with pytest.raises(mistake.error, match=mistake.words) as caught:
        mistake.make()
    assert isinstance(caught.value, errors.QsimExError | QiskitError | ValueError | AttributeError)


def test_an_unknown_instruction_of_cirq_is_named_with_its_place() -> None:
    """A note says in which moment the instruction is."""
    with pytest.raises(errors.UnknownInstruction) as caught:
        CIRQ.simulate(of_cirq(cirq.X(B), Opaque()(B)))
    assert any("moment 1" in note for note in caught.value.__notes__)


# --- what is no mistake ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    {
        "QsimExBackend": lambda: BACKEND.run([]).result().results,
        "SamplerV2": lambda: SAMPLER.run([]).result(),
        "EstimatorV2": lambda: ESTIMATOR.run([]).result(),
        "QsimExSimulator.run_batch": lambda: CIRQ.run_batch([]),
        "QsimExSimulator.run_sweep": lambda: CIRQ.run_sweep(of_cirq(), []),
    }.items(),
    ids=lambda item: item[0],
)
def test_an_empty_list_gives_an_empty_result(ask: tuple[str, Callable[[], Any]]) -> None:
    """No circuits and no points are no mistake."""
    assert len(ask[1]()) == 0


def test_no_repetitions_of_cirq_give_an_empty_result() -> None:
    """Each key has a record without rows."""
    records = CIRQ.run(of_cirq(), repetitions=0).records
    assert records
    assert {record.shape[0] for record in records.values()} == {0}


def test_a_run_without_measurement_is_a_success_without_data() -> None:
    """Only who asks for its counts gets an error."""
    (experiment,) = BACKEND.run(qiskit(measured=False)).result().results
    assert (experiment.success, experiment.data.to_dict()) == (True, {})


@pytest.mark.parametrize(
    "ask",
    {
        "StateVector": lambda: StateVector(0, device="cpu").to_numpy(),
        "Simulator": lambda: CPU.state(CircuitBuilder(0).build()).to_numpy(),
        "QsimExBackend": lambda: BACKEND.run(save_statevector(QuantumCircuit(0))).result().get_statevector(),
        "EstimatorV2": lambda: [ESTIMATOR.run([(QuantumCircuit(0), {"": 1})]).result()[0].data.evs],
        "QsimExSimulator": lambda: CIRQ.simulate(cirq.Circuit()).final_state_vector,
    }.items(),
    ids=lambda item: item[0],
)
def test_a_circuit_of_zero_qubits_has_one_amplitude(ask: tuple[str, Callable[[], Any]]) -> None:
    """A state of no qubits is the number 1."""
    assert np.asarray(ask[1]()).tolist() == [1]


def test_a_state_that_is_used_after_it_was_closed() -> None:
    """Every use of a closed state is an error of its own class."""
    state = StateVector(2, device="cpu")
    state.close()
    for use in (state.to_numpy, lambda: state.apply(engine(measured=False)), lambda: state.probabilities([0])):
        with pytest.raises(errors.StateVectorClosed, match="closed"):
            use()


def test_two_threads_on_one_state_vector() -> None:
    """A second thread is refused while the first one works."""
    with StateVector(2, device="cpu") as state, state.placed():
        caught: list[BaseException] = []

        def use() -> None:
            try:
                state.probabilities([0])
            except errors.StateVectorBusy as error:
                caught.append(error)

        other = threading.Thread(target=use)
        other.start()
        other.join()
    assert len(caught) == 1


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------

LAYERS, WIDTH = 60, 22


def _layered(layers: int) -> tuple[Any, Any, Any]:
    """A circuit for each of the three; 60 layers take many seconds."""
    own, theirs, third = CircuitBuilder(WIDTH, WIDTH), QuantumCircuit(WIDTH), cirq.Circuit()
    line = cirq.LineQubit.range(WIDTH)
    for layer in range(layers):
        for wire in range(WIDTH):
            other = (wire + 1 + layer % (WIDTH - 2)) % WIDTH
            own.gate("ry", [wire], 0.1 + layer).gate("cx", [wire, other])
            theirs.ry(0.1 + layer, wire)
            theirs.cx(wire, other)
            third.append([cirq.ry(0.1 + layer)(line[wire]), cirq.CNOT(line[wire], line[other])])
    theirs.measure_all()
    return own.measure(range(WIDTH), range(WIDTH)).build(), theirs, third + cirq.measure(*line)


@pytest.mark.parametrize("way", ["engine", "Qiskit", "Cirq"])
def test_ctrl_c_ends_a_long_run_and_frees_its_memory(way: str, hold: Hold) -> None:
    """The run ends within a second on an idle machine, and its amplitudes are given back."""
    size, pressed = 16 << WIDTH, list[float]()
    hold(written_percent=0)  # nothing is written in place of the circuit, whose plans would be kept in all manners

    def press(done: int, _total: int) -> None:
        if done and not pressed:
            pressed.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

    def run(layers: int, progress: Callable[[int, int], None] | None) -> None:
        own, theirs, third = _layered(layers)
        match way:
            case "engine":
                Simulator(device="cpu", progress=progress).run(own, shots=1)
            case "Qiskit":
                QsimExBackend(device="cpu", progress=progress).run(theirs).result()
            case _:
                QsimExSimulator(device="cpu", dtype=np.complex128, progress=progress).run(third)

    run(2, None)  # what a first run loads and keeps is not what this test measures
    gc.collect()
    before = _resident()
    with pytest.raises(KeyboardInterrupt):
        run(LAYERS, press)
    assert time.perf_counter() - pressed[0] < 10  # a second on an idle machine
    deadline = time.perf_counter() + 10  # the thread of a job ends after its next step
    while _resident() - before > size // 2 and time.perf_counter() < deadline:
        gc.collect()
        time.sleep(0.1)
    assert _resident() - before < size // 2


def _resident() -> int:
    """The bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize()
