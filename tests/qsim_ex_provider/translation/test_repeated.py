"""Circuits that are translated again: nothing is translated twice, and no change goes unnoticed."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qiskit.circuit import CircuitInstruction, Delay, Gate, Parameter, QuantumCircuit
from qiskit.circuit.library import PauliEvolutionGate, RXGate, RYGate, UnitaryGate, XGate, YGate
from qiskit.quantum_info import SparsePauliOp
from qiskit.synthesis import SuzukiTrotter

from qsim_ex import Circuit, PauliSum, Simulator, thresholds
from qsim_ex.circuit import many
from qsim_ex.circuit.noise.channels import depolarizing
from qsim_ex.circuit.noise.model import NoiseModel
from qsim_ex.errors import ParameterError
from qsim_ex.frameworks import Channel, Initialize, ParameterColumns, Remembered
from qsim_ex_provider import differentiated
from qsim_ex_provider.options import noise_of
from qsim_ex_provider.translation import circuits
from qsim_ex_provider.translation.circuits import translate, translate_noisy, translate_sweep

A, B = Parameter("a"), Parameter("b")


def fresh(*, matrices: bool = True) -> QuantumCircuit:
    """Return a circuit with a gate of each kind that is remembered; matrices: whether two of them are matrices."""
    circuit = QuantumCircuit(3, 2)
    circuit.h(0)
    circuit.rx(0.3, 1)
    circuit.cx(0, 2)
    circuit.append(UnitaryGate(np.array([[0, 1], [1, 0]])) if matrices else YGate(), [1])
    circuit.append(UnitaryGate(np.array([[0, 1j], [1j, 0]])) if matrices else YGate(), [2])
    circuit.barrier()
    circuit.measure([0, 1], [0, 1])
    return circuit


def alike(one: Circuit, other: Circuit) -> bool:
    """Return whether two circuits have the same instructions and numbers."""
    return one.structure is other.structure and bool((one.operands == other.operands).all())


def test_unchanged() -> None:
    """A circuit that is unchanged is translated once."""
    circuit = fresh()
    assert translate(circuit) is translate(circuit)


def test_equal_circuits_are_their_own() -> None:
    """Another circuit with the same gates has a translation of its own, which is equal."""
    one, other = translate(fresh()), translate(fresh())
    assert alike(one, other)


def _assign(circuit: QuantumCircuit) -> None:
    circuit.data[1] = CircuitInstruction(RXGate(0.4), [circuit.qubits[1]])


def _matrix(circuit: QuantumCircuit) -> None:
    circuit.data[3].operation.params[0][:] = np.diag([1, -1])


def _new_matrix(circuit: QuantumCircuit) -> None:
    circuit.data[3] = CircuitInstruction(UnitaryGate(np.diag([1, -1])), [circuit.qubits[1]])


def _phase(circuit: QuantumCircuit) -> None:
    circuit.global_phase = 0.2


def _by_an_ulp(circuit: QuantumCircuit) -> None:
    circuit.data[1] = CircuitInstruction(RXGate(float(np.nextafter(0.3, 1))), [circuit.qubits[1]])


CHANGES: dict[str, Callable[[QuantumCircuit], Any]] = {
    "append": lambda circuit: circuit.x(2),
    "insert": lambda circuit: circuit.data.insert(0, CircuitInstruction(XGate(), [circuit.qubits[0]])),
    "remove": lambda circuit: circuit.data.pop(0),
    "replace": lambda circuit: circuit.data.__setitem__(0, CircuitInstruction(XGate(), [circuit.qubits[0]])),
    "gate": lambda circuit: circuit.data.__setitem__(1, CircuitInstruction(RYGate(0.3), [circuit.qubits[1]])),
    "angle": _assign,
    "angle by an ulp": _by_an_ulp,
    "qubits": lambda circuit: circuit.data.__setitem__(0, CircuitInstruction(XGate(), [circuit.qubits[2]])),
    "matrix in place": _matrix,
    "matrix": _new_matrix,
    "global phase": _phase,
    "clbit": lambda circuit: circuit.data.__setitem__(-1, circuit.data[-1].replace(clbits=[circuit.clbits[0]])),
    "clear": lambda circuit: circuit.clear(),
    "more qubits": lambda circuit: circuit.add_bits(QuantumCircuit(1).qubits),
    "namesake": lambda circuit: circuit.data.__setitem__(0, CircuitInstruction(_namesake(), [circuit.qubits[0]])),
}


def _namesake() -> Gate:
    """Return a gate of a user's own that bears the name of a standard gate."""
    gate = Gate("h", 1, [])
    gate.definition = QuantumCircuit(1)
    gate.definition.x(0)
    return gate


@pytest.mark.parametrize("change", CHANGES)
def test_changes(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change after the first translation is in the second one."""
    circuit = fresh()
    before = translate(circuit)
    CHANGES[change](circuit)
    after = translate(circuit)
    monkeypatch.setattr(circuits, "known_translations", Remembered())
    assert alike(after, translate(circuit))
    assert not alike(after, before)


@pytest.mark.parametrize("change", [change for change in CHANGES if "matrix" not in change])
def test_changes_that_native_code_sees(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit without matrices is not read again before it changes, and a change is in the next translation."""
    with thresholds.instead(native_instructions=0):
        circuit = fresh(matrices=False)
        before = translate(circuit)
        with monkeypatch.context() as context:
            context.setattr(circuits, "_read", None)
            assert translate(circuit) is before
        CHANGES[change](circuit)
        after = translate(circuit)
        monkeypatch.setattr(circuits, "known_translations", Remembered())
        assert alike(after, translate(circuit))
        assert not alike(after, before)


def evolved(time: Any = 0.3) -> QuantumCircuit:
    """Return a circuit with an evolution under two Pauli strings."""
    circuit = QuantumCircuit(2)
    circuit.append(PauliEvolutionGate(SparsePauliOp(["XX", "ZI"], [0.5, 0.25]), time), [0, 1])
    return circuit


def _other(circuit: QuantumCircuit, gate: PauliEvolutionGate) -> None:
    circuit.data[0] = CircuitInstruction(gate, circuit.qubits)


EVOLUTIONS: dict[str, Callable[[QuantumCircuit], Any]] = {
    "time": lambda circuit: _other(circuit, PauliEvolutionGate(SparsePauliOp(["XX", "ZI"], [0.5, 0.25]), 0.4)),
    "string": lambda circuit: _other(circuit, PauliEvolutionGate(SparsePauliOp(["XY", "ZI"], [0.5, 0.25]), 0.3)),
    "formula": lambda circuit: _other(
        circuit, PauliEvolutionGate(SparsePauliOp(["XX", "ZI"], [0.5, 0.25]), 0.3, synthesis=SuzukiTrotter(2))
    ),
    "coefficient in place": lambda circuit: circuit.data[0].operation.operator.coeffs.__setitem__(0, 0.75),
    "string in place": lambda circuit: circuit.data[0].operation.operator.paulis.__setitem__(0, "YY"),
    "repetitions in place": lambda circuit: setattr(circuit.data[0].operation.synthesis, "reps", 2),
}


@pytest.mark.parametrize("change", EVOLUTIONS)
def test_evolutions(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An evolution is translated once, and anew after each change of its time, its strings or its product formula."""
    circuit = evolved()
    before = translate(circuit)
    assert translate(circuit) is before
    EVOLUTIONS[change](circuit)
    after = translate(circuit)
    monkeypatch.setattr(circuits, "known_translations", Remembered())
    assert alike(after, translate(circuit))
    assert not alike(after, before)


def test_gradients_of_evolutions() -> None:
    """A circuit with an evolution for a parametrised time is made ready for gradients once."""
    circuit = evolved(A)
    assert differentiated(circuit) is differentiated(circuit)
    zi = [PauliSum.from_labels({"ZI": 1.0})]  # exp(-i·a·c·XX) turns it at the rate 2c, and ZI itself leaves it
    for coefficient in (0.5, 0.75):
        circuit.data[0].operation.operator.coeffs[0] = coefficient
        found = differentiated(circuit).gradient(Simulator(device="cpu"), np.array([[0.2]]), zi)
        assert found.jacobian[0, 0, 0] == pytest.approx(-2 * coefficient * np.sin(0.4 * coefficient))


def test_parameters_in_place() -> None:
    """Parameters that are assigned in place, first one and then another circuit's, are in the translation."""
    circuit = QuantumCircuit(1)
    circuit.rx(A, 0)
    bound = circuit.assign_parameters({A: 0.3})
    first = translate(bound)
    circuit.assign_parameters({A: 0.4}, inplace=True)
    assert not alike(translate(circuit), first)
    assert translate(circuit).operands[0, 2] == np.cos(0.2)


def test_blocks() -> None:
    """A block of control flow that is changed in place is translated anew."""
    circuit = QuantumCircuit(1, 1)
    circuit.measure(0, 0)
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.x(0)
    before = translate(circuit)
    circuit.data[1].operation.blocks[0].h(0)
    circuit.x(0)
    assert len(translate(circuit).instructions) > len(before.instructions)


def columns(*values: float) -> ParameterColumns:
    """Return the values of the parameters a and b."""
    return ParameterColumns({"a": np.array(values), "b": np.array(values) + 1}, len(values))


def parametrised() -> QuantumCircuit:
    """Return a circuit with two parameters."""
    circuit = QuantumCircuit(2)
    circuit.rx(A, 0)
    circuit.rz(B, 1)
    circuit.u(A, 0.3, B, 0)
    circuit.cx(0, 1)
    circuit.global_phase = A
    return circuit


def test_sweeps() -> None:
    """A circuit with parameters is translated once for all values that are given in several calls."""
    circuit = parametrised()
    first = translate_sweep(circuit, columns(0.1)).sweeps[0]
    again = translate_sweep(circuit, columns(0.4, 0.5)).sweeps[0]
    assert again.template is first.template
    alone = translate_sweep(parametrised(), columns(0.4, 0.5)).sweeps[0]
    assert (again.operands(np.arange(2)) == alone.operands(np.arange(2))).all()


def test_changed_sweeps() -> None:
    """A circuit with parameters that is changed between two calls is translated anew."""
    circuit = parametrised()
    first = translate_sweep(circuit, columns(0.1)).sweeps[0]
    circuit.rx(B, 0)
    again = translate_sweep(circuit, columns(0.1)).sweeps[0]
    assert len(again.template.instructions) == len(first.template.instructions) + 1


def test_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """A formula of parameters is computed anew for other values, without a second translation if it is linear."""
    circuit, square = QuantumCircuit(1), QuantumCircuit(1)
    circuit.rx(A + B, 0)
    square.rx(A * B, 0)
    for value in (0.1, 0.7):
        found = translate_sweep(circuit, columns(value)).sweeps[0].operands(np.arange(1))
        assert found[0, 2] == pytest.approx(np.cos(value + 0.5))
        found = translate_sweep(square, columns(value)).sweeps[0].operands(np.arange(1))
        assert found[0, 2] == pytest.approx(np.cos(value * (value + 1) / 2))
    circuit.data[0] = CircuitInstruction(RXGate(A - B), [circuit.qubits[0]])
    assert translate_sweep(circuit, columns(0.7)).sweeps[0].operands(np.arange(1))[0, 2] == pytest.approx(np.cos(0.5))
    monkeypatch.setattr(circuits.Translator, "whole", None)
    found = translate_sweep(circuit, columns(0.2)).sweeps[0].operands(np.arange(1))
    assert found[0, 2] == pytest.approx(np.cos(0.5))


def test_evolutions_by_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Angles that are linear in times are computed without a second translation, as they are in a new circuit."""

    def made() -> QuantumCircuit:
        circuit = QuantumCircuit(2)
        operator = SparsePauliOp(["XX", "ZI", "II"], [0.5, 0.25, 0.1])
        circuit.append(PauliEvolutionGate(operator, A, synthesis=SuzukiTrotter(2, reps=2)), [0, 1])
        circuit.ry(B, 0)
        return circuit

    circuit, calls = made(), []
    first = translate_sweep(circuit, columns(0.1, 0.2)).sweeps[0]
    with monkeypatch.context() as patch:
        patch.setattr(circuits.Translator, "whole", lambda *_: calls.append(1))
        again = translate_sweep(circuit, columns(0.1, 0.2)).sweeps[0]
        later = translate_sweep(circuit, columns(0.7, -0.3)).sweeps[0]
    assert not calls
    assert alike(first.circuit(0), again.circuit(0))
    other = made().assign_parameters({A: 0.7, B: 1.7})
    found, expected = later.circuit(0), translate(other)
    assert found.structure is expected.structure
    np.testing.assert_allclose(found.operands, expected.operands, atol=1e-15)


def test_values_that_are_not_finite() -> None:
    """Values that are not finite are refused in a second call as in the first one, with the gate's place."""
    circuit = parametrised()
    translate_sweep(circuit, columns(0.1))
    with pytest.raises(ParameterError, match=r"not finite in binding 1.*instruction 0 of circuit"):
        translate_sweep(circuit, columns(0.1, np.nan))


def test_circuits_are_not_kept() -> None:
    """A circuit that its user no longer holds is forgotten."""
    circuit = fresh()
    translate(circuit)
    before = len(circuits.known_translations)
    del circuit
    gc.collect()
    assert len(circuits.known_translations) < before


class _Thing:
    """An object with an identity."""


def test_memory_is_bounded() -> None:
    """What was used longest ago makes room, and what is too large is not remembered."""
    remembered, things = Remembered(most=10), [_Thing() for _ in range(4)]
    for number, thing in enumerate(things[:3]):
        remembered.put(thing, "how", number, "made", 4)
        if number == 1:
            assert remembered.get(things[0], "how", 0) == "made"
    remembered.put(things[3], "how", 3, "made", 11)
    found = [remembered.get(thing, "how", number) for number, thing in enumerate(things)]
    assert found == ["made", None, "made", None]
    assert remembered.get(things[0], "how", 7) is None
    remembered.put(things[3], "how", 3, "made", 10)
    assert remembered.get(things[3], "how", 3) == "made"


def test_noisy_gates_that_come_again() -> None:
    """A noisy gate that comes again on a wire that was initialised in between leaves the wire as no |0>."""
    noise = NoiseModel().with_error(["x", "id"], depolarizing(0.1))
    for name in ("x", "id"):
        circuit = QuantumCircuit(1)
        getattr(circuit, name)(0)
        circuit.initialize([0.6, 0.8], 0)
        getattr(circuit, name)(0)
        circuit.prepare_state([0.6, 0.8], 0)
        found = translate_noisy(circuit, noise).circuit.instructions
        assert sum(isinstance(instruction, Initialize) for instruction in found) == 1
        assert sum(isinstance(instruction, Channel) for instruction in found) == 2


# --- with a noise model of Aer's --------------------------------------------------------------------------------------


def aer_model() -> Any:
    """Return a noise model of Aer's with errors of gates, of a label and of a matrix's own name, and misread bits."""
    noise = pytest.importorskip("qiskit_aer.noise")
    model = noise.NoiseModel(basis_gates=["h", "rx", "cx", "x", "ry", "unitary", "id", "reset"])
    model.add_all_qubit_quantum_error(noise.depolarizing_error(0.1, 1), ["h", "x", "ry", "id", "mine", "reset"])
    model.add_all_qubit_quantum_error(noise.depolarizing_error(0.2, 2), ["cx"])
    model.add_all_qubit_readout_error(noise.ReadoutError([[0.9, 0.1], [0.2, 0.8]]))
    return model


def noisy(circuit: QuantumCircuit, model: Any) -> circuits.NoisyCircuit:
    """Return a circuit as the backend translates it with a noise model."""
    return translate_noisy(circuit, noise_of(model))


def test_noisy_circuits_are_translated_once() -> None:
    """A circuit and a noise model that are unchanged give the same translation; another model gives its own."""
    circuit, model, other = fresh(), aer_model(), aer_model()
    circuit.id(0)
    circuit.reset(1)
    assert noisy(circuit, model) is noisy(circuit, model)
    assert noisy(circuit, model) is not noisy(circuit, other)
    assert noisy(circuit, None).circuit is translate(circuit)


NOISY_CHANGES: dict[str, Callable[[QuantumCircuit], Any]] = {
    **CHANGES,
    "label": lambda circuit: circuit.data.__setitem__(1, CircuitInstruction(RXGate(0.3, "mine"), [circuit.qubits[1]])),
    "label of a matrix": lambda circuit: circuit.data.__setitem__(
        3, CircuitInstruction(UnitaryGate(np.array([[0, 1], [1, 0]]), "mine"), [circuit.qubits[1]])
    ),
    "identity": lambda circuit: circuit.id(2),
    "reset": lambda circuit: circuit.reset(2),
}


@pytest.mark.parametrize("change", NOISY_CHANGES)
def test_changes_of_noisy_circuits(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change after the first noisy translation is in the second one, also where only a label has changed."""
    circuit, model = fresh(), aer_model()
    before = noisy(circuit, model)
    NOISY_CHANGES[change](circuit)
    after = noisy(circuit, model)
    monkeypatch.setattr(circuits, "known_translations", Remembered())
    again = noisy(circuit, model)
    assert alike(after.circuit, again.circuit)
    assert len(after.readout_errors) == len(again.readout_errors)
    assert not alike(after.circuit, before.circuit) or after.readout_errors != before.readout_errors


def test_errors_that_are_added_to_a_model() -> None:
    """An error that is added to a noise model is in the next translation."""
    circuit, model = fresh(), aer_model()
    before = noisy(circuit, model)
    noise = pytest.importorskip("qiskit_aer.noise")
    model.add_quantum_error(noise.depolarizing_error(0.3, 1), ["rx"], [1])
    after = noisy(circuit, model)
    added = [one for one in after.circuit.instructions if isinstance(one, Channel)]
    assert len(added) == 1 + sum(isinstance(one, Channel) for one in before.circuit.instructions)


def test_delays_of_a_device_are_translated_anew() -> None:
    """Delays whose relaxation the model's own passes insert are read again, so a longer delay has more of it."""
    passes = pytest.importorskip("qiskit_aer.noise").RelaxationNoisePass
    model = aer_model()
    model._custom_noise_passes.append(passes([1e-5], [1e-5], dt=1e-9, op_types=Delay))
    circuit = QuantumCircuit(1, 1)
    circuit.delay(1000, 0, "ns")
    circuit.measure(0, 0)
    before = noisy(circuit, model)
    circuit.data[0] = CircuitInstruction(Delay(3000, "ns"), [circuit.qubits[0]])
    assert not alike(noisy(circuit, model).circuit, before.circuit)


def test_gates_are_appended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Native code appends the gates of a circuit at once, and refuses none whose wires are right."""
    append, statuses = many._append_operations(), []
    monkeypatch.setattr(
        many, "_append_operations", lambda: lambda *given: statuses.append(append(*given)) or statuses[-1]
    )
    circuit = QuantumCircuit(4)
    for k in range(40):
        circuit.cx(3, 0)
        circuit.h(1)
        circuit.rx(0.1 * k, 2)
    assert len(translate(circuit).instructions) == 120
    assert statuses == [0]
