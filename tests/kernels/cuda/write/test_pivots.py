"""Rotations whose scale is left to the end of a sweep."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.cuda.sweeps import case, check

from qsim_ex.circuit.ops import Entry, When, pattern
from qsim_ex.kernels.cuda.interpret.packing import pack
from qsim_ex.kernels.cuda.launch.pivoted import pivot
from qsim_ex.kernels.cuda.write import emit as kernel_text
from qsim_ex.kernels.cuda.write.emit import OLD_ROOM, emit, emit_rows
from qsim_ex.precision import BY_DTYPE, DOUBLE, SINGLE
from qsim_ex.steps.step import Diagonal, Mix, RegisterBlock, Slot, Sweep

PAIR = pattern("r00i0ri00ir0i00r")


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_any_numbers_are_applied(dtype):
    """Pairs of rotations by any angle, and matrices of their pattern that are none, do what the definition says."""
    kinds = ("pair", "turn", "diagonal", "mix", "permute")
    cases = [case(seed, 9, 8, 3, 5, seed % 3, kinds=kinds) for seed in range(30)]
    pivoted = [len(emit(sweep, BY_DTYPE[np.dtype(dtype)]).pivots) > 0 for _, _, sweep, *_ in cases]
    assert sum(pivoted) > 5
    check(cases, dtype)


@pytest.mark.parametrize("more", [(), ("cx",)], ids=["with gaps", "by XOR"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_usual_pairs_are_applied(dtype, more):
    """Pairs by one small angle, between phases, do what the definition says, wherever slots are."""
    kinds = ("usual", "usual", "usual", "diagonal", *more)
    cases = [case(seed, 9, 8, 3, 5, seed % 3, kinds=kinds) for seed in range(20)]
    kernels = [emit(sweep, BY_DTYPE[np.dtype(dtype)]) for _, _, sweep, *_ in cases]
    assert sum(len(kernel.pivots) > 0 for kernel in kernels) > 15
    check(cases, dtype)


def pairs(count):
    """A case with this many pairs of rotations in one register block."""
    return case(7, 8, 8, 1, count, kinds=("pair",))


def test_few_rotations_stay_matrices():
    """A sweep of two pairs has none of the scale's cost: they are matrices, and slots have no gaps."""
    _, _, sweep, *_ = pairs(2)
    assert not len(emit(sweep, SINGLE).pivots)
    assert "by_tangent" not in emit(sweep, SINGLE).source


def test_scales_are_bounded(monkeypatch):
    """Of 200 quarter turns, which all scale by the root of a half, 64 leave their scale at most: floats hold that."""
    quarter = np.array([1, 1j, 1, 1j, 1j, 1, 1j, 1]) / np.sqrt(2)
    items = tuple(Mix((0 + k % 3, 3), (), When(0, 0), PAIR, Slot(0, 8)) for k in range(200))
    sweep = Sweep((0, 1, 2, 3), (RegisterBlock((0, 1, 2, 3), items),), 8, 0)
    assert "scale(a0, v" not in emit(sweep, SINGLE).source  # so many forms are read too slowly
    monkeypatch.setattr(kernel_text, "USEFUL", range(3, 201))
    emit.cache_clear()
    assert emit(sweep, SINGLE).source.count("scale(a0, v") == 2 * 4  # for usual pairs, and for any
    check([(1, 4, sweep, quarter, 0)], np.complex64)
    emit.cache_clear()


@pytest.mark.parametrize("equal", [False, True], ids=["drawn", "usual"])
@pytest.mark.parametrize("between", ["register", "parity", "table", "outside", "other"])
def test_a_phase_beside_takes_the_ratio(between, equal):
    """A pair is pivoted whole where a phase of its parity, or of registers alone, stands beside it, and else half."""
    rotations = [Mix((a, a + 1), (), When(0, 0), PAIR, Slot(8 * a, 8)) for a in range(3)]
    seen = {"parity": (0b11,), "table": (0b11, 1 << 5), "outside": (1 << 5,), "other": (0b11,), "register": (0b100,)}
    reads = seen[between]
    phase = Diagonal(reads, When(0, 0), pattern("c" * (1 << len(reads))), Slot(24, 1 << len(reads)))
    items = (*rotations, phase) if between == "other" else (rotations[0], phase, *rotations[1:])
    sweep = Sweep(tuple(range(6)), (RegisterBlock((0, 1, 2, 3), items),), 24, 1 << len(reads))
    text = emit(sweep, SINGLE).source
    whole = between in ("register", "parity", "table")
    assert text.count("by_tangent_imaginary(a1, a2, ") == 2 * whole  # for usual pairs, and for any
    angles = np.random.default_rng(3).uniform(-np.pi / 4, np.pi / 4, (3, 2)) * ([0, 1] if equal else [4, 4])
    numbers = [x for a, b in angles for x in _entries(np.exp(1j * a), np.exp(1j * b))]
    numbers = np.array([*numbers, *np.exp(1j * np.arange(1, 1 + len(phase.pattern)))])
    assert _is_usual(sweep, numbers) is equal
    check([(2, 6, sweep, numbers, 0)], np.complex128)


def _is_usual(sweep, numbers):
    """Whether the host says that a sweep's only register block has usual pairs."""
    kernel = emit(sweep, DOUBLE)
    values = pack(numbers, kernel.values, np.float64)
    pivot(values, kernel.pivots)
    return bool(values[int(re.search(r"if \(v\[(\d+)\] == 1\) {\n +//", kernel.source)[1])] == 1)


@pytest.mark.parametrize("angle", [0.0, 1e-17, 5e-16, 2e-15, 1e-9, np.pi, np.pi / 2])
def test_only_rotations_by_nothing_are_left_out(angle):
    """A rotation where bits are alike is left out if its sine is 0, up to rounding, and at no other angle.

    By π it is a scale of −1 and nothing else.
    """
    rotations = tuple(Mix((a, a + 1), (), When(0, 0), PAIR, Slot(8 * a, 8)) for a in range(3))
    sweep = Sweep((0, 1, 2, 3), (RegisterBlock((0, 1, 2, 3), rotations),), 24, 0)
    numbers = np.array(3 * _entries(np.exp(1j * angle), np.exp(0.3j)))
    assert _is_usual(sweep, numbers) is (angle in (0, 1e-17, 5e-16, np.pi))
    check([(2, 4, sweep, numbers, 0)], np.complex128)


def test_phases_in_registers_are_multiplied_by_the_host():
    """Of three phases behind one another that registers tell, each amplitude takes one factor at most."""
    rotations = [Mix((a, a + 1), (), When(0, 0), PAIR, Slot(8 * a, 8)) for a in range(3)]
    phases = [Diagonal((3 << a,), When(0, 0), pattern("1c"), Slot(24 + 2 * a, 2)) for a in range(3)]
    sweep = Sweep((0, 1, 2, 3), (RegisterBlock((0, 1, 2, 3), (*rotations, *phases)),), 24, 6)
    factors = re.findall(r"times\(a\d", emit(sweep, SINGLE).source)
    assert len(factors) == 2 * 14  # of 16, for usual pairs and for any
    for angle in (0, 0.4):
        numbers = [x for a in range(3) for x in _entries(np.exp(1j * angle), np.exp(1j * a))]
        check([(2, 4, sweep, np.array([*numbers, 1, 1j, 1, np.exp(1j), 1, -1]), 0)], np.complex64)


def _entries(alike, differ):
    """The entries of a pair by the phases of its two angles, in the order of the pattern."""
    (c, s), (d, t) = ((x.real, 1j * x.imag) for x in (alike, differ))
    found = {0: c, 3: s, 5: d, 6: t, 9: t, 10: d, 12: s, 15: c}
    return [found[k] for k, entry in enumerate(PAIR) if entry != Entry.ZERO]


def test_numbers_in_memory_are_not_pivoted():
    """Kernels that read their numbers from memory, of batches or on old drivers, have matrices."""
    _, _, sweep, *_ = pairs(30)
    assert "by_tangent_imaginary" in emit(sweep, DOUBLE).source
    assert "by_tangent_imaginary" not in emit(sweep, DOUBLE, OLD_ROOM // 2).source
    assert "by_tangent_imaginary" not in emit_rows(sweep, SINGLE).source
