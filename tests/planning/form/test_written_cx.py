"""Tests of layers of CX that come back between gates, in whatever basis they are written."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning.form.test_written_bindings import error

from benchmarks.engine import circuit_of
from benchmarks.forms import transpiled
from benchmarks.gates import Gate
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Op
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.planning.written.bindings import WrittenBindings
from qsim_ex.planning.written.out import Manner, WrittenCircuit, written_out

BASES = (("rz", "sx", "x", "cx"), ("rz", "sx", "x", "cz"), ("r", "cz"), ("rx", "ry", "rz", "rzz"), ("u", "cz"))
WIRES = 10
PAIRS = tuple(itertools.combinations(range(WIRES), 2))


def between(circuit: Circuit) -> WrittenCircuit | None:
    """Return what is written between the gates of a circuit."""
    return written_out(circuit, manner=Manner.BETWEEN)


def names(circuit: Circuit) -> list[str]:
    """Return the names of what is written of a circuit, which is checked to be the circuit."""
    written = between(circuit)
    assert written
    assert error(circuit, written) < 1e-12
    return [one.name for one in written.structure.instructions if isinstance(one, Op)]


def ansatz(turns: tuple[str, ...], joins: str, seed: int = 1, layers: int = 3) -> list[Gate]:
    """Return layers of turns of each wire, and of a gate on each pair, by angles from the whole circle."""
    rng, gates = np.random.default_rng(seed), list[Gate]()
    for layer in range(layers + 1):
        for wire in range(WIRES):
            gates += [Gate(name, (wire,), (float(rng.uniform(0, 6)),)) for name in turns]
        gates += [Gate(joins, pair) for pair in PAIRS if layer < layers]
    return gates


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("turns", [("ry",), ("rx",), ("ry", "rz"), ("rz", "ry"), ("rx", "rz")])
def test_cx_of_all_pairs_come_back(basis: tuple[str, ...], turns: tuple[str, ...]) -> None:
    """Each CX between layers of turns is one CX, and each turn one rotation, whatever H are part of the turns."""
    found = names(transpiled(ansatz(turns, "cx"), WIRES, basis, 1))
    assert found.count("cx") + found.count("cz") == 3 * len(PAIRS)
    assert found.count("cz") <= WIRES
    assert found.count("pauli_rotation") <= 4 * WIRES * len(turns)


@pytest.mark.parametrize("basis", BASES)
def test_cx_between_s_and_t_come_back(basis: tuple[str, ...]) -> None:
    """CX with S, T and other phases among them are CX, though each S lets a wire have three operators between turns."""
    rng, gates = np.random.default_rng(5), ansatz(("ry",), "cx", layers=0)
    for _ in range(3):
        for _ in range(120):
            wires = tuple(sorted(rng.permutation(WIRES)[:2].tolist()))
            gates.append(Gate("cx", wires))
            if rng.integers(4) == 0:
                gates.append(Gate("rz", wires[1:], (float(rng.integers(-3, 4)) * np.pi / 4,)))
        gates += [Gate("rx", (wire,), (float(rng.uniform(0.3, 2)),)) for wire in range(WIRES)]
    found = names(transpiled(gates, WIRES, basis, 1))
    assert found.count("cx") > 240  # of 360, some of which cancel
    assert found.count("cz") <= WIRES


def test_cz_of_all_pairs_stay() -> None:
    """CZ of all pairs, which no H make CX, are fewer than they were, and no CX."""
    found = names(transpiled(ansatz(("ry",), "cz"), WIRES, BASES[0], 1))
    assert found.count("cz") <= 3 * len(PAIRS)
    assert found.count("cx") <= WIRES


@pytest.mark.parametrize("basis", BASES)
def test_checks_of_a_code_around_errors_come_back(basis: tuple[str, ...]) -> None:
    """CX of a code and of two rounds of its checks stay CX, though most of them would cancel around errors."""
    rng = np.random.default_rng(7)
    checks = [(0, 1, 2, 3), (2, 3, 4, 5), (0, 2, 4), (1, 3, 5)]
    gates = [Gate("h", (wire,)) for wire in (0, 2, 4)]
    gates += [Gate("cx", (a, b)) for a, b in itertools.product((0, 2, 4), (1, 3, 5))]
    of_checks = [Gate("cx", (wire, 6 + at)) for at, row in enumerate(checks) for wire in row]
    errors = [Gate("rx", (wire,), (float(rng.normal(0, 0.2)),)) for wire in range(6)]
    gates += [*of_checks, *errors, *of_checks]
    found = names(transpiled(gates, WIRES, basis, 1))
    assert found.count("cx") + found.count("cz") == 9 + 2 * len(of_checks)
    assert found.count("cz") <= WIRES


def test_rotations_between_two_cx_stay_where_most_gates_are_cx() -> None:
    """RY between two CX is one rotation of two wires, unless there are so many CX beside it that these cost nothing."""
    gates = [Gate("cx", (0, 1)), Gate("ry", (0,), (0.4,)), Gate("cx", (0, 1))]
    assert not {"cx", "cz"} & set(names(circuit_of(gates, WIRES)))
    found = names(circuit_of([*gates, *(Gate("cx", pair) for pair in reversed(PAIRS))], WIRES))
    assert found.count("cx") == 2 + len(PAIRS)


def test_all_bindings_have_their_cx() -> None:
    """One circuit is written for all bindings of layers of turns in a basis of CZ, with as many CX as there are."""
    bindings = [transpiled(ansatz(("ry",), "cx", seed), WIRES, ("u", "cz"), 0) for seed in range(4)]
    (structure,) = {one.structure for one in bindings}
    circuit = Circuit.of_structure(structure, np.concatenate([one.operands for one in bindings]))
    written = WrittenBindings(structure, between).of(Bindings.of(circuit.operands))
    assert written
    assert error(circuit, written) < 1e-11
    assert sum(one.name == "cx" for one in written.structure.instructions if isinstance(one, Op)) == 3 * len(PAIRS)


_MANY = st.sampled_from(["cx"] * 12 + ["cz", "swap", "h", "sx", "sxdg", "ry", "rx", "rz", "rzz"])


@settings(max_examples=40)
@given(
    st.lists(st.tuples(_MANY, st.integers(0, 1 << 20)), min_size=4, max_size=40),
    st.sampled_from(BASES),
    st.sampled_from([0, 1, 3]),
)
def test_drawn_gates_of_which_most_are_cx_are_what_is_written(
    drawn: list[tuple[str, int]], basis: tuple[str, ...], level: int
) -> None:
    """Whatever turns and Clifford gates a transpiler writes, what is written of them does the same."""
    gates = []
    for name, seed in drawn:
        rng = np.random.default_rng(seed)
        wires = tuple(rng.permutation(4)[: 2 if name in ("cx", "cz", "swap", "rzz") else 1].tolist())
        quarters = float(rng.integers(-4, 5)) * np.pi / 2
        angles = (quarters if seed % 4 == 0 else float(rng.uniform(-4, 4)),) if name.startswith("r") else ()
        gates.append(Gate(name, wires, angles))
    names(transpiled(gates, 4, basis, level))
