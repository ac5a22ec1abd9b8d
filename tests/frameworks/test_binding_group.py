"""Bindings that one run of the engine takes together: those of one structure, which keep their places."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from qsim_ex import CircuitBuilder, Simulator
from qsim_ex.errors import CircuitError
from qsim_ex.frameworks import (
    ParameterSweep,
    ParameterSweepBuilder,
    ReadoutError,
    ReadoutErrors,
    binding_groups,
    confusion,
)

FLIP: ReadoutErrors = (ReadoutError((0,), confusion([[0.0, 1.0], [1.0, 0.0]], 1)),)


def sweep(name: str, values: list[float]) -> ParameterSweep:
    """One gate of a row with an angle for each binding, and a measurement."""
    builder = ParameterSweepBuilder(1, 1)
    angles: NDArray[np.float64] = np.array(values)
    builder.gate(name, [0], angles)  # type: ignore[arg-type]  # a builder of sweeps takes arrays
    builder.measure([0], [0])
    return builder.sweep(len(values))


def test_bindings_of_one_structure_are_one_group() -> None:
    """Sweeps of one structure are a group though another stands between them; its places are in increasing order."""
    sweeps = [sweep("rx", [0.1, 0.2]), sweep("rz", [0.3]), sweep("rx", [0.4])]
    groups = binding_groups(sweeps, [(), (), ()])
    assert [group.places for group in groups] == [[0, 1, 3], [2]]
    assert [len(group) for group in groups] == [3, 1]


def test_bindings_that_are_misread_otherwise_are_apart() -> None:
    """Equal structures whose bits are misread differently are two groups, each with its own readout errors."""
    sweeps = [sweep("rx", [0.1]), sweep("rx", [0.2, 0.3]), sweep("rx", [0.4])]
    groups = binding_groups(sweeps, [(), FLIP, ()])
    assert [group.places for group in groups] == [[0, 3], [1, 2]]
    assert [group.readout_errors for group in groups] == [(), FLIP]


def test_a_sweep_without_bindings_is_in_no_group() -> None:
    """The readout errors of a group are those of its own sweeps, not of an empty one before them."""
    groups = binding_groups([sweep("rx", []), sweep("rx", [0.1])], [(), FLIP])
    assert [(group.places, group.readout_errors) for group in groups] == [([0], FLIP)]


def turn(angle: float) -> ParameterSweep:
    """The rotation of `sweep("rx", [angle])`, with a measurement, built by itself."""
    return ParameterSweep(CircuitBuilder(1, 1).gate("rx", [0], angle).measure([0], [0]).build())


MIXED = [sweep("rx", [0.1, 0.2]), sweep("rz", [0.7]), turn(0.3), sweep("rx", []), sweep("rx", [0.4, 0.5, 0.6])]


def test_operands_of_a_group() -> None:
    """Each member of a group has the numbers of its circuit, in all pieces and after it was pickled."""
    group = binding_groups(MIXED, [()] * len(MIXED))[0]
    assert group.places == [0, 1, 3, 4, 5, 6]
    assert len(group) == group.bindings().count == 6
    assert group.template.structure is MIXED[0].template.structure
    wanted = np.concatenate([turn(angle / 10).template.operands for angle in range(1, 7)])
    for begin, end in ((0, 6), (0, 1), (1, 4), (2, 6)):
        np.testing.assert_array_equal(group.operands(begin, end), wanted[begin:end])
    again = pickle.loads(pickle.dumps(group))
    np.testing.assert_array_equal(again.bindings().operands(0, 6), wanted)


@pytest.mark.parametrize("given", [turn(np.pi), sweep("rx", [np.pi])])
def test_a_batch_of_one(given: ParameterSweep) -> None:
    """One binding, of a circuit with numbers or of a sweep, runs with its own numbers, seed and readout errors."""
    (group,) = binding_groups([given], [FLIP])
    result = group.run(Simulator(device="cpu"), [5], shots=7)
    assert ([one.counts() for one in result], result.seeds) == ([{0: 7}], (5,))


def test_a_group_of_none_is_refused() -> None:
    """A group without bindings has nothing to run, also one of a circuit with numbers."""
    (group,) = binding_groups([turn(0.1)], [()])
    with pytest.raises(CircuitError, match="at least one binding"):
        group.among(np.array([3])).run(Simulator(device="cpu"), [], shots=1)


def test_a_group_runs_with_its_readout_errors() -> None:
    """|0> and |1>, every bit read wrongly, are found as 1 and 0; each binding has the seed that it was given."""
    (group,) = binding_groups([sweep("rx", [0.0, np.pi])], [FLIP])
    result = group.run(Simulator(device="cpu"), [3, 4], shots=5)
    assert [one.counts() for one in result] == [{1: 5}, {0: 5}]
    assert [one.seed for one in result] == [3, 4]


def test_among() -> None:
    """Some places of a group, and none, are groups with the same readout errors."""
    (group,) = binding_groups([sweep("rx", [0.1, 0.2, 0.3])], [FLIP])
    some = group.among(np.array([7, 2, 0]))
    assert (some.places, some.readout_errors) == ([0, 2], FLIP)
    np.testing.assert_array_equal(some.operands(0, 2), group.operands(0, 3)[[0, 2]])
    assert len(group.among(np.array([5]))) == 0
    mixed = binding_groups(MIXED, [()] * len(MIXED))[0].among(np.array([1, 3, 6]))
    wanted = np.concatenate([turn(angle).template.operands for angle in (0.2, 0.3, 0.6)])
    np.testing.assert_array_equal(mixed.bindings().operands(0, 3), wanted)


def test_keys_tell_work_apart() -> None:
    """Another angle, another structure, another place and other readout errors give other keys; equal work the same."""
    works = [
        ([sweep("rx", [0.1])], [()]),
        ([sweep("rx", [0.2])], [()]),
        ([sweep("rz", [0.1])], [()]),
        ([sweep("rx", [0.1])], [FLIP]),
        ([sweep("rx", []), sweep("rz", [0.3]), sweep("rx", [0.1])], [(), (), ()]),
    ]
    keys = [binding_groups(sweeps, errors)[-1].key() for sweeps, errors in works]
    assert len(set(keys)) == len(keys)
    assert binding_groups([sweep("rx", [0.1])], [()])[0].key() == keys[0]
