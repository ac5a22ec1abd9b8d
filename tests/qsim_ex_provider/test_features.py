"""What a Qiskit backend must offer: a test for each promise, one after another, in the words of the promise.

The other files of this folder test each of them in depth.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.circuit import Parameter
from qiskit.circuit import library as lib
from qiskit.circuit.classical import expr, types
from qiskit.primitives import BackendEstimatorV2, BackendSamplerV2, BaseEstimatorV2, BaseSamplerV2
from qiskit.providers import BackendV2, JobStatus, JobV1
from qiskit.quantum_info import SparsePauliOp, Statevector

import qsim_ex_provider as ours
from qsim_ex import NoiseModel, bit_flip
from qsim_ex.errors import CircuitError, NotSupported, OptionError
from qsim_ex_provider import EstimatorV2, QsimExBackend, QsimExProvider, SamplerV2

BACKEND = QsimExBackend(device="cpu")


def bell() -> QuantumCircuit:
    """A measured Bell state in two registers of bits."""
    circuit = QuantumCircuit(2, 2, name="bell")
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.measure([0, 1], [0, 1])
    return circuit


def test_backend_v2_with_a_provider() -> None:
    """`BackendV2`: target, no limit of circuits, defaults; unknown fields and options are named; a small provider."""
    assert isinstance(BACKEND, BackendV2)
    assert BACKEND.max_circuits is None
    assert BACKEND.target.num_qubits == BACKEND.num_qubits
    assert QsimExBackend._default_options().shots == BACKEND.options.shots
    for wrong in (lambda: QsimExBackend(shotz=1), lambda: QsimExBackend().set_options(shotz=1)):
        with pytest.raises(AttributeError, match="shots"):
            wrong()
    with pytest.raises(OptionError, match="shots"):
        BACKEND.run(bell(), shotz=5)
    assert len(BACKEND.run([bell(), bell()], shots=5).result().results) == 2
    assert [one.name for one in QsimExProvider().backends()] == [QsimExProvider().get_backend().name]


def test_target_takes_wide_circuits_and_every_standard_gate() -> None:
    """`num_qubits` is a number, 127 qubits are transpiled, and what runs natively is in the target by its name."""
    assert isinstance(BACKEND.num_qubits, int)
    wide = QuantumCircuit(127)
    wide.h(range(127))
    wide.cx(0, 126)
    for level in range(4):
        assert transpile(wide, QsimExBackend(device="cpu"), optimization_level=level).num_qubits == 127
    standard = set(lib.get_standard_gate_name_mapping()) - {"global_phase"}
    classes = {"unitary", "diagonal", "permutation", "initialize", "state_preparation", "PauliEvolution", "pauli"}
    control = {"if_else", "while_loop", "for_loop", "switch_case", "break_loop", "continue_loop", "box", "store"}
    names = {*BACKEND.target.operation_names}
    assert standard | classes | control | {"delay", "reset", "measure"} <= names  # Qiskit takes barriers anyway


def test_target_has_classes_of_gates_and_any_pair_of_qubits() -> None:
    """Multi-controlled gates, multiplexers, global phases, saves and Kraus matrices; no coupling map."""
    assert BACKEND.coupling_map is None
    assert {"mcx", "mcphase", "multiplexer", "global_phase", "kraus", "save_statevector"} <= {
        *BACKEND.target.operation_names
    }
    circuit = QuantumCircuit(4, global_phase=0.3)
    circuit.h(range(3))
    circuit.append(lib.MCXGate(3, ctrl_state=5), [0, 1, 2, 3])
    circuit.append(lib.UCGate([np.eye(2), np.array([[0, 1], [1, 0]])]), [3, 0])
    circuit.append(lib.DiagonalGate([1, 1j, -1, 1]), [1, 2])
    circuit.append(lib.PermutationGate([2, 0, 1]), [0, 1, 2])
    circuit.append(lib.PauliGate("XZY"), [1, 2, 3])
    circuit.append(lib.GlobalPhaseGate(0.2), [])
    evolved = circuit.copy()
    evolved.rxx(0.8, 0, 3)
    expected = Statevector(evolved).data
    circuit.append(lib.PauliEvolutionGate(SparsePauliOp("XX"), 0.4), [0, 3])
    circuit.barrier()
    circuit.delay(5, 0)
    ours.save_statevector(circuit)
    found = BACKEND.run(circuit).result().get_statevector()
    assert np.abs(np.asarray(found) - expected).max() < 1e-12


def test_pubs_never_reach_run() -> None:
    """A circuit in a tuple, as primitives take it, is an error that says what was expected."""
    with pytest.raises(CircuitError, match="expected a list of QuantumCircuits, got a PUB; run PUBs with SamplerV2"):
        BACKEND.run([(bell(), None)])


def test_circuits_that_were_not_transpiled_run() -> None:
    """Definitions are written out here: a gate of gates needs no `transpile`."""
    inner = QuantumCircuit(2, name="inner")
    inner.h(0)
    inner.append(lib.QFTGate(2), [0, 1])
    circuit = QuantumCircuit(2)
    circuit.append(inner.to_gate(), [1, 0])
    ours.save_statevector(circuit)
    found = BACKEND.run(circuit).result().get_statevector()
    assert Statevector(found).equiv(Statevector(_plain(circuit)))


def _plain(circuit: QuantumCircuit) -> QuantumCircuit:
    found = circuit.copy_empty_like()
    for one in circuit.data[:-1]:
        found.append(one)
    return found


def test_results_have_qiskits_form() -> None:
    """Hex counts and memory, header, seed, status and times; spaces between registers; a seed for each circuit."""
    result = BACKEND.run([bell(), bell()], shots=200, seed_simulator=3, memory=True).result()
    first, second = result.results
    assert set(first.data.counts) <= {"0x0", "0x3"}
    assert len(first.data.memory) == 200
    assert {*first.data.memory} == {*first.data.counts}
    header = {"name": "bell", "memory_slots": 2, "creg_sizes": [["c", 2]], "global_phase": 0.0, "metadata": {}}
    assert header.items() <= first.header.items()
    assert (first.status, first.success, first.shots) == ("DONE", True, 200)
    assert first.time_taken >= 0
    assert first.seed != second.seed
    assert first.data.memory != second.data.memory
    assert {"device", "precision", "placement", "plan"} <= {*first.metadata}
    circuit = bell()
    circuit.measure_all()
    assert all(" " in key for key in BACKEND.run(circuit, shots=10).result().get_counts())


def test_options_without_a_meaning_here_are_accepted_and_others_refused() -> None:
    """`meas_level=2` and tuning options pass; another method says what to use."""
    assert BACKEND.run(bell(), shots=10, method="automatic", meas_return="single").result().success
    accepted = {"meas_level": 2, "init_qubits": True, "rep_delay": 1e-4, "method": "statevector", "fusion_enable": True}
    assert BACKEND.run(bell(), shots=10, **accepted).result().success
    for refused in ({"meas_level": 1}, {"method": "matrix_product_state"}):
        with pytest.raises((OptionError, NotSupported), match=r"use|pass|leave"):
            BACKEND.run(bell(), **refused)


def test_options_have_the_names_that_users_type() -> None:
    """Each option of the list is one of the backend's."""
    names = ("shots", "memory", "seed_simulator", "device", "devices", "precision", "max_memory", "device_wires")
    fields = {*QsimExBackend._default_options().__dict__}
    assert {*names, "noise_model", "compile", "progress"} <= fields
    angle = Parameter("a")
    circuit = QuantumCircuit(1)
    circuit.rx(angle, 0)
    circuit.measure_all()
    result = BACKEND.run(circuit, parameter_binds=[{angle: [0.0, np.pi]}], shots=5, precision="single").result()
    assert [result.get_counts(k) for k in range(2)] == [{"0": 5}, {"1": 5}]


def test_jobs_run_in_the_background_on_any_executor() -> None:
    """A `JobV1` with status, cancel and a result within a time; an executor may be given."""
    with ThreadPoolExecutor(1) as pool:
        job = BACKEND.run(bell(), shots=10, executor=pool)
        assert isinstance(job, JobV1)
        assert sum(job.result(timeout=60).get_counts().values()) == 10
    assert job.status() is JobStatus.DONE
    assert not job.cancel()


def test_primitives_are_native_and_qiskits_own_work() -> None:
    """Ours are exact at precision 0 and take many parameters at once; Qiskit's take the backend."""
    angle = Parameter("a")
    circuit = QuantumCircuit(1)
    circuit.ry(angle, 0)
    pub = (circuit, SparsePauliOp("Z"), np.array([0.0, 0.4, 1.0]))
    assert issubclass(EstimatorV2, BaseEstimatorV2)
    assert issubclass(SamplerV2, BaseSamplerV2)
    (exact,) = EstimatorV2(device="cpu").run([pub], precision=0).result()
    assert np.abs(exact.data.evs - np.cos([0.0, 0.4, 1.0])).max() < 1e-12
    (drawn,) = BackendEstimatorV2(backend=BACKEND).run([pub], precision=0.05).result()
    assert np.abs(drawn.data.evs - exact.data.evs).max() < 0.5
    for sampler in (SamplerV2(device="cpu"), BackendSamplerV2(backend=BACKEND)):
        (sampled,) = sampler.run([bell()], shots=20).result()
        assert set(sampled.data.c.get_counts()) <= {"00", "11"}


def test_saves_as_aers_users_know_them() -> None:
    """State vectors, probabilities and expectation values under labels, by our instructions and by Aer's."""
    circuit = QuantumCircuit(1)
    circuit.ry(0.4, 0)
    ours.save_statevector(circuit, label="psi")
    ours.save_probabilities(circuit, label="p")
    ours.save_expectation_value(circuit, SparsePauliOp("Z"), [0], label="z")
    data = BACKEND.run(circuit).result().data(0)
    assert np.abs(np.asarray(data["psi"]) - [np.cos(0.2), np.sin(0.2)]).max() < 1e-12
    assert np.abs(data["p"] - [np.cos(0.2) ** 2, np.sin(0.2) ** 2]).max() < 1e-12
    assert abs(data["z"] - np.cos(0.4)) < 1e-12
    pytest.importorskip("qiskit_aer").library.save_statevector(circuit, label="theirs")
    assert np.array_equal(*(BACKEND.run(circuit).result().data(0)[name] for name in ("psi", "theirs")))


@pytest.mark.parametrize("method", ["automatic", "density_matrix"])
def test_dynamic_circuits(method: str) -> None:
    """Measurement and reset on the way, `if`, `switch`, `for`, `while`, `break`, `continue`, variables, expressions."""
    circuit = QuantumCircuit(2, 3)
    count = circuit.add_var("count", expr.lift(0, types.Uint(8)))
    circuit.h(0)
    circuit.measure(0, 0)
    with circuit.if_test((circuit.clbits[0], 1)) as otherwise:
        circuit.reset(0)
    with otherwise, circuit.for_loop(range(2)):
        circuit.x(1)
    with circuit.while_loop(expr.less(count, 5)):
        circuit.store(count, expr.add(count, expr.lift(1, types.Uint(8))))
        with circuit.if_test(expr.equal(count, 2)):
            circuit.continue_loop()
        circuit.x(1)
        with circuit.if_test(expr.equal(count, 4)):
            circuit.break_loop()
    with circuit.switch(count) as case:
        with case(4):
            circuit.measure(1, 1)
        with case(case.DEFAULT):
            circuit.measure([0, 1], [2, 2])
    backend = QsimExBackend(device="cpu", method=method)
    counts = backend.run(circuit, shots=100, seed_simulator=1).result().get_counts()
    assert set(counts) == {"010", "011"}  # X three times, and the first bit is a coin


def test_input_variables_are_refused_by_name() -> None:
    """Qiskit has no way to give a run the values of inputs; the error says what to do."""
    circuit = QuantumCircuit(1, 1)
    circuit.add_input("given", types.Bool())
    with pytest.raises(NotSupported, match="expected a circuit without inputs, got 1 input variables; declare them"):
        BACKEND.run(circuit)


def test_noise_of_aer_and_of_ours() -> None:
    """Aer's `NoiseModel` object is understood, and channels can be given without Aer."""
    circuit = QuantumCircuit(1)
    circuit.x(0)
    circuit.measure_all()
    model = NoiseModel().with_error("x", bit_flip(1.0))
    assert BACKEND.run(circuit, shots=20, noise_model=model).result().get_counts() == {"0": 20}
    noise = pytest.importorskip("qiskit_aer.noise")
    theirs = noise.NoiseModel()
    theirs.add_all_qubit_quantum_error(noise.pauli_error([("X", 1.0)]), ["x"])
    theirs.add_all_qubit_readout_error(noise.ReadoutError([[0.0, 1.0], [0.0, 1.0]]))
    assert BACKEND.run(circuit, shots=20, noise_model=theirs).result().get_counts() == {"1": 20}
