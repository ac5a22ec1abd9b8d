"""Many gates appended at once, and one after the other."""

import gc

import numpy as np
import pytest

from qsim_ex import CircuitBuilder
from qsim_ex.circuit.gates import GATES

NAMES = [name for name, row in GATES.items() if row.qubits <= 4]


def _drawn(seed: int) -> tuple[list[str], list[tuple[int, ...]], list[list[float]]]:
    rng = np.random.default_rng(seed)
    names = [NAMES[k] for k in rng.integers(len(NAMES), size=int(rng.integers(20, 300)))]
    wires = [tuple(rng.permutation(6)[: GATES[name].qubits].tolist()) for name in names]
    return names, wires, [rng.normal(size=len(GATES[name].parameters)).tolist() for name in names]


@pytest.mark.parametrize("seed", range(20))
def test_gates_make_the_circuit_that_gate_makes(seed: int) -> None:
    """`gates` gives the instructions, places and numbers of as many calls of `gate`, also behind other gates."""
    ours, theirs = CircuitBuilder(6), CircuitBuilder(6)
    for part in range(2):
        names, wires, parameters = _drawn(2 * seed + part)
        ours.gates(names, wires, parameters)
        for name, on, given in zip(names, wires, parameters, strict=True):
            theirs.gate(name, on, *given)
    one, other = ours.build(), theirs.build()
    assert one.structure is other.structure
    assert [type(i) for i in one.instructions] == [type(i) for i in other.instructions]
    assert np.array_equal(one.operands, other.operands)


def test_operations_of_many_gates_cost_the_garbage_collector_nothing() -> None:
    """Operations hold no cycles, and the collector does not visit those that are made by native code."""
    builder = CircuitBuilder(3).gates(["rz"] * 50, [(0,)] * 50, [[0.1]] * 50)
    assert not any(map(gc.is_tracked, builder.since(0)))
