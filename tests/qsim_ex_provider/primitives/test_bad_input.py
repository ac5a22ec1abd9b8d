"""Every mistake in a PUB or an option of the primitives has its own error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit.circuit import ClassicalRegister, Parameter, QuantumCircuit, QuantumRegister
from qiskit.primitives import PrimitiveJob
from qiskit.primitives.containers.sampler_pub import SamplerPub

from qsim_ex import errors
from qsim_ex_provider import EstimatorV2, SamplerV2


def given(measure: bool = False) -> QuantumCircuit:
    """A circuit of the name "given" with two parameters."""
    circuit = QuantumCircuit(2, name="given")
    circuit.rx(Parameter("alpha"), 0)
    circuit.ry(Parameter("beta"), 1)
    if measure:
        circuit.measure_all()
    return circuit


SHAPES: list[tuple[Any, str]] = [
    (None, r"PUB 1: circuit 'given' has unbound parameters: alpha, beta"),
    ([1.0, 2.0, 3.0], r"2 parameters \(alpha, beta\); expected values of shape \(..., 2\), got .* \(3,\)"),
    (np.zeros((2, 5)), r"shape \(2, 5\)"),
    (1.0, r"shape \(\)"),
    ({"alpha": [1.0, 2.0]}, r"unbound parameters: beta"),
    ({"alpha": 1.0, "betta": 2.0}, r"'betta'. Did you mean 'beta'"),
    ({"alpha": [1.0, 2.0], "beta": [1.0, 2.0, 3.0]}, r"PUB 1: .*shape"),
    ([["one", "two"]], r"no array of numbers"),
    (np.full((3, 2), 1 + 1j), r"no array of numbers: some are not real"),
    ([np.inf, 0.0], r"'rx': .*not finite in binding 0"),
    ([[0.0, 0.0], [0.0, np.nan]], r"'ry': .*not finite in binding 1.*'given'"),
]


@pytest.mark.parametrize(("values", "message"), SHAPES)
def test_values(values: Any, message: str) -> None:
    """Values that do not fit a circuit's parameters are refused at once, with the PUB, names and shapes."""
    fine = (given(True), [0.1, 0.2])
    with pytest.raises(errors.InvalidInput, match=message):
        SamplerV2(device="cpu").run([fine, (given(True), values)])
    fine = (given(), "ZZ", [0.1, 0.2])
    with pytest.raises(errors.InvalidInput, match=message):
        EstimatorV2(device="cpu").run([fine, (given(), "ZZ", values)])


def test_a_bare_circuit_with_parameters() -> None:
    """A circuit that is a PUB by itself has no values for its parameters."""
    with pytest.raises(errors.ParameterError, match=r"PUB 0: .*alpha, beta"):
        SamplerV2(device="cpu").run([given(True)])


@pytest.mark.parametrize("observable", ["ZZZ", "Z", ["ZZ", "XXX"]])
def test_observables_of_another_width(observable: Any) -> None:
    """Observables are as wide as their circuit."""
    with pytest.raises(errors.CircuitError, match=r"PUB 0: .*number of qubits"):
        EstimatorV2(device="cpu").run([(given(), observable, [1.0, 2.0])])


def test_shapes_that_do_not_broadcast() -> None:
    """Observables and values that cannot be broadcast are named with their shapes."""
    with pytest.raises(errors.CircuitError, match=r"\(3,\).*\(2,\)"):
        EstimatorV2(device="cpu").run([(given(), ["ZZ", "XX", "YY"], np.zeros((2, 2)))])


@pytest.mark.parametrize("name", ["values", "shape", "self"])
def test_registers_that_a_result_cannot_name(name: str) -> None:
    """A register whose name Qiskit's data of a PUB have already is refused before anything runs."""
    circuit = QuantumCircuit(QuantumRegister(1, "q"), ClassicalRegister(1, "c"), ClassicalRegister(1, name))
    circuit.measure(0, 0)
    with pytest.raises(errors.CircuitError, match=rf"PUB 0: .*classical registers, got \['{name}'\]; rename"):
        SamplerV2(device="cpu").run([circuit])


@pytest.mark.parametrize("shots", [10**14, 10**19])
def test_shots_that_no_memory_holds(shots: int) -> None:
    """Shots whose bits do not fit are refused as such, whether NumPy could name their number or not."""
    with pytest.raises(errors.OutOfMemory, match=f"a sample of {shots} shots does not fit: .*Ask for fewer"):
        SamplerV2(device="cpu").run([(given(True), [1.0, 2.0])], shots=shots).result()


@pytest.mark.parametrize("shots", [0, -3, 1.5, True])
def test_shots(shots: Any) -> None:
    """Shots are a positive whole number wherever they are named."""
    with pytest.raises(errors.ShotsError, match="whole number >= 1"):
        SamplerV2(default_shots=shots)
    with pytest.raises(errors.ShotsError):
        SamplerV2(device="cpu").run([], shots=shots)
    with pytest.raises(errors.ShotsError):
        SamplerV2(device="cpu").run([(given(True), [1.0, 2.0], shots)])


@pytest.mark.parametrize("precision", [-0.1, np.nan, "high", True])
def test_precision(precision: Any) -> None:
    """A standard error is a number from 0 up."""
    with pytest.raises(errors.OptionError, match="expected a standard error"):
        EstimatorV2(default_precision=precision)
    with pytest.raises(errors.OptionError):
        EstimatorV2(device="cpu").run([], precision=precision)
    with pytest.raises(errors.InvalidInput):
        EstimatorV2(device="cpu").run([(given(), "ZZ", [1.0, 2.0], precision)])


@pytest.mark.parametrize("primitive", [SamplerV2, EstimatorV2])
def test_options(primitive: Any) -> None:
    """Unknown options name the nearest one, and values are checked."""
    with pytest.raises(errors.OptionError, match=r"'divice'. Did you mean 'device'"):
        primitive(divice="cpu")
    with pytest.raises(errors.OptionError, match="one of seed_simulator and seed, which are the same"):
        primitive(seed=1, seed_simulator=1)
    with pytest.raises(errors.OptionError, match=r"precision: expected one of .*, got 0.01"):
        primitive(precision=0.01)
    with pytest.raises(errors.OptionError, match="seed"):
        primitive(seed=-1)
    with pytest.raises(errors.OptionError, match="checkpoint: expected the path of a file, got 3"):
        primitive(checkpoint=3)
    assert primitive(device="cpu", seed=3).options.seed == 3


def test_the_other_primitives_option() -> None:
    """The sampler has no precision of its own, the estimator no shots."""
    with pytest.raises(errors.OptionError, match="there is no option 'default_precision'"):
        SamplerV2(default_precision=0.1)
    with pytest.raises(errors.OptionError, match="there is no option 'default_shots'"):
        EstimatorV2(default_shots=10)


@pytest.mark.parametrize("primitive", [SamplerV2, EstimatorV2])
def test_nothing(primitive: Any) -> None:
    """No PUBs give an empty result."""
    job = primitive(device="cpu").run([])
    assert isinstance(job, PrimitiveJob)
    assert len(job.result()) == 0


def test_no_bindings() -> None:
    """An empty array of values gives empty arrays."""
    sampled = SamplerV2(device="cpu").run([(given(True), np.zeros((0, 2)))], shots=5).result()[0].data
    assert sampled.meas.array.shape == (0, 5, 1)
    estimated = EstimatorV2(device="cpu").run([(given(), "ZZ", np.zeros((0, 2)))]).result()[0].data
    assert estimated.evs.shape == (0,)


def test_nothing_measured() -> None:
    """A circuit with classical bits that measures nothing warns, and its bits are 0; another PUB has its own."""
    flipped = QuantumCircuit(1, 1)
    flipped.x(0)
    flipped.measure(0, 0)
    with pytest.warns(UserWarning, match=r"PUB 0: .* measures nothing"):
        job = SamplerV2(device="cpu").run([QuantumCircuit(1, 1), flipped], shots=3)
    assert [one.data.c.get_counts() for one in job.result()] == [{"0": 3}, {"1": 3}]


def test_no_classical_registers() -> None:
    """A circuit without classical registers warns and gives an empty result, as Qiskit's sampler does."""
    with pytest.warns(UserWarning, match="no classical register"):
        job = SamplerV2(device="cpu").run([QuantumCircuit(1)])
    assert list(job.result()[0].data) == []


def test_a_circuit_that_is_no_pub_list() -> None:
    """A circuit in place of a list of PUBs is refused."""
    with pytest.raises(errors.CircuitError, match=r"got a QuantumCircuit; pass \[circuit\]"):
        SamplerV2(device="cpu").run(given(True))


def test_a_large_seed() -> None:
    """A seed may be any whole number from 0 up, since each binding has a seed that is made from it."""
    circuit = given(True)
    first, again = (
        SamplerV2(device="cpu", seed=1 << 80).run([(circuit, [1.0, 2.0])], shots=50).result()[0] for _ in range(2)
    )
    assert first.data.meas == again.data.meas


def test_a_ready_pub_is_checked_too() -> None:
    """A PUB that Qiskit has made is looked at as one given by a tuple is."""
    pub = SamplerPub.coerce((given(True), {("alpha", "gamma"): [1.0, 2.0]}))
    with pytest.raises(errors.ParameterError, match="gamma"):
        SamplerV2(device="cpu").run([pub])
