"""Which wires gates mix, act on and join, as native code finds them."""

from itertools import pairwise
from time import process_time

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from qsim_ex import CircuitBuilder, thresholds
from qsim_ex.circuit.structure import Structure, straight_work


def _drawn(seed: int, num_qubits: int, gates: int) -> Structure:
    rng, builder = np.random.default_rng(seed), CircuitBuilder(num_qubits, num_qubits)
    for _ in range(gates):
        one, other = rng.permutation(num_qubits)[:2].tolist()
        name = ("h", "rz", "cx", "rzz", "global_phase")[rng.integers(5)]
        wires = {"cx": (one, other), "rzz": (one, other), "global_phase": ()}.get(name, (one,))
        builder.gate(name, wires, *([0.3] if name in ("rz", "rzz", "global_phase") else []))
    builder.measure(range(num_qubits), range(num_qubits))
    return builder.build().structure


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("num_qubits", [2, 5, 62, 70])
def test_gates_join_the_wires_that_a_graph_of_them_connects(seed: int, num_qubits: int) -> None:
    """All wires are joined if every one is mixed and the graph of the gates' wires has one component."""
    structure = _drawn(seed, num_qubits, (seed + 1) * num_qubits // 4)
    mixed, edges = set(), [(0, 0)]
    for op in structure.instructions[:-1]:
        mixed |= set(op.mixes)
        on = [
            w for w in range(num_qubits) for m in (op.when.mask, *op.reads, *(1 << w for w in op.mixes)) if m >> w & 1
        ]
        edges += [(on[0], wire) for wire in on]
    rows, columns = np.array(edges).T
    graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(num_qubits, num_qubits))
    components = connected_components(graph)[0]
    assert structure.is_one_part(observed=False) == (len(mixed) == num_qubits and components == 1)
    if num_qubits <= 62 and not structure.is_one_part(observed=False):
        assert structure.gate_wires is not None
        assert structure.gate_wires.mixed == sum(1 << wire for wire in mixed)
        assert structure.gate_wires.touched == sum({1 << w for e in edges[1:] for w in e})


def test_a_measurement_before_a_gate_is_left_to_python() -> None:
    """Native code looks at circuits of gates with measurements at their end alone."""
    structure = CircuitBuilder(1, 1).gate("h", [0]).measure([0], [0]).gate("h", [0]).build().structure
    assert structure.gate_wires is None


@pytest.mark.parametrize("observed", [False, True])
def test_live_ranges_take_turns_where_a_wire_is_measured_and_then_mixed(observed: bool) -> None:
    """A circuit that joins all wires is one part where it is narrow; a wide one that measures on the way may not be."""
    builder = CircuitBuilder(2, 1).gate("h", [0]).gate("cx", [0, 1])
    at_end, on_the_way = builder.measure([0], [0]).build(), builder.gate("h", [0]).build()
    assert on_the_way.structure.is_one_part(observed)
    with thresholds.instead(narrow=0):
        assert at_end.structure.is_one_part(observed)
        assert not on_the_way.structure.is_one_part(observed)


def test_a_save_of_all_wires_makes_one_part() -> None:
    """A saved state is one of all wires, be some of them idle; without the save the idle wire is left out."""
    builder = CircuitBuilder(3).gate("h", [1])
    assert not builder.build().structure.is_one_part(observed=False)
    assert builder.save().build().structure.is_one_part(observed=False)


@pytest.mark.parametrize("backwards", [False, True])
def test_thousands_of_wires_are_followed_at_once(backwards: bool) -> None:
    """A chain of 4,000 wires, from either end, is found to be one part in less than a second of processor time."""
    wires = range(4000)[:: -1 if backwards else 1]
    builder = CircuitBuilder(4000).gate("h", [wires[0]])
    for pair in pairwise(wires):
        builder.gate("cx", pair)
    structure = builder.build().structure
    began = process_time()
    assert structure.is_one_part(observed=False)
    assert process_time() - began < 1


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize("wires", [2, 3])
def test_what_stands_before_measurements_is_one_object(wires: int, measured: bool) -> None:
    """Gates are the same straight-line work with measurements behind them and without, on however many wires."""
    builder = CircuitBuilder(wires, 1).gate("h", [0]).gate("cx", [0, 1])
    gates = builder.build()
    structure = (builder.measure([0], [0]).build() if measured else gates).structure
    assert structure.before_measurements is straight_work(gates.instructions)
    assert structure.before_measurements.kinds == gates.structure.kinds
    assert structure.before_measurements.num_qubits == 0
    whole = straight_work(structure.instructions)
    assert (whole is structure.before_measurements) is not measured
