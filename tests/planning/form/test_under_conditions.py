"""Tests of gates under more conditions than rotations are read of, which `Manner.CLUSTERS` takes as they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim_ex import CircuitBuilder, reference, thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Op
from qsim_ex.planning.written.out import Manner, WritingLimits, written_out

WIRES = 8
UNDER = (("x", ()), ("y", ()), ("z", ()), ("p", (0.3,)), ("rx", (0.7,)), ("rz", (1.1,)), ("u", (0.4, 1.2, -0.3)))
"""Gates of a wire that stand under conditions: of all axes, with and without a phase of what they leave as it is."""


def drawn(seed: int, gates: int, fewest: int = 6) -> CircuitBuilder:
    """Return drawn turns, Toffolis, and gates of `UNDER` under so many conditions or one more, of any values."""
    rng = np.random.default_rng(seed)
    builder = CircuitBuilder(WIRES)
    for _ in range(gates):
        wires = rng.permutation(WIRES).tolist()
        number = int(rng.integers(fewest, fewest + 2))
        name, angles = UNDER[int(rng.integers(len(UNDER)))]
        builder.gate(
            name, wires[:1], *angles, controls=wires[1 : 1 + number], control_values=int(rng.integers(1 << fewest))
        )
        builder.gate("ccx", rng.permutation(WIRES)[:3].tolist())
        for wire in wires[:3]:
            builder.gate("u", [wire], *rng.uniform(-3, 3, 3))
    return builder


def increments(times: int) -> Circuit:
    """Return increments of a number of eight bits, with turns between them."""
    builder = CircuitBuilder(WIRES)
    for number in range(times):
        for wire in range(WIRES):
            builder.gate("ry", [wire], 0.3 + wire + number)
        for wire in reversed(range(WIRES)):
            builder.gate("x", [wire], controls=range(wire))
    return builder.build()


@given(st.integers(0, 1 << 30), st.integers(1, 5), st.booleans())
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_the_circuit(seed: int, gates: int, zeros: bool) -> None:
    """What clusters write of gates under many conditions is the circuit by definition, on |0…0⟩ or on any state."""
    circuit = drawn(seed, gates).build()
    written = written_out(circuit, manner=Manner.CLUSTERS, zeros=zeros)
    assert written is not None
    rng = np.random.default_rng(seed)
    psi = rng.normal(size=1 << WIRES) + 1j * rng.normal(size=1 << WIRES)
    state = reference.zero_state(WIRES) if zeros else psi / np.linalg.norm(psi)
    made = reference.simulate(written.circuit(circuit.operands), state)
    np.testing.assert_allclose(made, reference.simulate(circuit, state), atol=1e-12)


@pytest.mark.parametrize("selectors", [0, 1, 2])
@pytest.mark.parametrize("fewest", [0, 1, 2])
def test_with_fewer_selectors_nothing_else_is(selectors: int, fewest: int) -> None:
    """Where rotations are read of gates that read fewer wires, others are matrices of a wire from two conditions on."""
    for seed in range(4):
        circuit = drawn(seed, 3, fewest).build()
        with thresholds.instead(selectors=selectors):
            written = written_out(circuit, manner=Manner.CLUSTERS, zeros=True)
        if written is None:  # some gate is a block
            continue
        made = reference.simulate(written.circuit(circuit.operands))
        np.testing.assert_allclose(made, reference.simulate(circuit), atol=1e-12)


@pytest.mark.parametrize("conditions", [0, 1])
def test_a_phase_without_conditions_is_none_of_them(conditions: int) -> None:
    """A diagonal of a wire under one condition or none is a block where rotations are read of no wire that is read."""
    builder = CircuitBuilder(2).gate("h", [0]).gate("rz", [0], 0.4, controls=[1][:conditions]).gate("h", [0])
    circuit = builder.diagonal([1j, np.exp(0.3j)], [0]).build()
    with thresholds.instead(selectors=0, clustered_percent=0):
        assert written_out(circuit, manner=Manner.CLUSTERS, zeros=True) is None


def test_what_is_undone_is_gone() -> None:
    """Z under seven conditions that comes twice, with a turn between that commutes, is nothing."""
    builder = drawn(1, 1)
    controls = list(range(1, WIRES))
    for _ in range(2):
        builder.gate("z", [0], controls=controls).gate("rz", [3], 0.4)
    written = written_out(builder.build(), manner=Manner.CLUSTERS, zeros=False)
    assert written is not None
    many = [one for one in written.structure.instructions if isinstance(one, Op) and one.when.mask.bit_count() > 3]
    assert len(many) == 1  # of those that were drawn


@pytest.mark.parametrize("manner", [one for one in Manner if one is not Manner.CLUSTERS])
def test_other_manners_are_refused(manner: Manner) -> None:
    """A form would have a block for such a gate, and nothing is written between it and others: clusters alone are."""
    assert written_out(increments(2), manner=manner, zeros=True) is None
    clusters = written_out(increments(2), manner=Manner.CLUSTERS, zeros=True)
    assert clusters is not None
    assert clusters.again(manner, WritingLimits()) is None
