"""Sums of many Pauli strings are shared by passes over tiles, and are those of their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qsim_ex import PauliSum, Simulator, StateVector
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.devices.cpu import sums, tile_sums
from qsim_ex.kernels.cpu import pool

BITS = 16
FIELD = [(1 << bit, [0]) for bit in range(BITS)]
ISING = [(0, [3 << bit for bit in range(BITS - 1)])]
MIXED = [(0b11, [0, 1, 1 << 15]), (1 << 15 | 1, [1, 1 << 15, 5]), ((1 << BITS) - 1, [0, 9, 1 << 8])]


def state_of(dtype: Any, rows: int = 1) -> Any:
    """Amplitudes of normalised states, row after row."""
    random = np.random.default_rng(3)
    values = random.normal(size=(rows, 1 << BITS)) + 1j * random.normal(size=(rows, 1 << BITS))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(dtype).ravel()


def parity(values: Any) -> Any:
    """1 where the number of ones is odd, of numbers below 2^16."""
    for half in (8, 4, 2, 1):
        values = values ^ values >> half
    return values & 1


def defined(state: Any, parts: Any) -> Any:
    """Σ_i conj(a[i XOR x]) · (−1)^parity(i & z) · a[i] for all strings, in double precision."""
    index, values = np.arange(1 << BITS), state.astype(complex)
    signs = {z: 1.0 - 2 * parity(index & z) for _, zs in parts for z in zs}
    return np.array([np.sum(values[index ^ x].conj() * signs[z] * values) for x, zs in parts for z in zs])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("parts", [FIELD, ISING, MIXED, [*FIELD, *MIXED, *ISING]], ids=["X", "ZZ", "mixed", "all"])
def test_sums_are_those_of_their_definition(dtype: Any, parts: Any) -> None:
    """One state, and each row of a batch, with one thread and with several."""
    batch = state_of(dtype, 2)
    found = sums.paulis(batch, BITS, parts, 2)
    np.testing.assert_allclose(found[1], defined(batch[1 << BITS :], parts), atol=1e-13)
    assert np.array_equal(sums.paulis(batch, BITS, parts, 1), found)
    assert np.array_equal(sums.paulis(batch[: 1 << BITS].copy(), BITS, parts, 2)[0], found[0])


def test_terms_of_a_field_share_passes() -> None:
    """The X terms of 24 wires and 1,000 Z strings take two passes over a state, and leave none to others."""
    parts = (*[(1 << bit, (0,)) for bit in range(24)], (0, tuple(range(1, 1001))))
    made = tile_sums.passes(24, parts)
    assert len(made) == 2
    assert sorted(k for one in made for k in one.parts) == list(range(25))
    assert all(one.mask.bit_count() == tile_sums.TILE_BITS for one in made)


def test_a_pass_over_tiles_is_worth_several_sums() -> None:
    """Two X-parts share a pass, and one X-part has a pass of its own from `SHARED` strings on."""
    few, enough = (tuple(range(count)) for count in (tile_sums.SHARED - 1, tile_sums.SHARED))
    made = [tile_sums.passes(20, parts) for parts in (((1, few),), ((1, enough),), ((1, (0,)), (2, (0,))))]
    assert [[one.parts for one in each] for each in made] == [[], [(0,)], [(0, 1)]]


def test_strings_that_mix_many_wires_are_left_to_others() -> None:
    """A string that mixes more bits than a tile has is in no pass."""
    parts = ((1, (0,)), (2, (0,)), ((1 << 20) - 1, (0,)))
    assert [one.parts for one in tile_sums.passes(20, parts)] == [(0, 1)]


def test_an_observable_of_a_state_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transverse field on a state vector in one piece takes two calls of the native library, and has its value."""
    builder = CircuitBuilder(BITS)
    for wire in range(BITS):
        builder.gate("ry", [wire], 0.1 * wire)
    calls: list[Any] = []
    run = tile_sums.in_ranges
    monkeypatch.setattr(tile_sums, "in_ranges", lambda *given, **how: calls.append(1) or run(*given, **how))
    monkeypatch.setattr(sums, "in_ranges", lambda *given, **how: calls.append(2) or pool.in_ranges(*given, **how))
    field = PauliSum.from_labels({"I" * k + "X" + "I" * (BITS - 1 - k): 1.0 for k in range(BITS)})
    state: StateVector
    with Simulator(device="cpu").state(builder.build()) as state:
        calls.clear()
        value = state.expectation(field)
    assert calls == [1, 1]
    assert value == pytest.approx(np.sin(0.1 * np.arange(BITS)).sum(), abs=1e-12)
