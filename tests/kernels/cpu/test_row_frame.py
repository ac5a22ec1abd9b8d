"""Rows of a tile in which CX moves nothing: every question about a row has the answer of the definition."""

from __future__ import annotations

from itertools import accumulate
from operator import xor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qsim_ex import CircuitBuilder, StateVector
from qsim_ex.kernels.cpu.encode import encode_in_python
from qsim_ex.kernels.cpu.encoding import SCALE_COMPLEX
from qsim_ex.kernels.cpu.row_frame import RowFrame
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import Precision
from qsim_ex.reference import simulate
from qsim_ex.steps import Layout, Shape

SIZE, OUTSIDE = 5, 4
MOVES = st.lists(
    st.tuples(st.integers(0, SIZE + OUTSIDE - 1), st.integers(0, SIZE - 1), st.integers(0, 1)), max_size=30
)


def moved(moves: list[tuple[int, int, int]]) -> tuple[RowFrame, list[tuple[int, int, int]]]:
    """Return the frame after CX; controls from `SIZE` up are index bits outside the tile."""
    frame, done = RowFrame(SIZE), []
    for control, target, value in moves:
        if control >= SIZE:
            frame.cx_outside(control - SIZE, target, value)
        elif control != target:
            frame.cx(control, target, value)
        else:
            continue
        done.append((control, target, value))
    return frame, done


def positions_of(number: int, index: int, moves: list[tuple[int, int, int]]) -> int:
    """Return the positions of the row that began with this number, after CX one by one: the definition."""
    values = number
    for control, target, value in moves:
        seen = index >> control - SIZE & 1 if control >= SIZE else values >> control & 1
        values ^= (seen == value) << target
    return values


@given(MOVES, st.integers(0, (1 << OUTSIDE) - 1), st.integers(0, (1 << SIZE) - 1))
def test_rows_are_where_cx_leave_them(moves: list[tuple[int, int, int]], index: int, values: int) -> None:
    """A row with some positions has the number at which these positions are found, in every tile."""
    frame, done = moved(moves)
    origin = frame.origin() or [0] * SIZE
    added = sum(((index & mask).bit_count() & 1) << bit for bit, mask in enumerate(origin))
    assert positions_of(frame.row(values) ^ added, index, done) == values


@given(MOVES, st.integers(0, (1 << OUTSIDE) - 1), st.integers(0, (1 << SIZE) - 1), st.integers(0, (1 << SIZE) - 1))
def test_parities_of_positions(moves: list[tuple[int, int, int]], index: int, number: int, read: int) -> None:
    """A sum of positions is a sum of bits of the number, of index bits outside the tile, and a constant."""
    frame, done = moved(moves)
    inside, outside, flip = frame.read(read)
    found = (inside & number).bit_count() + (outside & index).bit_count() + flip
    assert found & 1 == (read & positions_of(number, index, done)).bit_count() & 1


@given(MOVES, st.integers(0, (1 << SIZE) - 1))
def test_steps_lead_through_all_rows(moves: list[tuple[int, int, int]], free: int) -> None:
    """Counting up by the steps goes once through all rows that differ from the first in free positions alone."""
    frame, _ = moved(moves)
    steps, count = frame.steps(free), 1 << free.bit_count()
    rows = list(accumulate([0, *[steps[(k & -k).bit_length() - 1] for k in range(1, count)]], xor))
    assert len(steps) == free.bit_count()
    assert set(rows) == {frame.direction(free & values) for values in range(1 << SIZE)}
    assert len(rows) == len(set(rows))


def cx_rich(wires: int, gates: int, seed: int) -> CircuitBuilder:
    """Return a circuit of CX, with controls at 0 too, and of gates that notice where rows are."""
    rng = np.random.default_rng(seed)
    builder = CircuitBuilder(wires)
    for wire in range(wires):
        builder.gate("ry", [wire], rng.uniform(0, 3))
    for _ in range(gates):
        a, b, c = rng.permutation(wires)[:3].tolist()
        match rng.integers(8):
            case 0:
                builder.gate("u", [a], *rng.uniform(0, 3, 3))
            case 1:
                builder.gate("cp", [a, b], rng.uniform(0, 3))
            case 2:
                builder.gate("ccx", [a, b, c])
            case 3:
                builder.gate("crx", [a, b], rng.uniform(0, 3))
            case 4:
                builder.gate("rxx", [a, b], rng.uniform(0, 3))
            case _:
                builder.gate("cx", [a, b])
    return builder


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("wires", [5, 7, 9, 13])
def test_circuits_rich_in_cx(wires: int, precision: Precision) -> None:
    """Amplitudes are those of the definition, in states smaller than vectors, than tiles, and after a full state."""
    for seed in range(4):
        circuit = cx_rich(wires, 120, seed).build()
        with StateVector(wires, device="cpu", precision=precision, threads=1) as state:
            state.apply(circuit)
            state.apply(circuit)
            found = np.asarray(state.to_numpy())
        expected = simulate(circuit, simulate(circuit))
        np.testing.assert_allclose(found, expected, atol=1e-5 if precision == "single" else 1e-12)


def test_cx_on_rows_takes_no_instruction() -> None:
    """CX between bits of a tile that lie across rows add nothing to what a sweep runs."""
    wires, shape = 12, Shape(tile=12, near=12, low=5, edge=0, phases=3, dense=5, thin=7, item_work=2.0)
    builder = CircuitBuilder(wires)
    rng = np.random.default_rng(0)
    for _ in range(50):
        control, target = (5 + rng.permutation(wires - 5)[:2]).tolist()
        builder.gate("cx", [control, target])
    builder.gate("t", [11])
    plan = make_plan(builder.build().instructions, wires, Layout.identity(wires), shape, 0, None)
    (sweep,) = plan.sweeps
    encoded = encode_in_python(sweep, wires, 4, 4)
    assert [row["kind"] for row in encoded.instructions] == [SCALE_COMPLEX]
