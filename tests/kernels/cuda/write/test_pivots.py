"""Pairs of rotations whose scale is left to the end of a sweep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.cuda.sweeps import case, check

from qsim_ex.kernels.cuda.write.emit import OLD_ROOM, emit, emit_rows
from qsim_ex.kernels.cuda.write.style import STYLE

KINDS = ("pair", "turn", "diagonal", "mix", "rename")


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_any_numbers_are_applied(dtype: type) -> None:
    """Rotations by any angle, and matrices of their pattern that are none, do what the definition says."""
    cases = [case(seed, 9, 8, 3, 5, seed % 3, kinds=KINDS) for seed in range(30)]
    assert sum(len(emit(sweep, np.dtype(dtype).itemsize).pivots) > 0 for _, _, sweep, *_ in cases) > 20
    check(cases, dtype)


def pairs(count: int) -> tuple:
    """A case with this many pairs of rotations in one phase."""
    return case(7, 8, 8, 1, count, kinds=("pair",))


def test_few_rotations_stay_matrices() -> None:
    """A sweep of two rotations has none of the scale's cost, and is written as before."""
    _, _, sweep, *_ = pairs(2)
    assert not len(emit(sweep, 8).pivots)
    assert emit(sweep, 8).source == emit(sweep, 8, style=replace(STYLE, pivots="none")).source


def test_scales_are_bounded() -> None:
    """Scales are applied before single precision cannot hold their product: of 200 rotations, or of 800, in between."""
    sweeps = [case(7, 8, 8, phases, 20, kinds=("pair", "turn")) for phases in (10, 40)]
    for _, _, sweep, *_ in sweeps:
        applied = emit(sweep, 8).source.count("scale(a0, v")
        assert applied >= sum(len(phase.items) for phase in sweep.phases) // 200
    check(sweeps, np.complex64)


def test_numbers_in_memory_are_not_pivoted() -> None:
    """Kernels that read their numbers from memory, of batches or on old drivers, have matrices."""
    _, _, sweep, *_ = pairs(60)
    assert "by_tangent_imaginary" in emit(sweep, 16).source
    assert "by_tangent_imaginary" not in emit(sweep, 16, OLD_ROOM).source
    assert "by_tangent_imaginary" not in emit_rows(sweep, 8).source
