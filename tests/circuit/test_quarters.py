"""Quarter and eighth turns are structure in wide circuits, and angles everywhere else."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from math import pi

import numpy as np
import pytest
from qiskit import QuantumCircuit
from support.phases import alike

from qsim_ex import CircuitBuilder, Options, Simulator, thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.ops import letters
from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder
from qsim_ex.circuit.quarters import QUARTERS, QuarterKeys, quarter
from qsim_ex.errors import ParameterError, WireError
from qsim_ex_provider.translation.circuits import translate_noisy

LEAST = thresholds.now.quarter_wires

ANGLED = [
    ("rz", (0.3,)),
    ("sx", ()),
    ("p", (0.4,)),
    ("rz", (pi / 2,)),
    ("h", ()),
    ("rz", (-pi,)),
    ("p", (-pi / 2,)),
    ("rz", (pi / 4,)),
]
"""Gates on one wire; three of them turn by quarters, and one by an eighth."""


def kinds(circuit: Circuit) -> Counter[tuple[str, str]]:
    """Return how often operations stand in a circuit, by their names and what is known of their entries."""
    return Counter((op.name, letters(op.pattern)) for op in circuit.instructions)


def left_of(angle: float, turns: int) -> Decimal:
    """Return what an angle is without some eighth turns, to 30 digits."""
    return Decimal(angle) - turns * Decimal("3.14159265358979323846264338327950288419716939937511") / 4


@pytest.mark.parametrize("name", QUARTERS)
@pytest.mark.parametrize("turns", range(-18, 19))
@pytest.mark.parametrize("off", [0.0, 9e-16, -9e-16])
def test_a_row_in_place_of_an_angle_is_the_same_gate(name: str, turns: int, off: float) -> None:
    """The matrix of the row that stands for some eighth turns is that of the angle, to the last place but one."""
    angle = turns * pi / 4 + off
    row = quarter(name, [angle])
    if not row:
        assert turns % 8 == 0 or abs(left_of(angle, turns)) > 3e-15
        return

    def phases(gate: str, *angles: float) -> list[complex]:
        entries = GATES[gate].entries(np.array([angles]))[0]
        return [1, *entries] if len(entries) == 1 else list(entries)

    assert abs(left_of(angle, turns)) <= 3e-15
    assert phases(row) == pytest.approx(phases(name, angle), abs=4e-15)


@pytest.mark.parametrize("largest", [10.0, 99.0, 1e4, 1e8, 1e12, 1e16])
def test_what_is_dropped_of_an_angle_does_not_grow_with_it(largest: float) -> None:
    """Multiples of π/4 and the numbers beside them, alone and in bulk, are turns only where 3e-15 at most is left."""
    rng = np.random.default_rng(7)
    turns = np.rint(rng.uniform(-largest, largest, 400) / (pi / 4))
    angles = turns * (pi / 4)
    angles = np.concatenate([angles, np.nextafter(angles, 0), np.nextafter(angles, 4 * largest)])
    found = [quarter("p", [float(angle)]) for angle in angles]
    for angle, number, row in zip(angles.tolist(), [int(turn) for turn in turns] * 3, found, strict=True):
        assert not row or (abs(left_of(angle, number)) <= 3e-15 and row == QUARTERS["p"][number % 16])
    turner = QuarterKeys(["p"], 8)
    keys, which, left = turner.replaced(
        np.array([0], dtype=np.uint64), np.zeros(len(angles), dtype=np.uint32), angles, np.arange(len(angles))
    )
    rows = ["p", *turner.added]
    assert [rows[number] for number in keys[which].tolist()] == [row or "p" for row in found]
    assert left.tolist() == [angle for angle, row in zip(angles.tolist(), found, strict=True) if not row]


@pytest.mark.parametrize("rows", [("p", "z"), ("z", "p"), ("t", "rz", "s", "u1"), ("rz",), tuple(GATES)])
def test_every_row_has_one_number(rows: tuple[str, ...]) -> None:
    """A row that stands for turns has the number that it has already where it is a gate that is read itself."""
    every = (*rows, *QuarterKeys(rows, 8).added)
    assert len(set(every)) == len(every)
    turned = {row for name in rows for row in QUARTERS.get(name, ()) if row}
    assert turned <= set(every)


@pytest.mark.parametrize("angle", [0.0, 2 * pi, pi / 8, pi / 4 + 1e-14, pi / 2 + 1e-14, pi / 2 - 1e-12, 1e-15, 0.3])
def test_other_angles_stay(angle: float) -> None:
    """Nothing stands for what is no eighth turn, nor for zero, with which loops over angles begin."""
    assert quarter("rz", [angle]) == ""


def test_every_way_of_building_finds_them() -> None:
    """Gate by gate, many at a time, and read from Qiskit, a wide circuit has the same structure, but for phases."""
    given = [(name, (wire,), angles) for wire in range(LEAST) for name, angles in ANGLED]
    one, qiskit = CircuitBuilder(LEAST), QuantumCircuit(LEAST)
    for name, wires, angles in given:
        one.gate(name, wires, *angles)
        getattr(qiskit, name)(*angles, *wires)
    many = CircuitBuilder(LEAST).gates(*map(list, zip(*given, strict=True)))
    few = CircuitBuilder(LEAST)
    for begin in range(0, len(given), len(ANGLED)):
        few.gates(*map(list, zip(*given[begin : begin + len(ANGLED)], strict=True)))
    made = [one.build(), many.build(), few.build(), translate_noisy(qiskit, None).circuit]
    assert made[0].structure is made[2].structure
    assert made[1].structure is made[3].structure
    assert alike(*made[:2])
    assert kinds(made[0])["rz", "j"] == LEAST
    assert kinds(made[0])["rz", "w"] == LEAST
    assert kinds(made[0])["sdg", "J"] == LEAST


def test_gates_are_named_as_they_were_written() -> None:
    """A row that only stands for turns is shown by the name of the gate that somebody wrote."""
    circuit = CircuitBuilder(LEAST).gate("p", [0], 3 * pi / 4).gate("rz", [0], -pi / 4).gate("p", [0], pi / 4).build()
    assert set(kinds(circuit)) == {("p", "v"), ("rz", "W"), ("rz", "c"), ("t", "w")}


def test_narrow_circuits_and_controlled_gates_keep_their_angles() -> None:
    """With few wires, and under controls, such a turn is an angle as any other."""
    narrow = CircuitBuilder(LEAST - 1).gate("rz", [0], pi / 2).gate("p", [0], pi).build()
    controlled = CircuitBuilder(LEAST).gate("rz", [0], pi / 2, controls=[1]).gate("crz", [0, 1], pi).build()
    assert set(kinds(narrow)) == {("rz", "c"), ("p", "c")}
    assert set(kinds(controlled)) == {("rz", "c"), ("crz", "c")}


def test_angles_of_a_sweep_stay_angles() -> None:
    """All values of a parameter share one structure; the angles beside it that are quarter turns are no numbers."""
    builder = ParameterSweepBuilder(LEAST, 0)
    builder.gate("rz", [0], np.array([0.0, pi / 2, 0.3])).gate("rz", [0], pi / 2)  # type: ignore[arg-type]
    assert kinds(builder.build()) == {("rz", "c"): 3, ("rz", "j"): 1}


@pytest.mark.parametrize(
    ("wires", "angles", "error", "words"),
    [
        ((99,), (pi / 2,), WireError, "^rz: .*wire 99"),
        ((1, 2), (pi / 2,), WireError, "gate 'rz': expected 1 wires"),
        ((1,), (pi / 2, 3.0), ParameterError, "gate 'rz'.*got 2"),
        ((1,), (), ParameterError, "gate 'rz'.*got 0"),
        ((1,), (float("nan"),), ParameterError, "rz"),
        ((1,), (float("inf"),), ParameterError, "rz"),
        ((1,), ("pi",), ParameterError, "rz"),
    ],
)
def test_what_is_wrong_is_named_as_it_was_written(
    wires: tuple[int, ...], angles: tuple[float, ...], error: type[Exception], words: str
) -> None:
    """A gate that is wrong is refused by its own name, also where its angle is a quarter turn, alone and among many."""
    with pytest.raises(error, match=words):
        CircuitBuilder(LEAST).gate("rz", wires, *angles)
    with pytest.raises(error, match=words):
        CircuitBuilder(LEAST).gates(["h", "rz"], [(0,), wires], [(), angles])


def test_amplitudes_are_those_of_the_angles() -> None:
    """A circuit of exact and nearly exact eighth turns has the amplitudes of the same circuit with matrices."""
    rng = np.random.default_rng(1)
    one, other = CircuitBuilder(LEAST), CircuitBuilder(LEAST)
    for _ in range(300):
        a, b = rng.permutation(LEAST)[:2].tolist()
        angle = float(rng.integers(-16, 17) * pi / 4 + rng.choice([0, 4e-16, -1e-15, 1e-12, 1e-9]))
        for builder in (one, other):
            builder.gate("sx", [a]).gate("cx", [a, b]).gate("sx", [b])
        one.gate("rz", [a], angle)
        other.diagonal(np.exp(np.array([-0.5j, 0.5j]) * angle), [a])
    simulator, values = Simulator(Options(precision="double")), range(1 << LEAST)
    found, expected = (simulator.state(builder.build()).amplitudes(values) for builder in (one, other))
    assert np.abs(found - expected).max() < 1e-13
