"""Many gates appended at once, and one after the other."""

import gc

import numpy as np
import pytest
from support.phases import alike

from qsim_ex import CircuitBuilder
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.many import RowGates
from qsim_ex.circuit.phases import counted
from qsim_ex.circuit.placed_gate import on_arguments
from qsim_ex.errors import WireError
from qsim_ex.frameworks.read_gates import ReadGates, ReadRows

NAMES = [name for name, row in GATES.items() if row.qubits <= 4]


def _drawn(seed: int) -> tuple[list[str], list[tuple[int, ...]], list[list[float]]]:
    rng = np.random.default_rng(seed)
    names = [NAMES[k] for k in rng.integers(len(NAMES), size=int(rng.integers(20, 300)))]
    wires = [tuple(rng.permutation(6)[: GATES[name].qubits].tolist()) for name in names]
    return names, wires, [_angles(rng, len(GATES[name].parameters)) for name in names]


def _angles(rng: np.random.Generator, count: int) -> list[float]:
    """Return angles, of which every other one is a multiple of π/4."""
    return np.where(
        rng.random(count) < 0.5, rng.integers(-20, 21, count) * (np.pi / 4), rng.normal(size=count)
    ).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_gates_make_the_circuit_that_gate_makes(seed: int) -> None:
    """`gates` gives the operations and numbers of as many calls of `gate`, and one phase in place of all of theirs."""
    ours, theirs = CircuitBuilder(6), CircuitBuilder(6)
    for part in range(2):
        names, wires, parameters = _drawn(2 * seed + part)
        ours.gates(names, wires, parameters)
        for name, on, given in zip(names, wires, parameters, strict=True):
            theirs.gate(name, on, *given)
    one, other = ours.build(), theirs.build()
    assert alike(one, other)
    assert len(one.instructions) < len(other.instructions)


@pytest.mark.parametrize("seed", range(20))
def test_gates_count_as_many_wherever_their_phases_stand(seed: int) -> None:
    """Without controls, gates at once count as many operations as gates one by one, since decisions ask for them."""
    names, wires, parameters = _drawn(seed)
    free = [k for k, name in enumerate(names) if not GATES[name].controls]
    names, wires, parameters = ([of[k] for k in free] for of in (names, wires, parameters))
    theirs = CircuitBuilder(6)
    for name, on, given in zip(names, wires, parameters, strict=True):
        theirs.gate(name, on, *given)
    one, other = CircuitBuilder(6).gates(names, wires, parameters).build(), theirs.build()
    assert counted(one.structure) == counted(other.structure) == len(other.instructions)


def test_large_angles_leave_exact_phases() -> None:
    """Angles that other angles are not added to, since their last digit is large, leave the phases of gates alone."""
    angles = [[1e9], *([[0.3]] * 20)]
    ours, theirs = CircuitBuilder(2).gates(["rz"] * 21, [(0,)] * 21, angles), CircuitBuilder(2)
    for (angle,) in angles:
        theirs.gate("rz", (0,), angle)
    assert alike(ours.build(), theirs.build())


def test_operations_of_many_gates_cost_the_garbage_collector_nothing() -> None:
    """Operations hold no cycles, and the collector does not visit those that are made by native code."""
    builder = CircuitBuilder(3).gates(["rz"] * 50, [(0,)] * 50, [[0.1]] * 50)
    assert not any(map(gc.is_tracked, builder.since(0)[:-1]))  # the last one is all phases


def _read(wires: list[tuple[int, ...]], names: list[str], parameters: list[list[float]]) -> ReadGates:
    """Return gates as a framework's reader hands them over."""
    rows = ReadRows(NAMES)
    keys = [
        NAMES.index(name) | sum(w + 1 << 8 + 14 * k for k, w in enumerate(on))
        for name, on in zip(names, wires, strict=True)
    ]
    distinct, numbers = np.unique(np.array(keys, dtype=np.uint64), return_inverse=True)
    starts = np.cumsum([0, *map(len, parameters)])
    none = np.empty((0, 3), dtype=np.int64)
    given = rows, numbers.astype(np.uint32), distinct, np.concatenate(parameters), starts
    return ReadGates(*given, [], np.empty(0, dtype=np.uint64), none)


@pytest.mark.parametrize("shift", [0, 10, 50, 90])
@pytest.mark.parametrize("seed", range(5))
def test_read_gates_are_placed_on_their_wires(seed: int, shift: int) -> None:
    """Gates that a reader has found are those of as many calls of `gate`, on wires below 62 and above."""
    names, wires, parameters = _drawn(seed)
    wires = [tuple(w + shift for w in on) for on in wires]
    ours, theirs = CircuitBuilder(6 + shift), CircuitBuilder(6 + shift)
    for _ in range(2):
        found = _read(wires, names, parameters).append(ours, 0, len(names))
        for name, on, given in zip(names, wires, parameters, strict=True):
            theirs.gate(name, on, *given)
        assert found == set().union(*wires)
    assert alike(ours.build(), theirs.build())


@pytest.mark.parametrize("wrong", [(0, 0), (0, 6)])
def test_read_gates_on_wrong_wires(wrong: tuple[int, int]) -> None:
    """Gates on a wire that comes twice, or is none of the circuit's, raise what `gate` raises."""
    wires = [*([(0, 1)] * 20), wrong]
    with pytest.raises(WireError):
        _read(wires, ["cx"] * 21, [[]] * 21).append(CircuitBuilder(6), 0, 21)


def test_read_gates_on_other_wires() -> None:
    """Gates move to other wires, all of them at once."""
    names, wires, parameters = _drawn(1)
    to = [3, 5, 0, 1, 4, 2]
    moved = _read(wires, names, parameters).on(to)
    there = _read([tuple(to[w] for w in on) for on in wires], names, parameters)
    assert moved.gates(0, len(names)) == there.gates(0, len(names))


def test_a_row_cannot_have_two_numbers() -> None:
    """Rows are numbered once each: of two numbers of one row, the constants of one alone would be filled."""
    with pytest.raises(AssertionError):
        ReadRows(["h", "z", "h"])
    row = on_arguments(GATES["z"])
    with pytest.raises(AssertionError):
        RowGates((row.row, row.row), (row.ops, row.ops))
