"""Tests of forms that are written out as gates: they do what the circuit does, and are one circuit for all bases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import strategies
from support.held import Hold

from benchmarks.forms import transpiled
from benchmarks.gates import Gate
from benchmarks.written_out import row
from qsim_ex import reference, thresholds
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Op
from qsim_ex.planning.written import out
from qsim_ex.planning.written.out import Manner, WritingLimits, written_out
from tools.golden_counts import FAMILIES

BASES = (("rz", "sx", "x", "cx"), ("rz", "sx", "x", "cz"), ("r", "cz"), ("rx", "ry", "rz", "rzz"), ("u", "cz"))


def distance(circuit: Circuit, written: Circuit) -> float:
    """Return how far apart two circuits are on a random state, their phases included."""
    rng = np.random.default_rng(1)
    psi = rng.normal(size=1 << circuit.num_qubits) + 1j * rng.normal(size=1 << circuit.num_qubits)
    psi /= np.linalg.norm(psi)
    return float(np.abs(reference.simulate(written, psi) - reference.simulate(circuit, psi)).max())


@settings(max_examples=60)
@given(
    strategies.circuits().filter(lambda circuit: circuit.structure.only_gates),
    st.sampled_from([1, 3, 200]),
    st.sampled_from([0, 25]),
    st.sampled_from(Manner),
)
def test_what_is_written_out_is_the_circuit(circuit: Circuit, looked_at: int, clustered: int, manner: Manner) -> None:
    """Drawn gates do the same when they are written out, in each manner, however far is looked; no block is."""
    numbers = {"rotations_looked_at": looked_at, "clustered_percent": clustered}
    with thresholds.instead(**numbers):
        written = written_out(circuit, manner=manner)
    assert written is None or distance(circuit, written.circuit(circuit.operands)) < 1e-11


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"grover", "walk", "three_wires"}))
def test_a_family_that_is_written_out_does_the_same(name: str, hold: Hold) -> None:
    """Each family of the benchmarks, in a basis of machines, is what is written of it in each manner."""
    hold(rotations_looked_at=20)
    circuit = transpiled(FAMILIES[name](8), 8, BASES[len(name) % len(BASES)], 1)
    first = written_out(circuit)
    assert first
    for manner in Manner:
        written = first.again(manner, WritingLimits(alone=True))
        assert written or manner in (Manner.CLUSTERS, Manner.GROWN)
        assert not written or distance(circuit, written.circuit(circuit.operands)) < 1e-10


@pytest.mark.parametrize(
    ("name", "manner", "more"),
    [
        ("walk", Manner.LOCAL, True),
        ("heisenberg", Manner.LOCAL, False),
        ("grover", Manner.BACK, True),
        ("heisenberg", Manner.BACK, False),
        ("givens", Manner.MOVES, True),
        ("hubbard", Manner.MOVES, False),
    ],
)
def test_what_is_far_more_work_than_other_manners_is_left_out(name: str, manner: Manner, more: bool) -> None:
    """LOCAL is left out where what was read is far less work, if that is written, and others where LOCAL is."""
    circuit = transpiled(FAMILIES[name](8), 8, BASES[1], 1)
    first = written_out(circuit, manner=Manner.BETWEEN, zeros=True)
    assert first
    assert first.again(manner, WritingLimits()) or manner is not Manner.LOCAL
    assert first.again(Manner.CLUSTERS, WritingLimits())
    assert (first.again(manner, WritingLimits()) is None) == more
    assert first.again(manner, WritingLimits(alone=True))


@pytest.mark.parametrize(
    ("name", "manner"),
    [
        *(("hubbard", manner) for manner in Manner if manner < Manner.BETWEEN and manner is not Manner.GROWN),
        *((name, Manner.LOCAL) for name in ("uccsd", "kernel")),
        ("adder", Manner.MOVES),
        ("surface_code", Manner.BACK),
    ],
)
def test_one_circuit_is_written_for_all_bases(name: str, manner: Manner) -> None:
    """Whatever basis a circuit is given in, the same gates are written of it, with the same angles."""
    gates = FAMILIES[name](8)
    given = [transpiled(gates, 8, basis, 1) for basis in BASES]
    written = [found.circuit(one.operands) for one in given if (found := written_out(one, manner=manner))]
    assert len(written) == len(BASES)
    first = written[0]
    for other in written:
        assert [one._replace(operand=0) for one in other.instructions if isinstance(one, Op)] == [
            one._replace(operand=0) for one in first.instructions if isinstance(one, Op)
        ]
        np.testing.assert_allclose(other.operands, first.operands, atol=1e-9)


def ring(angle: float) -> Circuit:
    """Return two layers of RZZ on a ring and RX, by some angle."""
    builder = CircuitBuilder(8)
    for _ in range(2):
        for wire in range(8):
            builder.gate("rzz", [wire, (wire + 1) % 8], angle)
        for wire in range(8):
            builder.gate("rx", [wire], angle)
    return builder.build()


@pytest.mark.parametrize("manner", [one for one in Manner if one not in (Manner.CLUSTERS, Manner.GROWN)])
def test_large_angles_are_written_as_small_ones(manner: Manner) -> None:
    """Quarter turns in its Clifford operator spread the strings of a form; what is written is none the longer."""
    found = []
    for angle in (0.3, 1.2):
        written = written_out(ring(angle), manner=manner)
        assert written
        ops = [one for one in written.structure.instructions if isinstance(one, Op)]
        found.append([(one.mixes, one.reads) for one in ops if one.name == "pauli_rotation"])
    assert found[0] == found[1]


TOFFOLIS = [(0, 1, 2), (2, 3, 4), (4, 1, 0), (2, 3, 4), (0, 1, 2)]


@pytest.mark.parametrize("manner", [Manner.LOCAL, Manner.MOVES, Manner.BACK])
@pytest.mark.parametrize("basis", BASES)
def test_toffolis_are_found_in_every_basis(basis: tuple[str, ...], manner: Manner) -> None:
    """A transpiled Toffoli is seven rotations, of which four are one X under two controls again."""
    turns = [Gate("ry", (wire,), (0.3 + 0.1 * wire,)) for wire in range(5)]
    circuit = transpiled([*turns, *(Gate("ccx", wires) for wires in TOFFOLIS)], 5, basis, 1)
    written = written_out(circuit, manner=manner)
    assert written
    ops = [one for one in written.structure.instructions if isinstance(one, Op) and one.name == "pauli_rotation"]
    assert sum(len(one.mixes) == 1 and len(one.reads) + one.when.mask.bit_count() == 2 for one in ops) == len(TOFFOLIS)
    assert distance(circuit, written.circuit(circuit.operands)) < 1e-12


def test_a_double_excitation_is_one_rotation_under_three_parities() -> None:
    """Eight rotations about strings of X and Y on four wires, by equal angles, are written as one."""
    builder = CircuitBuilder(4)
    signs = {"XXXY": 1, "XXYX": 1, "XYXX": -1, "YXXX": -1, "YYYX": -1, "YYXY": -1, "YXYY": 1, "XYYY": 1}
    for string, sign in signs.items():
        builder.pauli_rotation(0.2 * sign, string, (0, 1, 2, 3))
    circuit = builder.build()
    written = written_out(circuit)
    assert written
    ops = [one for one in written.structure.instructions if isinstance(one, Op) and one.name == "pauli_rotation"]
    assert [len(one.reads) + one.when.mask.bit_count() for one in ops] == [3]
    assert distance(circuit, written.circuit(circuit.operands)) < 1e-12


def test_wires_that_change_places_are_written_as_such() -> None:
    """A permutation of wires at the end is SWAPs alone, however it was given."""
    builder = CircuitBuilder(5)
    for one, other in ((0, 3), (3, 4), (1, 2), (0, 4)):
        builder.gate("cx", [one, other]).gate("cx", [other, one]).gate("cx", [one, other])
    written = written_out(builder.build())
    assert written
    assert {one.name for one in written.last_gates()} == {"swap"}


def test_parities_of_several_wires_join_these() -> None:
    """A circuit is not taken for dense because its gates on two wires are phases of parities."""
    builder = CircuitBuilder(8)
    for layer in range(8):
        for one in range(8):
            builder.gate("rx", [one], 0.3)
            for other in range(one):
                builder.gate("rzz", [one, other], 0.1 + 0.01 * layer)
    assert written_out(builder.build(), limits=WritingLimits(1000))


def test_a_block_is_not_written_out() -> None:
    """A dense matrix on three wires has no rotations, so there is nothing to write."""
    assert written_out(CircuitBuilder(3).unitary(strategies.random_unitary(8, 1), (0, 1, 2)).build()) is None


def test_a_dense_circuit_is_given_up_while_it_is_read(hold: Hold) -> None:
    """With more than two rotations for each gate on several wires, and some for each wire, nothing is written."""
    dense, sparse = (transpiled(FAMILIES[name](8), 8, ("u", "cz"), 1) for name in ("brick", "uccsd"))
    most = dense.num_gates * 100
    hold(rotations_ahead=100)
    assert written_out(dense, limits=WritingLimits(most))
    hold(rotations_ahead=3)
    assert written_out(dense, limits=WritingLimits(most)) is None
    assert written_out(dense)
    assert written_out(sparse, limits=WritingLimits(most))


def test_the_benchmark_prices_both() -> None:
    """A row has a prediction for the circuit and one for what is written of it, in each basis."""
    assert list(row("ghz", 8, ["cz"])) == [text for text in row("ghz", 8, ["cz"]) if " → " in text]
    assert next(row("three_wires", 8, [])).endswith("blocks")


def test_parts_whose_making_was_ended_are_made_when_they_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, or a run that is cancelled, while objects are made of what was read leaves nothing that is freed."""
    circuit = CircuitBuilder(3).gate("h", [0]).gate("rzz", [0, 1], 0.3).gate("rx", [1], 0.4).gate("cx", [1, 2]).build()
    wanted, ended = written_out(circuit), written_out(circuit)
    assert wanted
    assert ended
    calls = iter([None, KeyboardInterrupt])

    def check() -> None:
        if (error := next(calls, None)) is not None:
            raise error

    monkeypatch.setattr(out, "check_cancelled", check)
    with pytest.raises(KeyboardInterrupt):
        _ = ended.structure
    assert ended.structure == wanted.structure
    assert np.array_equal(ended.numbers(circuit.operands), wanted.numbers(circuit.operands))
