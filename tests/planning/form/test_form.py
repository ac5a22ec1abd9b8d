"""Tests of the form of a circuit: that it is the circuit, global phase and all, and the same in every basis."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from support import strategies

from benchmarks.forms import transpiled
from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.gates import GATES
from qsim_ex.errors import Cancelled, NotSupported, OutOfMemory
from qsim_ex.native.library import cancelled_by, function
from qsim_ex.planning.form import Form, form_of, label
from qsim_ex.planning.written.out import written_out
from tools.fuzz.form_oracle import apply_form
from tools.golden_counts import FAMILIES


def distance(circuit: Circuit, form: Form) -> float:
    """Return how far a form is from its circuit on a random state."""
    rng = np.random.default_rng(1)
    psi = rng.normal(size=1 << circuit.num_qubits) + 1j * rng.normal(size=1 << circuit.num_qubits)
    psi /= np.linalg.norm(psi)
    return float(np.abs(apply_form(psi, form, circuit) - reference.simulate(circuit, psi)).max())


@pytest.mark.parametrize("name", sorted(GATES))
def test_the_form_of_a_gate_is_the_gate(name: str) -> None:
    """Each gate of the table, behind turns and with drawn angles, has a form that does the same, phase included."""
    rng = np.random.default_rng(2)
    gate = GATES[name]
    builder = CircuitBuilder(gate.qubits + 1)
    for _ in range(2):
        builder.gate(
            name,
            tuple(rng.permutation(gate.qubits + 1)[: gate.qubits].tolist()),
            *rng.uniform(-7, 7, len(gate.parameters)),
        )
        builder.gate("u", (0,), 0.3, 0.4, 0.5)
    circuit = builder.build()
    assert distance(circuit, form_of(circuit)) < 1e-12


@settings(max_examples=60)
@given(strategies.circuits().filter(lambda circuit: circuit.structure.only_gates))
def test_the_form_of_a_drawn_circuit_is_the_circuit(circuit: Circuit) -> None:
    """Drawn gates, matrices and permutations under drawn controls have a form that does the same."""
    assert distance(circuit, form_of(circuit)) < 1e-11


def test_the_phase_of_many_gates_is_as_exact_as_that_of_few() -> None:
    """The phases of thousands of gates are added up without losing digits: 16,000 gates are 1 but for 2e-13."""
    builder = CircuitBuilder(2)
    for _ in range(4000):
        builder.gate("sx", [0]).gate("cz", [0, 1]).gate("cz", [0, 1]).gate("sx", [0])
    phase = form_of(builder.build()).phase
    assert abs(np.exp(1j * phase) - 1) < 2e-13


def test_many_turns_that_are_undone_leave_no_rotation_by_what_they_are_rounded() -> None:
    """2,000 turns and their inverses, which are the identity to within 2e-12, leave no rotation."""
    builder, turns = CircuitBuilder(1), np.random.default_rng(5).uniform(-np.pi, np.pi, (2000, 3))
    for theta, phi, lam in turns:
        builder.gate("u", (0,), theta, phi, lam)
    for theta, phi, lam in turns[::-1]:
        builder.gate("u", (0,), -theta, -lam, -phi)
    assert not form_of(builder.build()).rotations


BASES = (("rz", "sx", "x", "cx"), ("rz", "sx", "x", "cz"), ("r", "cz"), ("rx", "ry", "rz", "rzz"), ("u", "cz"))
FAMILIES_WITH_ONE_LIST = (
    "qaoa_dense",
    "qaoa_routed",
    "hubbard",
    "pauli_strings",
    "kernel",
    "clifford",
    "ghz",
    "heisenberg",
    "ucc",
    "uccsd",
    "surface_code",
    "iqp",
    "adder",
    "draper",
)


@pytest.mark.parametrize(
    ("name", "basis"),
    [
        (name, BASES[(k + more) % len(BASES)])
        for k, name in enumerate(sorted(set(FAMILIES) - {"grover"}))
        for more in (0, 2)
    ],
)
def test_the_form_of_a_transpiled_circuit_is_the_circuit(name: str, basis: tuple[str, ...]) -> None:
    """Each family of the benchmarks in two bases has a form that does the same on eight wires, phase included."""
    circuit = transpiled(FAMILIES[name](8), 8, basis, 1)
    assert distance(circuit, form_of(circuit)) < 1e-10


@pytest.mark.parametrize("name", FAMILIES_WITH_ONE_LIST)
def test_the_key_does_not_depend_on_the_basis(name: str) -> None:
    """Circuits of Clifford gates and Pauli rotations have one key, in whatever basis a transpiler wrote them."""
    gates = FAMILIES[name](10)
    keys = {form_of(transpiled(gates, 10, basis, level)).key for basis in BASES for level in (0, 1)}
    assert len(keys) == 1


def test_keys_tell_lists_apart() -> None:
    """Pauli strings, their places, and whether an angle is an eighth turn are in the key; other angles are not."""

    def key(*rotations: tuple[str, float]) -> int:
        builder = CircuitBuilder(3)
        for paulis, angle in rotations:
            builder.pauli_rotation(angle, paulis, (0, 1, 2))
        return form_of(builder.build()).key

    assert key(("XIZ", 0.3), ("ZZI", 0.4)) == key(("XIZ", 0.5), ("ZZI", -0.6))
    different = [
        key(("XIZ", 0.3), ("ZZI", 0.4)),
        key(("XIZ", 0.3), ("ZIZ", 0.4)),
        key(("ZZI", 0.3), ("XIZ", 0.4)),
        key(("XIZ", 0.3), ("ZIZ", np.pi / 4)),
        key(("XIZ", 0.3)),
        key(),
    ]
    assert len(set(different)) == len(different)


def test_angles_are_those_of_one_binding() -> None:
    """Of two angles that make up a quarter turn nothing is left, nor of an angle that is one."""
    builder = CircuitBuilder(2)
    builder.gate("rzz", (0, 1), 0.3).gate("rz", (0,), 0.2).gate("rzz", (0, 1), np.pi / 2 - 0.3).gate("rx", (1,), np.pi)
    form = form_of(builder.build())
    assert [label(rotation.pauli, 2) for rotation in form.rotations] == ["IZ"]


@pytest.mark.parametrize("fault", ["a sign of an image", "an angle", "a phase", "a string", "the order of layers"])
def test_planted_faults_are_caught(fault: str) -> None:
    """The distance of a form from its circuit sees one wrong sign, angle, phase, string, or place."""
    builder = CircuitBuilder(4)
    rng = np.random.default_rng(3)
    for _ in range(30):
        one, other = (int(wire) for wire in rng.choice(4, 2, replace=False))
        builder.gate("rx", (one,), rng.uniform(0.1, 0.7)).gate("cx", (one, other)).gate(
            "rz", (other,), rng.uniform(0.1, 0.7)
        )
    circuit = builder.build()
    form = form_of(circuit)
    assert distance(circuit, form) < 1e-12
    first, *others = form.rotations
    match fault:
        case "a sign of an image":
            image, *images = form.clifford.x_images
            turned = replace(image, coefficient=-image.coefficient)
            form = replace(form, clifford=replace(form.clifford, x_images=(turned, *images)))
        case "an angle":
            form = replace(form, rotations=(replace(first, angle=-first.angle), *others))
        case "a phase":
            form = replace(form, phase=form.phase + 1e-6)
        case "a string":
            form = replace(form, rotations=(replace(first, pauli=replace(first.pauli, z=first.pauli.z ^ 1)), *others))
        case _:
            form = replace(form, rotations=(replace(first, layer=form.num_layers), *others))
    assert distance(circuit, form) > 1e-9


def test_the_form_is_cancelled_as_planning_is() -> None:
    """A form in the making ends with `Cancelled` once its event is set."""
    builder = CircuitBuilder(20)
    rng = np.random.default_rng(4)
    for angle in rng.uniform(0, 1, 20000):
        builder.gate("u", (int(rng.integers(20)),), angle, 0.3, 0.4)
        builder.gate("cx", tuple(rng.choice(20, 2, replace=False).tolist()))
    cancel = threading.Event()
    cancel.set()
    with cancelled_by(cancel), pytest.raises(Cancelled):
        form_of(builder.build())


def test_what_has_no_form_is_refused() -> None:
    """Measurements and initial states are refused, and so are more wires than masks have."""
    with pytest.raises(NotSupported, match="gates alone"):
        form_of(CircuitBuilder(1).initialize([0.6, 0.8], (0,)).build())
    with pytest.raises(NotSupported, match="gates alone"):
        form_of(CircuitBuilder(1, 1).measure((0,), (0,)).build())
    with pytest.raises(NotSupported, match="at most 62 wires"):
        form_of(CircuitBuilder(63).gate("h", (0,)).build())


@pytest.mark.parametrize("make", [form_of, written_out])
def test_memory_that_is_refused_is_an_error_and_nothing_is_left(make: Callable[[Circuit], object]) -> None:
    """Each allocation of a form is refused in turn: the first, then the second alone, until it has all of them."""
    builder = CircuitBuilder(3)
    for wire in range(3):
        builder.gate("u", (wire,), 0.3, 0.4, 0.5).gate("cx", (wire, (wire + 1) % 3)).gate("rzz", (0, 2), 0.2 + wire)
    if make is form_of:  # nothing is written of a block
        builder.unitary(strategies.random_unitary(8, 1), (0, 1, 2))
    circuit = builder.unitary(strategies.random_unitary(4, 2), (0, 2)).build()
    wanted, refuse_after, blocks = make(circuit), function("refuse_after"), function("allocated_blocks")
    before, granted, words = blocks(), 0, ""
    while True:
        refuse_after(granted)
        try:
            found = make(circuit)
        except OutOfMemory as error:
            words = str(error)
        else:
            break
        finally:
            refuse_after(-1)
        assert blocks() == before
        granted += 1
    assert granted > 50
    assert ("writing a circuit as rotations" if make is form_of else "writing rotations as gates") in words
    assert repr(found) == repr(wanted)


def test_the_active_width_is_the_rank_of_what_is_flipped() -> None:
    """Z rotations have none, a rotation about XX one in any basis, and X0, X1, X0·X1 two; words tell it."""
    parity, flips = CircuitBuilder(3), CircuitBuilder(3)
    parity.gate("h", [0]).gate("cx", [0, 1]).gate("rz", [1], 0.3).gate("cx", [0, 1]).gate("h", [0])
    flips.gate("rx", [0], 0.3).gate("rx", [1], 0.3).gate("rxx", [0, 1], 0.3).gate("rz", [2], 0.3)
    diagonal = form_of(CircuitBuilder(3).gate("rz", [0], 0.3).gate("rzz", [0, 2], 0.3).build())
    assert [one.active_width for one in (diagonal, form_of(parity.build()), form_of(flips.build()))] == [0, 1, 2]
    told = f"2 Pauli rotations in 1 layer, active width 0 of 3, and a Clifford operator (key {diagonal.key:016x})"
    assert diagonal.describe() == told
