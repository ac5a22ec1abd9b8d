"""The primitives are constructed as users of Aer, of Qiskit's backend primitives and of the Runtime write it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.primitives import BackendEstimatorV2, BackendSamplerV2
from qiskit.primitives.backend_sampler_v2 import Options as BackendSamplerOptions
from qiskit.providers.fake_provider import GenericBackendV2

from qsim_ex import NoiseModel, bit_flip
from qsim_ex.errors import OptionError
from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2

FLIPPED = NoiseModel().with_error("x", bit_flip(1.0))
SEEDED = {"device": "cpu", "seed": 7}


def coin() -> QuantumCircuit:
    """Ten random bits."""
    circuit = QuantumCircuit(10)
    circuit.h(range(10))
    circuit.measure_all()
    return circuit


def one() -> QuantumCircuit:
    """A qubit that is 1."""
    circuit = QuantumCircuit(1)
    circuit.x(0)
    circuit.measure_all()
    return circuit


def bits(sampler: Any, circuit: QuantumCircuit) -> np.ndarray:
    """The shots of a circuit."""
    return np.asarray(sampler.run([circuit]).result()[0].data.meas.array)


def usual(shots: int = 20) -> np.ndarray:
    """The shots that a seed gives, by keywords."""
    return bits(SamplerV2(device="cpu", seed=7, default_shots=shots), coin())


SAMPLERS: dict[str, Callable[[], SamplerV2]] = {
    "keywords of Aer": lambda: SamplerV2(
        default_shots=20, seed=7, options={"backend_options": {"device": "CPU", "method": "statevector"}}
    ),
    "run_options": lambda: SamplerV2(default_shots=20, options={"run_options": {"seed_simulator": 7, "memory": True}}),
    "a backend": lambda: SamplerV2(
        backend=QsimExBackend(device="cpu"), options={"default_shots": 20, "seed_simulator": 7}
    ),
    "options of the backend": lambda: SamplerV2(backend=QsimExBackend(device="cpu", shots=20, seed_simulator=7)),
    "mode": lambda: SamplerV2(mode=QsimExBackend(seed_simulator=7), options={"default_shots": 20}),
    "mode without its name": lambda: SamplerV2(QsimExBackend(seed_simulator=7), options={"default_shots": 20}),
    "Qiskit's object": lambda: SamplerV2(
        backend=QsimExBackend(), options=BackendSamplerOptions(20, 7, {"meas_level": 2, "noise_model": None})
    ),
    "another object": lambda: SamplerV2(options=SimpleNamespace(default_shots=20, seed=7, run_options=None)),
    "the Runtime's simulator": lambda: SamplerV2(options={"default_shots": 20, "simulator": {"seed_simulator": 7}}),
    "from_backend": lambda: SamplerV2.from_backend(QsimExBackend(device="cpu"), default_shots=20, seed=7),
    "shots of run_options": lambda: SamplerV2(seed=7, options={"run_options": {"shots": 20}}),
    "names of Aer": lambda: SamplerV2(seed_simulator=7, default_shots=20, max_parallel_threads=1, fusion_enable=False),
}


@pytest.mark.parametrize("make", SAMPLERS.values(), ids=SAMPLERS)
def test_every_form_of_a_sampler_gives_the_same_shots(make: Callable[[], SamplerV2]) -> None:
    """Seed and shots have their effect wherever they are written."""
    assert np.array_equal(bits(make(), coin()), usual())


ESTIMATORS: dict[str, Callable[[], EstimatorV2]] = {
    "options of Aer": lambda: EstimatorV2(
        options={"default_precision": 0.1, "run_options": {"seed_simulator": 7}, "backend_options": {"device": "CPU"}}
    ),
    "options of Qiskit": lambda: EstimatorV2(
        backend=QsimExBackend(device="cpu"),
        options={"default_precision": 0.1, "abelian_grouping": True, "seed_simulator": 7},
    ),
    "mode": lambda: EstimatorV2(mode=QsimExBackend(seed_simulator=7), options={"default_precision": 0.1}),
    "mode without its name": lambda: EstimatorV2(QsimExBackend(seed_simulator=7), options={"default_precision": 0.1}),
    "from_backend": lambda: EstimatorV2.from_backend(QsimExBackend(), default_precision=0.1, seed=7),
}


@pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)
def test_every_form_of_an_estimator_gives_the_same_values(make: Callable[[], EstimatorV2]) -> None:
    """Seed and precision have their effect wherever they are written."""
    pub = (coin().remove_final_measurements(inplace=False), "Z" * 10)
    expected = EstimatorV2(device="cpu", seed=7, default_precision=0.1).run([pub]).result()[0].data
    found = make().run([pub]).result()[0].data
    assert found.evs == expected.evs
    assert found.stds == expected.stds == 0.1


def test_shots_of_an_estimator_are_its_trajectories() -> None:
    """As in Aer the shots of a run are the trajectories of a noisy value, whose error they say."""
    noisy = {"noise_model": NoiseModel().with_error("x", bit_flip(0.5)), "shots": 400, "seed_simulator": 1}
    data = EstimatorV2(options={"run_options": noisy}).run([(one().remove_final_measurements(False), "Z")]).result()[0]
    assert data.metadata["trajectories"] == 400
    assert data.data.stds == pytest.approx(0.05, rel=0.1)


def test_what_is_nearer_wins() -> None:
    """A keyword wins over options, these over the dictionaries in them, and all over the backend."""
    backend = QsimExBackend(device="cpu", seed_simulator=1, shots=3, precision="single")
    inner = {"run_options": {"seed_simulator": 2, "shots": 5}, "backend_options": {"shots": 4, "precision": "double"}}
    assert SamplerV2(backend=backend).options.precision == "single"
    assert SamplerV2(backend=backend).default_shots == 3
    assert SamplerV2(backend=backend, options=inner).default_shots == 5
    assert SamplerV2(backend=backend, options=inner).options.precision == "double"
    assert SamplerV2(backend=backend, options={**inner, "seed": 3}).options.seed == 3
    assert SamplerV2(backend=backend, options={**inner, "seed": 3}, seed=4, default_shots=6).options.seed == 4
    assert SamplerV2(backend=backend, options={**inner, "seed": 3}, seed=4, default_shots=6).default_shots == 6


@pytest.mark.parametrize("primitive", [SamplerV2, EstimatorV2])
def test_what_a_constructor_refuses(primitive: Any) -> None:
    """Unknown options are named with the nearest one wherever they are, and so are values with another meaning."""
    for form in ({"seeed": 1}, {"run_options": {"seeed": 1}}, {"backend_options": {"seeed": 1}}):
        with pytest.raises(OptionError, match=r"'seeed'. Did you mean 'seed'"):
            primitive(options=form)
    with pytest.raises(OptionError, match="'statevector', 'density_matrix', 'stabilizer', got"):
        primitive(options={"backend_options": {"method": "matrix_product_state"}})
    with pytest.raises(OptionError, match="meas_level=2"):
        primitive(options={"run_options": {"meas_level": 1}})
    with pytest.raises(OptionError, match="both"):
        primitive(backend=QsimExBackend(), mode=QsimExBackend())
    with pytest.raises(OptionError, match="BackendV2"):
        primitive(mode="ibm_fez")
    with pytest.raises(OptionError, match="dictionary"):
        primitive(options=3)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool, pytest.raises(OptionError, match="executor"):
        primitive(backend=QsimExBackend(executor=pool))


# --- noise of devices -------------------------------------------------------------------------------------------------


def test_primitives_of_a_device_have_its_noise() -> None:
    """A fake device's noise is in samples and values, and a noise model that is given replaces it."""
    device = GenericBackendV2(3, seed=2)
    circuit = transpile(one(), device, initial_layout=[1])
    for sampler in (SamplerV2.from_backend(device, **SEEDED), SamplerV2(backend=device, **SEEDED)):
        counts = sampler.run([circuit], shots=20_000).result()[0].data.meas.get_counts()
        assert 0 < counts["0"] < 3000
    assert bits(SamplerV2.from_backend(device, noise_model=FLIPPED, **SEEDED), one()).sum() == 0
    bare = circuit.remove_final_measurements(inplace=False)
    (result,) = EstimatorV2.from_backend(device, trajectories=20_000, **SEEDED).run([(bare, "IZI")]).result()
    assert -1 < result.data.evs < -0.99


def test_primitives_take_the_noise_of_a_backend() -> None:
    """A backend's noise model is that of the primitive too."""
    backend = QsimExBackend(device="cpu", noise_model=FLIPPED)
    assert bits(SamplerV2(backend=backend), one()).sum() == 0
    (result,) = EstimatorV2(mode=backend).run([(one().remove_final_measurements(inplace=False), "Z")]).result()
    assert result.data.evs == pytest.approx(1)


# --- Qiskit's own primitives on the backend ---------------------------------------------------------------------------


def test_backend_primitives_of_qiskit_run_on_the_backend() -> None:
    """`BackendSamplerV2` and `BackendEstimatorV2` pass options and seeds to the backend, also without measurements."""
    backend = QsimExBackend(device="cpu")
    options = {"default_shots": 20, "seed_simulator": 7, "run_options": {"meas_level": 2}}
    first, again = (bits(BackendSamplerV2(backend=backend, options=options), coin()) for _ in range(2))
    assert np.array_equal(first, again)
    silent = QuantumCircuit(2, 2)
    (result,) = BackendSamplerV2(backend=backend).run([silent]).result()
    assert result.data.c.get_counts() == {"00": 1024}
    pub = (one().remove_final_measurements(inplace=False), "Z")
    (value,) = BackendEstimatorV2(backend=backend, options={"seed_simulator": 1}).run([pub]).result()
    assert value.data.evs == -1
