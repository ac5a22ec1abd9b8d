"""Bindings that one run of the engine takes together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qsim_ex import Simulator
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
    np.testing.assert_array_equal(some.family.operands(0, 2), group.family.operands(0, 3)[[0, 2]])
    assert len(group.among(np.array([5]))) == 0


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
