"""Tests of gates on the same few wires that are one again: `Manner.CLUSTERS`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.engine import circuit_of
from benchmarks.forms import transpiled
from benchmarks.gates import MANY_CONTROLS, Gate, Matrix
from benchmarks.textbook import haar
from qsim_ex import reference, thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Op
from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder
from qsim_ex.planning.written.out import Manner, WritingLimits, WrittenCircuit, written_out

BASES = (("rz", "sx", "x", "cx"), ("rz", "sx", "x", "cz"), ("r", "cz"), ("rx", "ry", "rz", "rzz"), ("u", "cz"))


def clusters(circuit: Circuit, *, zeros: bool = False) -> WrittenCircuit:
    """Return what is written of a circuit, which is checked to be the circuit, or to make the same of |0…0⟩."""
    written = written_out(circuit, manner=Manner.CLUSTERS, zeros=zeros)
    assert written
    rng, size = np.random.default_rng(3), 1 << circuit.num_qubits
    psi = np.eye(1, size, dtype=np.complex128)[0] if zeros else rng.normal(size=size) + 1j * rng.normal(size=size)
    found = written.circuit(circuit.operands)
    assert np.abs(reference.simulate(found, psi) - reference.simulate(circuit, psi)).max() < 1e-11
    return written


def wires_of(written: WrittenCircuit) -> Counter[int]:
    """Return on how many wires the gates are that are on more than two."""
    ops = [one for one in written.structure.instructions if isinstance(one, Op)]
    return Counter(count for one in ops if (count := len(one.mixes) + one.when.mask.bit_count()) > 2)


def rx(angle: float) -> Matrix:
    """Return a turn about X."""
    c, s = np.cos(angle / 2), np.sin(angle / 2)
    return np.array([[c, -1j * s], [-1j * s, c]])


def turns(wires: int) -> list[Gate]:
    """Return a turn of each wire, about an axis of its own."""
    return [Gate("u", (wire,), (0.3 + 0.2 * wire, 0.7, 1.1 - 0.3 * wire)) for wire in range(wires)]


def entangled(wires: int) -> list[Gate]:
    """Return turns and a ring of CX, behind which no transpiler knows that a wire is 0."""
    return [*turns(wires), *(Gate("cx", (wire, (wire + 1) % wires)) for wire in range(wires)), *turns(wires)]


@pytest.mark.parametrize("basis", BASES)
def test_arithmetic_with_numbers_is_x(basis: tuple[str, ...]) -> None:
    """X, CX and Toffolis on |0…0⟩, in the gates of a machine, grow to X of the wires that are 1 then, and a phase."""
    rng, gates = np.random.default_rng(5), [Gate("x", (wire,)) for wire in (0, 2, 5)]
    for _ in range(12):
        a, b, c = rng.permutation(7)[:3].tolist()
        gates += [Gate("ccx", (a, b, c)), Gate("cx", (a, c))]
    circuit = transpiled(gates, 7, basis, 0)
    written = written_out(circuit, manner=Manner.GROWN, zeros=True)
    assert written
    assert {one.name for one in written.structure.instructions if isinstance(one, Op)} <= {"x", "global_phase"}
    found = reference.simulate(written.circuit(circuit.operands))
    assert np.abs(found - reference.simulate(circuit)).max() < 1e-12


@pytest.mark.parametrize("basis", BASES)
def test_what_a_wire_does_alone_from_0_to_1_is_x(basis: tuple[str, ...]) -> None:
    """Beside phases under conditions, turns that make 1 of a wire that is 0 are X, and what leaves it 0 is nothing."""
    alone = [
        Gate("h", (4,)),
        Gate("rz", (4,), (np.pi,)),
        Gate("h", (4,)),
        Gate("rz", (4,), (0.3,)),
        Gate("rz", (5,), (0.4,)),
    ]
    gates = [*turns(4), Gate("mcz", (0, 1, 2, 3)), *turns(4), Gate("mcz", (3, 1, 2, 0)), *turns(4), *alone]
    written = clusters(transpiled(gates, 6, basis, 0), zeros=True)
    on = [one for one in written.structure.instructions if isinstance(one, Op) and one.acts_on >> 4]
    assert [(one.name, one.mixes) for one in on] == [("x", (4,))]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("level", [0, 1, 3])
def test_gates_under_many_controls_come_back(basis: tuple[str, ...], level: int) -> None:
    """Z under three and four controls, and Toffolis, are one phase each, in whatever basis, between turns of wires."""
    many = [(0, 1, 2, 3), (1, 2, 3, 4, 0), (2, 3, 4)]
    gates = entangled(5)
    for wires in many:
        gates += [Gate(MANY_CONTROLS, wires), *turns(5)]
    found = wires_of(clusters(transpiled(gates, 5, basis, level)))
    assert found == Counter(map(len, many))


def test_the_phase_of_thousands_of_gates_is_as_exact_as_their_numbers() -> None:
    """Of 20,000 CZ between turns, of which each is a quarter turn and a phase, amplitudes are right to 1e-11."""
    rng, gates = np.random.default_rng(5), list[Gate]()
    for _ in range(20_000):
        pair = tuple(rng.permutation(3)[:2].tolist())
        gates += [Gate("rz", pair[:1], (rng.uniform(-3, 3),)), Gate("sx", pair[:1]), Gate("cz", pair)]
    clusters(circuit_of(gates, 3))


@pytest.mark.parametrize("basis", BASES)
def test_controlled_phases_between_clusters_are_where_both_wires_are_1(basis: tuple[str, ...]) -> None:
    """A phase of two wires that a transpiler has made ZZ is one of a fourth of the state, not of all of it."""
    gates = entangled(5)
    for wires in [(0, 1, 2, 3), (1, 2, 3, 4)]:
        gates += [Gate(MANY_CONTROLS, wires), *turns(5)]
        gates += [Gate("cp", pair, (0.3 + 0.1 * pair[0],)) for pair in [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]]
    ops = [one for one in clusters(transpiled(gates, 5, basis, 1)).structure.instructions if isinstance(one, Op)]
    assert all(read.bit_count() < 2 for one in ops for read in one.reads)
    assert sum(not one.mixes and one.when.mask.bit_count() == 2 for one in ops) >= 10


@pytest.mark.parametrize("basis", BASES)
def test_gates_that_borrow_wires_come_back(basis: tuple[str, ...]) -> None:
    """Z under five controls is one phase where a transpiler has computed a condition into a wire that is 0.

    For any state it is more: that wire is another control then.
    """
    gates = [*turns(9), *(Gate(MANY_CONTROLS, (*range(5), wire)) for wire in (5, 6, 7)), *turns(9)]
    circuit = transpiled(gates, 9, basis, 1)
    assert wires_of(clusters(circuit, zeros=True)) == {6: 3}
    assert sum(wires_of(clusters(circuit)).values()) > 3


@pytest.mark.parametrize("basis", BASES[1:4])
@pytest.mark.parametrize("level", [1, 3])
def test_gates_that_borrow_wires_in_any_state_come_back(basis: tuple[str, ...], level: int) -> None:
    """Z under six controls is computed into wires that others have used, by relative-phase Toffolis, on nine wires."""
    gates = [*entangled(10), Gate(MANY_CONTROLS, (*range(7),)), *turns(10)]
    assert wires_of(clusters(transpiled(gates, 10, basis, level)))[7] == 1


@pytest.mark.parametrize("basis", BASES)
def test_dense_blocks_on_three_wires_come_back(basis: tuple[str, ...]) -> None:
    """A matrix on three wires that was taken apart is one again, and is all there is but for turns at the end."""
    rng = np.random.default_rng(4)
    on = [(0, 1, 2), (3, 4, 5), (2, 3, 1), (5, 0, 4), (4, 2, 5)]
    circuit = transpiled([Gate("unitary", wires, matrix=haar(rng, 3)) for wires in on], 6, basis, 1)
    assert wires_of(clusters(circuit)) == {3: len(on)}


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("level", [1, 3])
def test_turns_under_a_control_come_back(basis: tuple[str, ...], level: int) -> None:
    """Each turn under a control between turns about any axes is one gate of two wires, and so is a small one."""
    pairs = [(wire, (wire + step) % 6) for step in (1, 2) for wire in range(6)]
    gates = entangled(6)
    for number, pair in enumerate(pairs):
        gates += [Gate("cp", pair, (10.0 ** -(number % 5),)), *turns(6)[: number % 6 + 1]]
    with thresholds.instead(clustered_percent=0):
        written = clusters(transpiled(gates, 6, basis, level))
    ops = [one for one in written.structure.instructions if isinstance(one, Op)]
    joint = [one for one in ops if len(one.mixes) + one.when.mask.bit_count() + sum(map(int.bit_count, one.reads)) > 1]
    assert len(joint) <= len(pairs) + 6


def test_a_form_of_too_many_rotations_has_clusters() -> None:
    """Where a form is given up since it is dense, many gates on the same three wires are clusters, and no dearer."""
    rng = np.random.default_rng(5)
    on = [tuple(rng.permutation(6)[:3].tolist()) for _ in range(12)]
    circuit = transpiled([Gate("unitary", wires, matrix=haar(rng, 3)) for wires in on], 6, BASES[1], 1)
    written = written_out(circuit, manner=Manner.CLUSTERS)
    assert written
    assert written.manner is Manner.CLUSTERS
    assert sum(number << wires for wires, number in wires_of(written).items()) <= len(on) << 3
    assert written.again(Manner.LOCAL, WritingLimits(200)) is None


def test_a_short_run_gives_up_looking_for_clusters() -> None:
    """Within a run clusters are looked for as long as it pays; there is no such limit where none is named."""
    circuit = transpiled([*turns(9), Gate(MANY_CONTROLS, (*range(5), 8)), *turns(9)], 9, BASES[1], 1)
    written = written_out(circuit, manner=Manner.CLUSTERS)
    assert written
    assert written.again(Manner.CLUSTERS, WritingLimits(within=1)) is None
    assert written.again(Manner.CLUSTERS, WritingLimits(within=10**6))
    with thresholds.instead(clustered_entries=0):
        assert written.again(Manner.CLUSTERS, WritingLimits(within=10**4)) is None
        assert written.again(Manner.CLUSTERS, WritingLimits())


def test_turns_under_a_control_are_clusters_about_any_axis() -> None:
    """Two gates of a transpiler that are a turn under a control are one again, also where it is about X."""
    ring = []
    for control in range(8):
        wire = (control + 1) % 8
        for angle in (0.3, -0.3):
            ring += [Gate("rx", (wire,), (angle,)), Gate("cz", (control, wire))]
    written = written_out(transpiled(ring * 3, 8, BASES[1], 1))
    assert written
    assert written.again(Manner.CLUSTERS, WritingLimits())


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("level", [1, 3])
def test_turns_under_a_control_are_so_where_nothing_else_is_found(basis: tuple[str, ...], level: int) -> None:
    """A ring of RX under controls is that in each basis, also where each is one gate between turns, as in RZZ."""
    ring: list[Gate] = []
    for layer in range(2):
        ring += turns(8)
        for control in range(8):
            wire = (control + 1) % 8
            under = np.kron(np.diag([1, 0]), np.eye(2)) + np.kron(np.diag([0, 1]), rx(0.3 + 0.1 * control + layer))
            ring.append(Gate("unitary", (wire, control), matrix=under))
    written = clusters(transpiled(ring, 8, basis, level))
    ops = [one for one in written.structure.instructions if isinstance(one, Op)]
    joint = [one for one in ops if len(one.mixes) + one.when.mask.bit_count() > 1]
    assert len(joint) == 16
    assert all(len(one.mixes) == 1 for one in joint)


def test_where_there_are_no_clusters_nothing_is_written() -> None:
    """Signs of pairs between turns are no clusters; they are as many turns between gates, so nothing is written."""
    ring = [Gate("cz", (wire, (wire + 1) % 8)) for wire in range(8)]
    layers = [
        each for angle in (0.3, 0.5, 0.8) for each in (*ring, *(Gate("rx", (wire,), (angle,)) for wire in range(8)))
    ]
    written = written_out(transpiled(layers, 8, BASES[1], 1))
    assert written
    assert written.again(Manner.CLUSTERS, WritingLimits()) is None


@pytest.mark.parametrize("name", ["cp", "rzz"])
@pytest.mark.parametrize("basis", BASES[1:3])
def test_few_clusters_are_written_where_they_are_less_work_than_between_gates(
    basis: tuple[str, ...], name: str
) -> None:
    """Phases of pairs between layers have about one turn for each wire and layer; first runs do not look for that."""
    phases = [Gate(name, (wire, other), (0.4 + wire,)) for wire in range(6) for other in range(wire)]
    layer = [*(Gate("rx", (wire,), (0.3 + wire,)) for wire in range(6)), *phases]
    circuit = transpiled(layer * 3, 6, basis, 1)
    written = clusters(circuit)
    ops = [one for one in written.structure.instructions if isinstance(one, Op)]
    assert sum(len(one.mixes) > 0 for one in ops) <= 4 * 6
    assert written_out(circuit, manner=Manner.CLUSTERS, limits=WritingLimits(within=10**9)) is None


def test_what_varies_stays_between_clusters() -> None:
    """A rotation by an angle that differs among bindings is one for all of them, and clusters around it are found."""
    angles = np.array([0.3, 1.4, -2.0])
    builder = ParameterSweepBuilder(4, 0)
    for wires in ((0, 1, 2), (1, 2, 3)):
        a, b, c = wires
        for wire in range(4):
            builder.gate("h", [wire]).gate("ry", [wire], 0.4)
        builder.gate("h", [c])
        for control in (b, a, b, a):  # a Toffoli in eighth turns
            builder.gate("cx", [control, c]).gate("tdg" if control == b else "t", [c])
        builder.gate("t", [b]).gate("h", [c]).gate("cx", [a, b]).gate("t", [a]).gate("tdg", [b]).gate("cx", [a, b])
        builder.gate("rzz", [0, 3], angles)
    written = of_bindings(builder, len(angles))
    assert written
    assert wires_of(written)[3] == 2


def of_bindings(builder: ParameterSweepBuilder, count: int) -> WrittenCircuit | None:
    """Return what is written of clusters for all bindings of a sweep, which is checked to be the circuit of each."""
    sweep = builder.sweep(count)
    structure, operands = sweep.template.structure, sweep.operands(np.arange(count))
    written = written_out(Circuit.of_structure(structure, operands), manner=Manner.CLUSTERS)
    psi = np.random.default_rng(7).normal(size=1 << structure.num_qubits) + 0j
    for one in np.split(operands, count) if written else ():
        expected = reference.simulate(Circuit.of_structure(structure, one), psi)
        assert np.abs(reference.simulate(written.circuit(one), psi) - expected).max() < 1e-11
    return written


def test_a_turn_before_what_varies_stays_behind_what_is_left_of_a_cluster() -> None:
    """Where a beginning of a cluster is put, the rest of it comes before turns that a rotation is behind."""
    builder = ParameterSweepBuilder(4, 0)
    builder.gate("cz", [2, 3]).gate("h", [2]).gate("cx", [2, 0]).gate("rzz", [3, 0], np.array([0.7, 1.9]))
    builder.gate("cx", [1, 2]).gate("cx", [1, 2])
    assert of_bindings(builder, 2)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["h", "rz", "cx", "ccx", "varies"]), st.integers(0, 1 << 20)), min_size=4))
def test_drawn_gates_with_angles_that_vary_are_what_is_written(drawn: list[tuple[str, int]]) -> None:
    """Clusters among rotations by angles that differ among bindings do what the circuit of each binding does."""
    builder = ParameterSweepBuilder(4, 0)
    for name, seed in drawn:
        rng = np.random.default_rng(seed)
        a, b, c, _ = rng.permutation(4).tolist()
        if name == "varies":
            builder.gate("rzz", [a, b], rng.uniform(-3, 3, 2))
        elif name == "ccx":
            for control in (b, a, b, a):
                builder.gate("cx", [control, c]).gate("rz", [c], float(rng.uniform(-1, 1)))
        else:
            builder.gate(name, [a, b] if name == "cx" else [a], *([0.3] if name == "rz" else []))
    with thresholds.instead(clustered_percent=0):
        of_bindings(builder, 2)


_GATES = st.sampled_from(["ccx", "many", "h", "sx", "rz", "cx", "cz", "rzz", "unitary"])


@settings(max_examples=40)
@given(st.lists(st.tuples(_GATES, st.integers(0, 1 << 20)), min_size=3, max_size=14), st.booleans(), st.integers(0, 9))
def test_drawn_gates_on_few_wires_are_what_is_written(drawn: list[tuple[str, int]], zeros: bool, way: int) -> None:
    """Whatever gates a transpiler takes apart, what is written of clusters does the same, if they are all or none."""
    gates = []
    for name, seed in drawn:
        rng = np.random.default_rng(seed)
        wires = tuple(rng.permutation(6).tolist())
        if name == "many":
            gates.append(Gate(MANY_CONTROLS, wires[: 3 + seed % 4]))
        elif name == "unitary":
            gates.append(Gate(name, wires[:3], matrix=haar(rng, 3)))
        else:
            angles = (float(rng.uniform(-4, 4)),) if name in ("rz", "rzz") else ()
            number = 3 if name == "ccx" else 2 if name in ("cx", "cz", "rzz") else 1
            gates.append(Gate(name, wires[:number], angles))
    with thresholds.instead(clustered_percent=0):
        clusters(transpiled(gates, 6, BASES[way % len(BASES)], way % 2), zeros=zeros)


@pytest.mark.parametrize("seed", range(120))
def test_what_is_known_of_wires_that_begin_as_1(seed: int) -> None:
    """Phases lose wires that are 1, those of rotations about two wires too, whatever a transpiler has made of X."""
    rng, gates = np.random.default_rng(seed), list[Gate]()
    for wire in range(6):
        if (way := rng.random()) < 0.8:
            gates.append(Gate("x", (wire,)) if way < 0.5 else Gate("ry", (wire,), (float(rng.uniform(0, 3)),)))
    for _ in range(12):
        name = str(rng.choice(["rzz", "rzz", "ccx", "rx", "cx"]))
        wires = tuple(rng.permutation(6)[: {"ccx": 3, "rx": 1}.get(name, 2)].tolist())
        gates.append(Gate(name, wires, (float(rng.uniform(0, 3)),) if name in ("rzz", "rx") else ()))
    basis = (("rx", "ry", "rz", "rzz"), ("u", "rzz", "cz"))[seed % 2]
    with thresholds.instead(clustered_percent=0, clustered_entries=0):
        clusters(transpiled(gates, 6, basis, seed // 2 % 2), zeros=True)
