"""qiskit-mitigation and what stands on IBM's executor: twirled, mitigated and noise-learned jobs, in local mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import qiskit_aer.primitives
import qiskit_ibm_runtime
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter
from qiskit.quantum_info import DensityMatrix, Pauli, PauliLindbladMap, SparsePauliOp, Statevector
from qiskit.transpiler import generate_preset_pass_manager
from qiskit_aer import AerSimulator
from qiskit_aer.noise import NoiseModel, ReadoutError
from qiskit_ibm_runtime import QuantumProgram, executor_estimator, executor_sampler
from qiskit_ibm_runtime.fake_provider import FakeFez, FakeNighthawk
from samplomatic import Tag, build
from samplomatic.transpiler import generate_boxing_pass_manager

SEED = 7
WIDTH = 6
BASIS = ["rz", "sx", "x", "cz"]
EXPERIMENTAL = find_spec("qiskit_ibm_runtime.executor_local_mode") is not None  # as local mode is in version 0.49
LEARNS = find_spec("qiskit_ibm_runtime.executor_noise_learner") is not None  # since version 0.51


@dataclass(frozen=True)
class Classes:
    """A backend and the primitives that run on it."""

    backend: Any
    executor: Any
    sampler: Any
    estimator: Any
    session: Any
    batch: Any


@pytest.fixture
def here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Classes]:
    """The runtime's classes on our engine, where Aer's sampler is never asked; or on Aer, with ``--simulator aer``."""
    if request.config.getoption("--simulator") == "aer":
        runtime = qiskit_ibm_runtime
        both = executor_sampler.SamplerV2, executor_estimator.EstimatorV2
        yield Classes(AerSimulator, runtime.Executor, *both, runtime.Session, runtime.Batch)
        return
    from qsim_ex_provider import QsimExBackend, runtime

    calls: list[object] = []
    for of in (qiskit_aer.primitives.SamplerV2, AerSimulator):
        original = of.run
        monkeypatch.setattr(
            of, "run", lambda *given, _of=original, **named: calls.append(given) or _of(*given, **named)
        )
    yield Classes(QsimExBackend, runtime.Executor, runtime.Sampler, runtime.Estimator, runtime.Session, runtime.Batch)
    assert len(calls) == 0


# --- circuits and noise -----------------------------------------------------------------------------------------------


def bell() -> QuantumCircuit:
    """Return a circuit that makes and measures a Bell pair."""
    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.measure_all()
    return circuit


def native(circuit: QuantumCircuit, **target: Any) -> QuantumCircuit:
    """Return a circuit in a device's gates, or in those of most devices."""
    chosen = {"optimization_level": 1} | ({} if "backend" in target else {"basis_gates": BASIS}) | target
    return generate_preset_pass_manager(seed_transpiler=SEED, **chosen).run(circuit)


def kicks(layers: int = 2) -> QuantumCircuit:
    """Return kicks about X and layers of CZ, as many as are asked for, on a chain of six qubits."""
    circuit = QuantumCircuit(WIDTH)
    for layer in range(layers):
        for qubit in range(WIDTH):
            circuit.rx(0.4 + 0.1 * qubit, qubit)
        for qubit in range(layer % 2, WIDTH - 1, 2):
            circuit.cz(qubit, qubit + 1)
    return native(circuit)


MEAN_Z = SparsePauliOp.from_sparse_list([("Z", [k], 1 / WIDTH) for k in range(WIDTH)], num_qubits=WIDTH)


def noise_of(box: Any) -> PauliLindbladMap:
    """Return noise on the qubits and on the pairs of a layer, whose qubits are neighbours."""
    width = len(box.qubits)
    rates = np.random.default_rng(SEED).uniform(0.002, 0.01, (width, 12))
    terms = [(p, [k], rates[k, i]) for k in range(width) for i, p in enumerate("XYZ")]
    pairs = [a + b for a in "XYZ" for b in "XYZ"]
    terms += [(p, [k, k + 1], rates[k, 3 + i] / 4) for k in range(width - 1) for i, p in enumerate(pairs)]
    return PauliLindbladMap.from_sparse_list(terms, num_qubits=width)


def estimator_with(
    here: Classes, resilience: Mapping[str, Any], precision: float = 0.02, method: str = "automatic"
) -> Any:
    """Return a twirling estimator with these options of resilience."""
    estimator = here.estimator(here.backend(method=method))
    estimator.options.resilience_level = 0
    estimator.options.twirling.enable_gates = estimator.options.twirling.enable_measure = True
    for name, value in resilience.items():
        *path, last = name.split(".")
        setattr(reduce(getattr, path, estimator.options.resilience), last, value)
    estimator.options.default_precision = precision
    simulator_options(estimator).seed_simulator = SEED
    return estimator


def simulator_options(primitive: Any) -> Any:
    """Return the options of a primitive's simulator, which version 0.49 has elsewhere."""
    return primitive.options.experimental["simulator_options"] if EXPERIMENTAL else primitive.options.simulator


def with_layer_noise(estimator: Any, circuit: QuantumCircuit) -> list[tuple[Any, PauliLindbladMap]]:
    """Give an estimator's simulator noise of the layers of a circuit, and return it."""
    layers = estimator.find_unique_layers([(circuit, MEAN_Z)])
    noise = [(layer, noise_of(layer)) for layer in layers]
    estimator.options.simulator.layer_noise_model = noise
    estimator.options.simulator.warn_absent = False
    return noise


def exact(circuit: QuantumCircuit) -> float:
    """Return the mean of Z without noise."""
    return float(Statevector(circuit).expectation_value(MEAN_Z).real)


def exact_with_noise(circuit: QuantumCircuit, noise: list[tuple[Any, PauliLindbladMap]]) -> float:
    """Return the mean of Z where each layer of CZ is followed by its noise, from 64 × 64 density matrices."""
    boxed = generate_boxing_pass_manager(enable_gates=True, add_tags="unique_box").run(circuit)
    by_tag = {box.operation.annotations[-1].ref: found for box, found in noise}
    rho = DensityMatrix.from_label("0" * WIDTH)
    for instruction in boxed.data:
        on = sorted(boxed.find_bit(qubit).index for qubit in instruction.qubits)
        if instruction.name != "box":
            rho = rho.evolve(instruction.operation, [boxed.find_bit(qubit).index for qubit in instruction.qubits])
            continue
        body = instruction.operation.body
        for inner in body.data:
            if inner.name != "barrier":
                at = [instruction.qubits[body.find_bit(qubit).index] for qubit in inner.qubits]
                rho = rho.evolve(inner.operation, [boxed.find_bit(qubit).index for qubit in at])
        tag = instruction.operation.annotations[-1].ref
        for letters, wires, rate in by_tag[tag].to_sparse_list() if tag in by_tag else ():
            label = ["I"] * WIDTH
            for letter, wire in zip(letters, wires, strict=True):
                label[WIDTH - 1 - on[wire]] = letter
            matrix, chance = Pauli("".join(label)).to_matrix(), (1 - np.exp(-2 * rate)) / 2
            rho = DensityMatrix((1 - chance) * rho.data + chance * matrix @ rho.data @ matrix)
    return float(rho.expectation_value(MEAN_Z).real)


# --- jobs -------------------------------------------------------------------------------------------------------------


def test_a_twirled_sampler(here: Classes) -> None:
    """A Bell pair is 00 or 11 whichever gates and measurements are twirled, each in half of the shots within 5 σ."""
    sampler = here.sampler(here.backend())
    sampler.options.twirling.enable_gates = sampler.options.twirling.enable_measure = True
    sampler.options.twirling.num_randomizations = 50
    simulator_options(sampler).seed_simulator = SEED
    counts = sampler.run([native(bell())], shots=10_000).result()[0].data.meas.get_counts()
    assert set(counts) == {"00", "11"}
    assert abs(counts["00"] - 5000) < 5 * 50


def test_a_sweep_of_a_twirled_circuit(here: Classes) -> None:
    """For each of nine angles the frequency of 1 is sin² of half the angle within 5 σ."""
    circuit = QuantumCircuit(2)
    circuit.rx(Parameter("angle"), 0)
    circuit.cz(0, 1)
    circuit.measure_all()
    sampler = here.sampler(here.backend())
    sampler.options.twirling.enable_gates = True
    simulator_options(sampler).seed_simulator = SEED
    angles = np.linspace(0, np.pi, 9)
    data = sampler.run([(native(circuit), angles)], shots=4096).result()[0].data.meas
    assert data.shape == (9,)
    found = [data.get_counts(k).get("01", 0) / 4096 for k in range(9)]
    assert found == pytest.approx(np.sin(angles / 2) ** 2, abs=5 * 0.5 / 64)


def test_a_session_on_a_fake_heron(here: Classes) -> None:
    """In a session with the noise of a Heron device a Bell pair is right in 90 to 99.9 % of the shots."""
    device = FakeFez()
    with here.session(backend=here.backend.from_backend(device)):
        sampler = here.sampler()
        simulator_options(sampler).seed_simulator = SEED
        counts = sampler.run([native(bell(), backend=device)], shots=4000).result()[0].data.meas.get_counts()
    assert 0.9 < (counts["00"] + counts["11"]) / 4000 < 0.999


def test_a_batch_on_a_fake_nighthawk(here: Classes) -> None:
    """In a batch two jobs with circuits for a Nighthawk device give GHZ states of three qubits."""
    device = FakeNighthawk()
    ghz = QuantumCircuit(3)
    ghz.h(0)
    ghz.cx(0, 1)
    ghz.cx(1, 2)
    ghz.measure_all()
    with here.batch(backend=here.backend.from_backend(device)) as batch:
        sampler = here.sampler(mode=batch)
        simulator_options(sampler).seed_simulator = SEED
        jobs = [sampler.run([native(ghz, backend=device)], shots=2000) for _ in range(2)]
        found = [job.result()[0].data.meas.get_counts() for job in jobs]
    for counts in found:
        assert (counts["000"] + counts["111"]) / 2000 > 0.85


def test_the_levels_of_resilience(here: Classes) -> None:
    """Without noise the levels 0 and 1 of resilience give the exact value within 4 σ."""
    circuit = kicks()
    for level in (0, 1):
        estimator = here.estimator(here.backend())
        estimator.options.resilience_level = level
        simulator_options(estimator).seed_simulator = SEED
        data = estimator.run([(circuit, MEAN_Z)], precision=0.02).result()[0].data
        assert abs(data.evs - exact(circuit)) < 4 * max(data.stds, 0.005)


def test_trex_undoes_errors_of_readout(here: Classes) -> None:
    """Readout errors take a tenth of ZZ from a state where it is 1; measurement mitigation gives it back within 3 σ."""
    model = NoiseModel(basis_gates=BASIS)
    model.add_all_qubit_readout_error(ReadoutError([[0.97, 0.03], [0.06, 0.94]]))
    circuit = native(bell().remove_final_measurements(inplace=False))
    found = {}
    for mitigates in (False, True):
        estimator = here.estimator(here.backend(noise_model=model))
        estimator.options.resilience_level = 0
        estimator.options.resilience.measure_mitigation = mitigates
        estimator.options.twirling.enable_measure = True
        simulator_options(estimator).seed_simulator = SEED
        found[mitigates] = estimator.run([(circuit, "ZZ")], precision=0.01).result()[0].data
    assert found[False].evs < 0.88
    assert abs(found[True].evs - 1) < 3 * 0.015


@pytest.mark.since("0.50")
@pytest.mark.parametrize("method", ["automatic", "density_matrix"])
def test_the_noise_of_layers(here: Classes, method: str) -> None:
    """The noise of layers takes from a value what exact density matrices say, within 3 σ, whichever method is used."""
    circuit = kicks()
    estimator = estimator_with(here, {}, precision=0.005, method=method)
    noise = with_layer_noise(estimator, circuit)
    data = estimator.run([(circuit, MEAN_Z)]).result()[0].data
    expected = exact_with_noise(circuit, noise)
    assert expected < 0.96 * exact(circuit)
    assert abs(data.evs - expected) < 3 * data.stds


MITIGATIONS: dict[str, Mapping[str, Any]] = {
    "PEC": {"pec_mitigation": True},
    "PEA": {"zne_mitigation": True, "zne.amplifier": "pea", "zne.extrapolator": "linear"},
    "ZNE": {"zne_mitigation": True, "zne.amplifier": "gate_folding", "zne.extrapolator": "linear"},
}


@pytest.mark.since("0.50")
@pytest.mark.parametrize("name", MITIGATIONS)
def test_mitigation_of_noise_of_layers(here: Classes, name: str) -> None:
    """Error mitigation gives a value back that noise of layers took, within 3 σ of the exact one."""
    circuit = kicks()
    estimator = estimator_with(here, MITIGATIONS[name], precision=0.005)
    noise = with_layer_noise(estimator, circuit)
    if name != "ZNE":
        estimator.options.resilience.layer_noise_model = noise
    data = estimator.run([(circuit, MEAN_Z)]).result()[0].data
    taken = exact(circuit) - exact_with_noise(circuit, noise)
    assert taken > 6 * 0.005
    assert abs(data.evs - exact(circuit)) < 3 * max(data.stds, 0.005)


@pytest.mark.parametrize("together", [256, 3])
def test_an_executor(here: Classes, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An executor returns arrays of an item's shape, the flips of twirled measurements, and what it only passes on.

    So it does where randomizations are drawn in several pieces.
    """
    monkeypatch.setattr("qsim_ex_provider.runtime.program.TOGETHER", together)
    circuit = native(bell())
    template, samplex = build(generate_boxing_pass_manager(enable_measures=True).run(circuit))
    program = QuantumProgram(shots=50, passthrough_data={"experiment": "bell"})
    program.append_circuit_item(circuit)
    program.append_samplex_item(template, samplex=samplex, shape=(4, 5))
    executor = here.executor(here.backend())
    simulator_options(executor).seed_simulator = SEED
    result = executor.run(program).result()
    plain, twirled = result
    assert plain["meas"].shape == (50, 2)
    assert twirled["meas"].shape == (4, 5, 50, 2)
    bits = twirled["meas"] ^ twirled["measurement_flips.meas"]
    assert np.array_equal(bits[..., 0], bits[..., 1])
    assert not np.array_equal(twirled["meas"][..., 0], twirled["meas"][..., 1])
    assert result.passthrough_data == {"experiment": "bell"}


def test_an_executor_with_noise_of_layers(here: Classes) -> None:
    """A box whose tag has noise flips its qubits as often as the rates of X and Y say, within 5 σ."""
    circuit = QuantumCircuit(2)
    circuit.cz(0, 1)
    circuit.measure_all()
    manager = generate_boxing_pass_manager(enable_gates=True, enable_measures=False, add_tags="unique_box")
    boxed = manager.run(circuit)
    template, samplex = build(boxed)
    program = QuantumProgram(shots=100)
    program.append_samplex_item(template, samplex=samplex, shape=(100,))
    noise = PauliLindbladMap.from_list([("IX", 0.1), ("IY", 0.05), ("ZI", 0.3), ("XI", 0.02)])
    box = next(each for each in boxed.data if each.name == "box")
    executor = here.executor(here.backend())
    options = simulator_options(executor)
    options.seed_simulator, options.warn_absent = SEED, False
    if EXPERIMENTAL:
        options.noise_model = {next(each.ref for each in box.operation.annotations if isinstance(each, Tag)): noise}
    else:
        options.layer_noise_model = [(box, noise)]
    bits = executor.run(program).result()[0]["meas"].reshape(-1, 2)
    for qubit, rate in ((0, 0.15), (1, 0.02)):
        chance = (1 - np.exp(-2 * rate)) / 2
        assert abs(bits[:, qubit].mean() - chance) < 5 * np.sqrt(chance * (1 - chance) / len(bits))


def test_a_wide_clifford_circuit(here: Classes) -> None:
    """Forty qubits that CZ join come back to 0 in every shot of each randomization: no state vector could hold them."""
    there = QuantumCircuit(40)
    for layer in range(3):
        there.sx(range(40))
        for qubit in range(layer % 2, 39, 2):
            there.cz(qubit, qubit + 1)
    there.barrier()
    circuit = native(there.compose(there.inverse()), optimization_level=0)
    circuit.measure_all()
    sampler = here.sampler(here.backend())
    sampler.options.twirling.enable_gates = sampler.options.twirling.enable_measure = True
    sampler.options.twirling.num_randomizations = 8
    simulator_options(sampler).seed_simulator = SEED
    counts = sampler.run([circuit], shots=400).result()[0].data.meas.get_counts()
    assert counts == {"0" * 40: 400}


@pytest.mark.since("0.50")
def test_dynamical_decoupling(here: Classes) -> None:
    """Decoupling pulses fill the delays of a circuit for a Heron device, and its result stays."""
    device = FakeFez()
    circuit = QuantumCircuit(2)
    circuit.x(0)
    circuit.delay(1600, 0, "dt")
    circuit.cx(0, 1)
    circuit.measure_all()
    sampler = here.sampler(here.backend.from_backend(device))
    sampler.options.dynamical_decoupling.enable = True
    sampler.options.dynamical_decoupling.sequence_type = "XY4"
    simulator_options(sampler).seed_simulator = SEED
    job = sampler.run([native(circuit, backend=device)], shots=2000)
    assert job.inputs.items[0].circuit.count_ops()["x"] >= 4
    assert job.result()[0].data.meas.get_counts()["11"] / 2000 > 0.85


def test_a_noise_learner(here: Classes) -> None:
    """Noise of one layer that its gates leave as it is is found: the rates of ten generators within 0.002."""
    from qsim_ex_provider import runtime

    if not LEARNS:
        with pytest.raises(ImportError, match=r"qiskit-ibm-runtime 0\.51"):
            runtime.NoiseLearnerV3  # noqa: B018  (what it raises is asked for)
        return
    from qiskit_ibm_runtime import executor_noise_learner

    ours = here.executor is runtime.Executor
    learner_class = runtime.NoiseLearnerV3 if ours else executor_noise_learner.NoiseLearnerV3
    backend = here.backend.from_backend(FakeFez(), noise_model=None)
    circuit = QuantumCircuit(2)
    circuit.cz(0, 1)
    layout = native(circuit, backend=backend, initial_layout=[0, 1])
    estimator = here.estimator(backend)
    estimator.options.resilience.pec_mitigation = True
    observable = SparsePauliOp("ZZ").apply_layout(layout.layout)
    (layer,) = estimator.find_unique_layers([(layout, observable)])
    # A CZ turns XI into XZ, YI into YZ and so on: each pair has one rate.
    rates = {"XI": 3, "XZ": 3, "YI": 1, "YZ": 1, "IX": 2, "ZX": 2, "IY": 4, "ZY": 4, "ZI": 5, "IZ": 2}
    terms = [(letters, [0, 1], 0.001 * rate) for letters, rate in rates.items()]
    learner = learner_class(backend)
    learner.options.num_randomizations, learner.options.shots_per_randomization = 32, 256
    simulator_options(learner).seed_simulator = SEED
    learner.options.simulator.layer_noise_model = [(layer, PauliLindbladMap.from_sparse_list(terms, num_qubits=2))]
    learner.options.simulator.warn_absent = False
    (found,) = learner.run([layer]).result().to_pauli_lindblad_maps()
    learned = {}
    for letters, wires, rate in found.to_sparse_list():
        at = dict(zip(wires, letters, strict=True))
        learned["".join(at.get(k, "I") for k in range(2))] = float(rate)
    for letters, rate in rates.items():
        assert learned.get(letters, 0.0) == pytest.approx(0.001 * rate, abs=0.002), letters


def test_the_runtimes_own_classes_say_what_to_write(here: Classes) -> None:
    """The runtime's own executor, which would ask Aer, raises an error that names ours; in our session it runs."""
    from qsim_ex.errors import NotSupported
    from qsim_ex_provider import runtime

    backend = here.backend.from_backend(FakeFez())
    program = QuantumProgram(shots=10)
    program.append_circuit_item(native(bell()))
    options = {"experimental": {"local_mode": True}} if EXPERIMENTAL else None
    with pytest.raises(NotSupported, match=r"qsim_ex_provider\.runtime import Executor") as raised:
        qiskit_ibm_runtime.Executor(backend, options).run(program).result()
    assert ("Session(backend)" in str(raised.value)) is not EXPERIMENTAL
    if EXPERIMENTAL:
        return  # whose executor asks no session
    inside = qiskit_ibm_runtime.Executor(runtime.Session(backend)).run(program).result()
    assert inside[0]["meas"].shape == (10, 2)


@pytest.mark.since("0.50")
def test_randomizations_are_translated_and_planned_once(here: Classes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty randomizations in three bases of measurement are one translation and one batch; layers have noise."""
    from qsim_ex import Simulator
    from qsim_ex_provider.primitives import pubs

    sizes: list[int] = []
    translations: list[object] = []
    run_batch, translate_sweep = Simulator.run_batch, pubs.translate_sweep
    monkeypatch.setattr(
        Simulator, "run_batch", lambda self, *a, **k: sizes.append(len(k["seeds"])) or run_batch(self, *a, **k)
    )
    monkeypatch.setattr(pubs, "translate_sweep", lambda *a, **k: translations.append(a) or translate_sweep(*a, **k))
    circuit = kicks()
    estimator = estimator_with(here, {})
    estimator.options.twirling.num_randomizations, estimator.options.twirling.shots_per_randomization = 40, 8
    with_layer_noise(estimator, circuit)
    observable = SparsePauliOp(["XXXXXX", "YYYYYY", "ZZZZZZ"])
    estimator.run([(circuit, observable)]).result()
    assert sizes == [120]
    assert len(translations) == 1


@pytest.mark.since("0.50")
def test_the_page_on_executor_jobs(here: Classes) -> None:  # noqa: ARG001  (which counts calls of Aer)
    """The code of the page on IBM's executor runs as it stands."""
    from tools.pages.snippets import blocks

    names: dict[str, Any] = {}
    for block in blocks(Path(__file__).parents[2] / "docs" / "how-to" / "ibm-runtime.md"):
        if block.language == "python":
            exec(block.text, names)
    assert names["values"][True].evs == pytest.approx(1, abs=5 * names["values"][True].stds)


@pytest.mark.since("0.50")
def test_the_notebook_on_error_mitigation(here: Classes, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """The cells of the notebook run, whose checks say that PEC recovers what noise took."""
    import nbformat

    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = nbformat.read(Path(__file__).parents[2] / "notebooks" / "08_error_mitigation.ipynb", as_version=4)
    names: dict[str, Any] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            exec(cell.source, names)
    assert len(names["mitigated"]) == 8
