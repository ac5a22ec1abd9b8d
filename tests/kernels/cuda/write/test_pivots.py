"""Rotations whose scale is left to the end of a sweep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.cuda.sweeps import case, check

from qsim_ex.circuit.ops import Entry, When, pattern
from qsim_ex.kernels.cuda.write import emit as kernel_text
from qsim_ex.kernels.cuda.write.emit import OLD_ROOM, emit, emit_rows
from qsim_ex.kernels.cuda.write.style import STYLE
from qsim_ex.steps.step import Diagonal, Mix, Phase, Slot, Sweep

ALL, PAIRS, NONE = (replace(STYLE, pivots=which) for which in ("all", "pairs", "none"))
PAIR = pattern("r00i0ri00ir0i00r")


@pytest.mark.parametrize("style", [PAIRS, ALL], ids=["pairs", "all"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_any_numbers_are_applied(dtype, style):
    """Rotations by any angle, and matrices of their pattern that are none, do what the definition says."""
    kinds = ("pair", "turn", "diagonal", "mix", "rename")
    cases = [case(seed, 9, 8, 3, 5, seed % 3, kinds=kinds) for seed in range(30)]
    pivoted = [len(emit(sweep, np.dtype(dtype).itemsize, style=style).pivots) > 0 for _, _, sweep, *_ in cases]
    assert sum(pivoted) > (20 if style is ALL else 5)
    check(cases, dtype, style=style)


def pairs(count):
    """A case with this many pairs of rotations in one phase."""
    return case(7, 8, 8, 1, count, kinds=("pair",))


def test_few_rotations_stay_matrices():
    """A sweep of two rotations has none of the scale's cost, and is written as before."""
    _, _, sweep, *_ = pairs(2)
    assert not len(emit(sweep, 8, style=PAIRS).pivots)
    assert emit(sweep, 8, style=PAIRS).source == emit(sweep, 8, style=NONE).source


def test_scales_are_bounded(monkeypatch):
    """Of 200 quarter turns, which all scale by the root of a half, 64 leave their scale at most: floats hold that."""
    quarter = np.array([1, 1j, 1, 1j, 1j, 1, 1j, 1]) / np.sqrt(2)
    items = tuple(Mix((0 + k % 3, 3), (), When(0, 0), PAIR, Slot(0, 8)) for k in range(200))
    sweep = Sweep((0, 1, 2, 3), (Phase((0, 1, 2, 3), items),), 8, 0)
    assert "scale(a0, v" not in emit(sweep, 8, style=PAIRS).source  # so many forms are read too slowly
    monkeypatch.setattr(kernel_text, "USEFUL", range(3, 201))
    emit.cache_clear()
    assert emit(sweep, 8, style=PAIRS).source.count("scale(a0, v") == 4
    check([(1, 4, sweep, quarter, 0)], np.complex64, style=PAIRS)
    emit.cache_clear()


@pytest.mark.parametrize("between", [None, "parity", "table", "other"])
def test_a_phase_beside_takes_the_ratio(between):
    """A pair is pivoted whole where a phase of its parity stands beside it, and half where a gate keeps that apart."""
    rotations = [Mix((a, a + 1), (), When(0, 0), PAIR, Slot(8 * a, 8)) for a in range(3)]
    reads = {"parity": (0b11,), "table": (0b11, 1 << 5), "other": (0b11,), None: (0b100,)}[between]
    phase = Diagonal(reads, When(0, 0), pattern("c" * (1 << len(reads))), Slot(24, 1 << len(reads)))
    items = (*rotations, phase) if between == "other" else (rotations[0], phase, *rotations[1:])
    sweep = Sweep(tuple(range(6)), (Phase((0, 1, 2, 3), items),), 24, 1 << len(reads))
    angles = np.random.default_rng(3).uniform(-np.pi, np.pi, (3, 2))
    numbers = [x for a, b in angles for x in _entries(np.exp(1j * a), np.exp(1j * b))]
    whole = emit(sweep, 8, style=PAIRS).source.count("by_cotangent_imaginary(a0, a3, ")
    assert whole == 1
    assert (emit(sweep, 8, style=PAIRS).source.count("by_tangent_imaginary(a1, a2, ") == 1) is (
        between in ("parity", "table")
    )
    check(
        [(2, 6, sweep, np.array([*numbers, *np.exp(1j * np.arange(1, 1 + len(phase.pattern)))]), 0)],
        np.complex128,
        style=PAIRS,
    )


def _entries(alike, differ):
    """The entries of a pair by the phases of its two angles, in the order of the pattern."""
    (c, s), (d, t) = ((x.real, 1j * x.imag) for x in (alike, differ))
    found = {0: c, 3: s, 5: d, 6: t, 9: t, 10: d, 12: s, 15: c}
    return [found[k] for k, entry in enumerate(PAIR) if entry != Entry.ZERO]


def test_numbers_in_memory_are_not_pivoted():
    """Kernels that read their numbers from memory, of batches or on old drivers, have matrices."""
    _, _, sweep, *_ = pairs(30)
    assert "by_tangent_imaginary" in emit(sweep, 16, style=PAIRS).source
    assert "by_tangent_imaginary" not in emit(sweep, 16, OLD_ROOM // 2, PAIRS).source
    assert "by_tangent_imaginary" not in emit_rows(sweep, 8).source
