"""Bindings by ``parameter_binds``, and circuits of one job that share a structure, run together and give what single
runs give.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import re
from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import AnnotatedOperation, Parameter, ParameterVector, PowerModifier
from qiskit.circuit.library import UGate
from qiskit.exceptions import QiskitError
from qiskit.providers import JobStatus
from qiskit.quantum_info import Statevector

from qsim_ex import Simulator, errors
from qsim_ex.frameworks import job_seeds
from qsim_ex_provider import QsimExBackend, save_statevector

A, B = Parameter("a"), Parameter("b")
V = ParameterVector("v", 2)


def two(name: str = "two") -> QuantumCircuit:
    """A circuit of two parameters, one of them in a global phase."""
    circuit = QuantumCircuit(3, name=name, metadata={"of": name})
    circuit.global_phase = A / 2
    circuit.ry(A, 0)
    circuit.cx(0, 1)
    circuit.rx(2 * A + B, 2)
    circuit.measure_all()
    return circuit


def vector(name: str = "vector") -> QuantumCircuit:
    """A circuit of a vector of two parameters, of another structure than `two`."""
    circuit = QuantumCircuit(2, name=name)
    circuit.rx(V[0], 0)
    circuit.ry(V[1], 1)
    circuit.measure_all()
    return circuit


class Spy:
    """Notes how many bindings each batch of several has, and lets it run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: list[int] = []
        run_batch = Simulator.run_batch

        def noted(simulator: Simulator, circuit: Any, bindings: Any = None, **how: Any) -> Any:
            if bindings is not None:  # which a single run has not
                self.counts.append(bindings.count)
            return run_batch(simulator, circuit, bindings, **how)

        monkeypatch.setattr(Simulator, "run_batch", noted)


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    """A watcher of `Simulator.run_batch`."""
    return Spy(monkeypatch)


def test_bindings_are_the_bound_circuits(device_name: str) -> None:
    """Each binding gives the shots, seed and header that its circuit gives in a list of bound circuits."""
    backend = QsimExBackend(device=device_name, seed_simulator=5, shots=40, memory=True)
    values = np.random.default_rng(1).uniform(-3, 3, (3, 2))
    others = np.random.default_rng(2).uniform(-3, 3, (2, 2))
    binds = [{A: values[:, 0], "b": list(values[:, 1])}, {}, {V: others}]
    circuits = [two(), two("bound").assign_parameters([0.1, 0.2]), vector()]
    swept = backend.run(circuits, parameter_binds=binds).result()
    bound = [circuits[0].assign_parameters(row) for row in values] + [circuits[1]]
    bound += [circuits[2].assign_parameters(row) for row in others]
    apart = backend.run(bound).result()
    assert len(swept.results) == 6
    for k in range(6):
        assert swept.get_memory(k) == apart.get_memory(k)
        assert swept.results[k].seed == apart.results[k].seed == job_seeds(5, k + 1)[k]
        ours, theirs = dict(swept.results[k].header), dict(apart.results[k].header)
        assert ours.pop("global_phase") == pytest.approx(theirs.pop("global_phase"))
        assert ours.pop("name") == circuits[(0, 0, 0, 1, 2, 2)[k]].name
        theirs.pop("name")
        assert ours == theirs
    assert swept.get_counts() == apart.get_counts()


def test_agrees_with_aer() -> None:
    """Aer gives as many experiments in the same order, with frequencies close to ours and the same names."""
    aer = pytest.importorskip("qiskit_aer")
    shots = 4000
    binds = [{A: [0.0, np.pi, 1.0], B: [0.0, 0.5, -1.0]}, {V[0]: [0.0, 2.0], V[1]: np.array([np.pi, 1.0])}]
    ours = QsimExBackend(device="cpu", seed_simulator=3).run([two(), vector()], binds, shots=shots).result()
    theirs = aer.AerSimulator(seed_simulator=4).run([two(), vector()], parameter_binds=binds, shots=shots).result()
    assert len(ours.results) == len(theirs.results) == 5
    for k, (one, other) in enumerate(zip(ours.results, theirs.results, strict=True)):
        assert one.header["name"] == other.header["name"]
        assert one.header["creg_sizes"] == other.header["creg_sizes"]
        found, wanted = ours.get_counts(k), theirs.get_counts(k)
        for key in {*found, *wanted}:
            assert abs(found.get(key, 0) - wanted.get(key, 0)) < 6 * np.sqrt(shots / 2)


def test_numbers_stand_for_all_bindings() -> None:
    """A number beside lists is meant for every binding; numbers alone are one binding; a vector may be one row."""
    backend = QsimExBackend(device="cpu", shots=5)
    counts = backend.run(two(), [{"a": [0.0, np.pi], "b": 0}]).result().get_counts()
    assert counts == [{"000": 5}, {"011": 5}]
    assert backend.run(two(), parameter_binds=[{A: np.pi, B: -np.pi}]).result().get_counts() == {"111": 5}
    assert backend.run(vector(), parameter_binds=[{V: [0, np.pi]}]).result().get_counts() == {"10": 5}


def test_no_bindings() -> None:
    """Lists of no values give no experiments; None and an empty list bind nothing."""
    backend = QsimExBackend(device="cpu", shots=5)
    job = backend.run([two(), vector()], parameter_binds=[{A: [], B: []}, {V: [[0, 0]]}])
    assert [result.header["name"] for result in job.result().results] == ["vector"]
    bound = vector().assign_parameters([0, 0])
    for nothing in (None, [], [{}]):
        assert backend.run(bound, parameter_binds=nothing).result().get_counts() == {"00": 5}


def test_saved_states_of_bindings() -> None:
    """A state that is saved is that of its binding."""
    circuit = vector().remove_final_measurements(inplace=False)
    save_statevector(circuit)
    values = np.array([[0.3, 0.1], [1.0, -2.0]])
    result = QsimExBackend(device="cpu").run(circuit, parameter_binds=[{V: values}]).result()
    for k, (x, y) in enumerate(values):
        zero, one = [np.cos(x / 2), -1j * np.sin(x / 2)], [np.cos(y / 2), np.sin(y / 2)]
        np.testing.assert_allclose(result.get_statevector(k).data, np.kron(one, zero), atol=1e-12)


@pytest.mark.parametrize("left", [A - A - 4, -2.5 + 0 * A, 3 + A - A, A - A])
def test_parameters_that_cancel(left: Any) -> None:
    """An expression whose parameters cancel is its number, also one that is negative, which Qiskit cannot hash."""
    circuit = QuantumCircuit(1, global_phase=left)
    circuit.ry(A, 0)
    circuit.rx(left, 0)
    save_statevector(circuit)
    found = QsimExBackend().run(circuit, parameter_binds=[{A: [0.3, 0.5]}]).result()
    for k, value in enumerate((0.3, 0.5)):
        alone = QsimExBackend().run(circuit.assign_parameters({A: value})).result()
        np.testing.assert_allclose(found.get_statevector(k), alone.get_statevector(0), atol=1e-15)


def test_a_parameter_that_must_be_a_number() -> None:
    """A circuit that cannot be translated with arrays is translated binding by binding, and is right."""
    circuit = QuantumCircuit(1)
    circuit.append(AnnotatedOperation(UGate(A, 0.0, 0.0), PowerModifier(1.5)), [0])
    circuit.measure_all()
    counts = QsimExBackend(device="cpu", shots=4).run(circuit, [{"a": [0.0, 2 * np.pi / 3]}]).result().get_counts()
    assert counts == [{"0": 4}, {"1": 4}]


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "a dictionary": ({A: [1], B: [1]}, errors.CircuitError, "a list with one dictionary"),
    "too many": ([{A: 1, B: 1}, {A: 2, B: 2}], errors.CircuitError, "each of 1 circuits, got 2"),
    "no dictionary": ([[1, 2]], errors.ParameterError, r"parameter_binds\[0\]: expected a dictionary"),
    "unbound": ([{A: [1]}], errors.ParameterError, r"parameter_binds\[0\]: circuit 'two' has unbound parameters: b"),
    "unknown": ([{A: [1], B: [1], "bb": [1]}], errors.ParameterError, r"parameters a, b, not 'bb'.*'b'"),
    "twice": ([{A: [1], "a": [1], B: [1]}], errors.ParameterError, "'a' is given twice"),
    "lengths": ([{A: [1, 2], B: [1, 2, 3]}], errors.ParameterError, "got 2 for 'a', 3 for 'b'"),
    "shape": ([{A: [[1, 2]], B: [1]}], errors.ParameterError, r"'a'.*\(bindings,\).*shape \(1, 2\)"),
    "ragged": ([{A: [[1, 2], [1]], B: [1]}], errors.ParameterError, "'a' are no"),
    "text": ([{A: "one", B: [1]}], errors.ParameterError, "no real numbers: 'one'"),
    "complex": ([{A: [1j], B: [1]}], errors.ParameterError, "no real numbers"),
    "not finite": ([{A: [1, np.nan], B: [1, 1]}], errors.ParameterError, "binding 1"),
    "a key": ([{3: [1], B: [1]}], errors.ParameterError, "expected a parameter, its name"),
    "a vector": ([{V: [[1, 2, 3]]}], errors.ParameterError, r"\(bindings, 2\) or \(2,\).*\(1, 3\)"),
    "an expression": ([{A + B: [1]}], errors.ParameterError, "expected a parameter, its name"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_binds_are_refused(name: str) -> None:
    """Bad bindings are refused when they are given, with names and shapes."""
    given, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        QsimExBackend(device="cpu").run(two(), parameter_binds=given)


def test_a_circuit_without_parameters_takes_none() -> None:
    """Values for a circuit that has no parameters are refused by name, and unbound ones without values too."""
    backend = QsimExBackend(device="cpu")
    with pytest.raises(errors.ParameterError, match="has no parameters, not 'a'"):
        backend.run(vector().assign_parameters([0, 0]), parameter_binds=[{A: [1]}])
    with pytest.raises(errors.ParameterError, match="unbound parameters: a, b"):
        backend.run(two())


def test_equal_structures_go_together(spy: Spy) -> None:
    """Circuits that differ in numbers are one batch, wherever they stand; others are tasks of their own."""
    rows = np.random.default_rng(4).uniform(-3, 3, (5, 2))
    circuits = [(two, vector)[k % 2](f"c{k}").assign_parameters(row) for k, row in enumerate(rows)]
    alone = QuantumCircuit(2)
    alone.h(0)
    alone.measure_all()
    backend = QsimExBackend(device="cpu", seed_simulator=8, shots=30, memory=True)
    result = backend.run([*circuits, alone]).result()
    assert sorted(spy.counts) == [2, 3]
    for k, circuit in enumerate([*circuits, alone]):
        one = backend.run(circuit, seed_simulator=job_seeds(8, k + 1)[k]).result()
        assert result.get_memory(k) == one.get_memory()
        assert result.results[k].header["name"] == circuit.name
        assert result.get_counts(circuit.name) == one.get_counts()


def test_bindings_and_circuits_of_one_structure_go_together(spy: Spy) -> None:
    """Bindings join those of other circuits of the structure, and come back in the order that they were given in."""
    circuits = [two("x"), vector("y"), two("z")]
    binds = [{A: [0, np.pi], B: 0}, {V: [[0, np.pi]]}, {A: [np.pi, 0, 0], B: [-np.pi, 0, np.pi]}]
    result = QsimExBackend(device="cpu", shots=2).run(circuits, parameter_binds=binds).result()
    assert spy.counts == [5, 1]
    assert [next(iter(counts)) for counts in result.get_counts()] == ["000", "011", "10", "111", "000", "100"]
    assert [one.header["name"] for one in result.results] == ["x", "x", "y", "z", "z", "z"]


def test_other_process() -> None:
    """Bindings travel to other processes, and give the shots that they give here."""
    backend = QsimExBackend(device="cpu", memory=True, seed_simulator=3, shots=50)
    binds = [{A: np.linspace(0, 3, 7), B: 0.5}]
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = backend.run(two(), binds, executor=pool).result()
    here = backend.run(two(), binds).result()
    assert [there.get_memory(k) for k in range(7)] == [here.get_memory(k) for k in range(7)]


def test_an_error_names_the_circuits_of_a_batch() -> None:
    """Where a batch fails, the circuits that it was made of are named, and the others' results are lost with it."""
    large = QuantumCircuit(60, name="large")
    large.rx(A, 0)
    large.cx(range(59), range(1, 60))
    large.measure_all()
    binds = [{A: [1.0, 2.0]}, {A: [1, 2], B: [1, 2]}, {A: 1}]
    job = QsimExBackend(device="cpu").run([large, two(), large.copy("larger")], binds)
    with pytest.raises(errors.OutOfMemory) as caught:
        job.result()
    assert job.status() is JobStatus.ERROR
    (note,) = caught.value.__notes__
    assert re.search("circuit 0 of the job, 'large'; circuit 2 of the job, 'larger'", note)


def test_bindings_have_a_checkpoint_together(tmp_path: Any, spy: Spy) -> None:
    """With a checkpoint bindings run together all the same, and no file is left."""
    backend = QsimExBackend(device="cpu", checkpoint=tmp_path / "state", shots=3)
    counts = backend.run(two(), [{A: [0, np.pi], B: 0}]).result().get_counts()
    assert counts == [{"000": 3}, {"011": 3}]
    assert spy.counts == [2]
    assert list(tmp_path.iterdir()) == []


def test_results_are_made_when_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many bindings only the experiments that are asked for are made, once each; slices and all of them work."""
    made = []
    from qsim_ex_provider import lazy_experiment, results

    original = lazy_experiment.LazyExperiment

    def noted(make_metadata: Any, **given: Any) -> Any:
        made.append(given["seed"])
        return original(make_metadata, **given)

    monkeypatch.setattr(results, "LazyExperiment", noted)
    result = QsimExBackend(device="cpu", shots=2).run(two(), [{A: np.zeros(50), B: 0}]).result()
    assert made == []
    assert result.results[-1] is result.results[49]
    assert result.data(7)["counts"] == {"0x0": 2}
    assert len(made) == 2
    assert [one.seed for one in result.results[10:12]] == [one.seed for one in result.results][10:12]
    assert len(set(made)) == len(made) == 50
    assert len(result.to_dict()["results"]) == 50
    with pytest.raises(IndexError):
        result.results[50]


def test_bindings_of_noisy_circuits() -> None:
    """Bindings and noise go together: each binding has the frequencies that a depolarised qubit has."""
    aer = pytest.importorskip("qiskit_aer.noise")
    model, plain = aer.NoiseModel(), QuantumCircuit(1)
    model.add_all_qubit_quantum_error(aer.depolarizing_error(0.4, 1), ["ry"])
    plain.ry(A, 0)
    plain.measure_all()
    angles, shots = np.array([0.0, 1.0, np.pi]), 4000
    backend = QsimExBackend(device="cpu", seed_simulator=1, shots=shots)
    counts = backend.run(plain, [{A: angles}], noise_model=model).result().get_counts()
    for angle, found in zip(angles, counts, strict=True):
        wanted = 0.6 * np.cos(angle / 2) ** 2 + 0.2
        assert abs(found.get("0", 0) / shots - wanted) < 4 * np.sqrt(0.25 / shots)


@pytest.mark.parametrize("shots", [1, 100, 5000])
def test_counts_one_by_one_in_any_order_are_those_of_all(shots):
    """Counts of single bindings, asked for forwards, backwards and by negative numbers, are those of all at once."""
    binds = [{A: np.linspace(0, np.pi, 130), B: 0.3}]
    result = QsimExBackend(device="cpu").run(two(), binds, shots=shots, seed_simulator=3).result()
    every = result.get_counts()
    assert [result.get_counts(k) for k in range(130)] == every
    assert [result.get_counts(k) for k in range(129, -1, -1)] == every[::-1]
    assert result.get_counts(-1) == every[-1]
    result.get_counts(5).int_raw.clear()
    assert result.get_counts(5) == every[5]
    assert result.get_counts(5).int_raw
    for key in (130, -131):
        with pytest.raises(QiskitError, match="could not be found"):
            result.get_counts(key)


ASSIGNED: dict[str, dict[Any, Any]] = {
    "numbers": {A: 0.3, B: -0.7},
    "one for the other": {A: B, B: A},
    "a multiple of its name": {A: 2 * Parameter("a")},
    "one of them": {B: 0.4},
}


@pytest.mark.parametrize("given", ASSIGNED.values(), ids=list(ASSIGNED))
@pytest.mark.parametrize("state", [1, 0])
def test_gates_under_controls_take_what_was_assigned(given: dict[Any, Any], state: int) -> None:
    """A circuit's gate under a control has the parameters that were assigned to it; its base gate keeps others."""
    inner = QuantumCircuit(2, global_phase=B)
    inner.rx(A / 2, 0)
    inner.cp(B, 0, 1)
    circuit = QuantumCircuit(3)
    circuit.h(range(3))
    circuit.append(inner.to_gate().control(1, ctrl_state=state, annotated=False), [0, 1, 2])
    circuit.ry(0.3, range(3))
    circuit = circuit.assign_parameters(given)
    values = {parameter: 0.9 - 0.4 * place for place, parameter in enumerate(circuit.parameters)}
    expected = Statevector(circuit.assign_parameters(values)).data
    save_statevector(circuit)
    binds = [{parameter: [value] for parameter, value in values.items()}] if values else None
    found = QsimExBackend(device="cpu").run(circuit, parameter_binds=binds).result().get_statevector()
    np.testing.assert_allclose(found, expected, atol=1e-12)
