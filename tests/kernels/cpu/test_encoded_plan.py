"""What a sweep's items cost: the instructions that they become."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from support.encoded import instructions, kinds

from qsim_ex import CircuitBuilder
from qsim_ex.circuit.ops import ALWAYS, Pattern, When, pattern
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import compiled_plan, make_plan
from qsim_ex.steps import Diagonal, Layout, Mix, Permute, RegisterBlock, Shape, Slot, Sweep
from qsim_ex.steps.step import NUMBERED, Item
from tools.drawn_plans import case

WIRES, LANES = 10, 4
NEAR = (7, 8)


def matrix(text: str, *bits: int, reads: tuple[int, ...] = ()) -> Mix:
    """A matrix whose pattern is written with spaces; all its bits lie across rows."""
    of = pattern(text.replace(" ", ""))
    return Mix(bits, reads, ALWAYS, of, Slot(0, count_of(of, bool(reads))))


def count_of(of: Pattern, reads: bool) -> int:
    """How many numbers an item with this pattern has."""
    return sum(reads or entry in NUMBERED for entry in of)


def cost(*items: Item) -> list[str]:
    """The kinds of instructions of a sweep with some items."""
    return kinds(Sweep(tuple(range(WIRES)), (RegisterBlock((), items),), 256, 0), WIRES, LANES)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1000 0ri0 0ir0 0001", ["PAIR_REAL"]),
        ("r00i 0ri0 0ir0 i00r", ["PAIR_REAL", "PAIR_REAL"]),
        ("1000 0100 0010 0001", []),
        ("1000 0100 0010 000c", ["SCALE_COMPLEX"]),
        ("cc00 ccc0 0cc0 0001", ["QUAD_COMPLEX"]),
        ("rrrr rrrr rrrr rrrr", ["QUAD_REAL"]),
        ("rrii rrii iirr iirr", ["QUAD_REAL"]),
        ("c00c 0100 0010 c00c", ["PAIR_COMPLEX"]),
    ],
)
def test_values_that_nothing_happens_to_cost_nothing(text: str, wanted: list[str]) -> None:
    """A matrix becomes one instruction for each set of values that it mixes, three values taking the fourth along."""
    assert cost(matrix(text, *NEAR)) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("rrrr", "PAIR_REAL"),
        ("riir", "PAIR_REAL"),
        ("cccc", "PAIR_COMPLEX"),
        ("0ii0", "PAIR_REAL"),
        ("rici", "PAIR_COMPLEX"),
        ("ccc0", "PAIR_COMPLEX"),
    ],
)
def test_real_planes(text: str, wanted: str) -> None:
    """A matrix costs half if D⁻¹·M·D is real for a diagonal D of powers of i."""
    assert cost(matrix(text, 7)) == [wanted]


def test_blocks_agree_on_planes() -> None:
    """If one selected block is real where another is imaginary, there are no planes that serve both."""
    assert cost(matrix("rrrr rrrr", 7, reads=(1 << 8,))) == ["PAIR_REAL"]
    assert cost(matrix("rrrr riir", 7, reads=(1 << 8,))) == ["PAIR_COMPLEX"]


def test_a_wide_matrix_is_dense() -> None:
    """A matrix on three bits is one instruction, which gets its rows from a list."""
    assert cost(matrix("c" * 64, 6, 7, 8)) == ["DENSE"]


def test_phases_of_one_cost_nothing() -> None:
    """A table of ones is left out; one of signs is real."""
    ones, signs, phases = [Diagonal((1 << 7,), ALWAYS, pattern(text), Slot(0, 2)) for text in ("11", "1-", "1c")]
    assert [cost(each) for each in (ones, signs, phases)] == [[], ["SCALE_REAL"], ["SCALE_COMPLEX"]]


def test_lanes_are_exchanged_before_what_mixes_them_and_in_the_end() -> None:
    """What mixes a lane waits until it is exchanged for a row; what shares reads alone with it does not wait."""
    first, reader, other = matrix("rrrr", 0), Diagonal((0b11,), ALWAYS, pattern("1c"), Slot(0, 2)), matrix("cccc", 5)
    assert cost(first, reader, other) == ["PAIR_COMPLEX", "LANES", "PAIR_REAL", "SCALE_COMPLEX", "LANES"]
    assert cost(*[matrix("rrrr", lane) for lane in range(LANES)]) == ["LANES", *["PAIR_REAL"] * LANES, "LANES"]


def together(*items: Item) -> list[int]:
    """Of each instruction of a sweep with some items, how many from it on run together."""
    sweep = Sweep(tuple(range(WIRES)), (RegisterBlock((), items),), 256, 0)
    return instructions(sweep, WIRES, LANES)["size"].ravel().tolist()


def test_matrices_on_a_row_bit_each_run_together() -> None:
    """Up to three that follow each other in one frame are joined, twice two of four, and no other kind or condition."""
    real = [matrix("rrrr", bit) for bit in range(LANES, WIRES)]
    assert together(*real[:2]) == [2, 0]
    assert together(*real[:3]) == [3, 0, 0]
    assert together(*real[:4]) == [2, 0, 2, 0]
    assert together(*real[:5]) == [3, 0, 0, 2, 0]
    assert together(*real[:6]) == [3, 0, 0, 3, 0, 0]
    assert together(real[0], Permute((7,), When(1 << 8, 1 << 8), (1, 0)), real[1], real[2]) == [1, 2, 0]
    assert together(real[0], matrix("cccc", 7), matrix("cccc", 8)) == [1, 2, 0]
    assert together(real[0], Mix((7,), (), When(1 << 8, 0), pattern("rrrr"), Slot(0, 4))) == [1, 0]


def test_a_cx_that_moves_whole_rows_takes_no_instruction() -> None:
    """Other permutations exchange rows, and where a lane is the control they are a matrix."""
    assert cost(Permute((7,), When(1 << 8, 1 << 8), (1, 0))) == []
    assert cost(Permute((7,), When(1 << 12, 0), (1, 0))) == []
    assert cost(Permute((7, 8), ALWAYS, (0, 2, 1, 3))) == ["EXCHANGE"]
    assert cost(Permute((7,), When(1, 1), (1, 0))) == ["PAIR_REAL"]


def test_a_plan_of_cx_takes_one_instruction_for_its_phase() -> None:
    """CX between bits of a tile that lie across rows add nothing to what the sweep of a plan runs."""
    wires, shape = 12, Shape(tile=12, registers=12, low=5, edge=0, most_blocks=3, dense=5, thin=7, item_work=2.0)
    builder, rng = CircuitBuilder(wires), np.random.default_rng(0)
    for _ in range(50):
        control, target = (5 + rng.permutation(wires - 5)[:2]).tolist()
        builder.gate("cx", [control, target])
    builder.gate("t", [11])
    (sweep,) = make_plan(builder.build().instructions, wires, Layout.identity(wires), shape, 0, None).sweeps
    assert kinds(sweep, wires) == ["SCALE_COMPLEX"]


@pytest.mark.parametrize(("lane_bits", "real_bytes"), [(2, 4), (3, 4), (4, 4), (1, 8), (2, 8), (3, 8)])
def test_sweeps_that_were_pickled_have_the_instructions_of_their_plan(lane_bits: int, real_bytes: int) -> None:
    """A sweep alone, made of Python's objects, has the instructions that it has among the sweeps of its plan."""
    compared = 0
    for number in range(lane_bits, 150, 6):
        circuit, given = case(number)
        for sweep in compiled_plan(circuit.instructions, **given).sweeps:
            one, other = (
                instructions(each, given["num_wires"], lane_bits, real_bytes)
                for each in (sweep, pickle.loads(pickle.dumps(sweep)))
            )
            assert one.tobytes() == other.tobytes(), f"case {number}"
            compared += len(one)
    assert compared > 100


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_plans_that_were_pickled_compute_the_same(dtype: type[np.complexfloating]) -> None:
    """Bit for bit, the steps of a pickled plan do what those of the plan do."""
    device = CpuDevice(1)
    for number in range(0, 150, 7):
        circuit, given = case(number)
        num_bits = given["num_wires"]
        if num_bits > 14:
            continue
        plan = compiled_plan(circuit.instructions, **given)
        numbers = list(bind(plan, circuit.operands))
        found = []
        for steps in (plan.steps, pickle.loads(pickle.dumps(plan)).steps):
            state = device.allocate(1 << num_bits, dtype)
            state[:] = np.exp(1j * np.arange(1 << num_bits)) / 2 ** (num_bits / 2)
            for step, packed in zip(steps, numbers, strict=True):
                device.run(state, num_bits, step, packed)
            found.append(np.array(state))
        np.testing.assert_array_equal(*found)
