"""`make_plan` in native code: what Python gives to core/native/planner/plan.cpp, and gets from it.

Native code reads the instructions, works for some milliseconds at a time, so that Ctrl-C and `cancel` end it,
and keeps the arrays that `planner` makes a `Plan` of.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, Initialize, Op, Permutation, Unitary, title_of
from qsim_ex.errors import Cancelled, NotSupported, PlanError
from qsim_ex.later import later
from qsim_ex.native.library import REFUSED, address, function, refusal, unchecked
from qsim_ex.planning.rules import mask_of_rules
from qsim_ex.precision import SINGLE
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan_arrays import LISTED, NAMES, Memory, PlanArrays

if TYPE_CHECKING:
    from qsim_ex.planning.cost import rates as known_rates
else:
    known_rates = later("qsim_ex.planning.cost.rates")

TRIES = 4
"""The most choices of the lowest bits that are tried: 4 gained 3.5 % of the predicted time, 8 gained 3.7 % (102
circuits, 16 to 28 bits).
"""


class Promise(NamedTuple):
    """When a plan in a CNOT frame is tried, and what it has to save so that it is taken.

    cx_ratio: one is tried from this multiple of `Shape.cx_ratio` (or `cx_ratio_there`) on: 1, and 0 in tests.
    piece: the planner's time for a piece of work (ten diagonals count as one), in units of a sweep over
        2^`Shape.start` amplitudes (about 5 µs). Planning may take half of the time that such a plan can save.
    gain: the share of the predicted time that the plan may take. Of 110 circuits of 20 and 21 wires the ratio of two
        plans' times was measured to be off the predicted one by a factor of 1.2 (the standard deviation).
    """

    cx_ratio: float
    piece: float
    gain: float


PROMISE = Promise(cx_ratio=1.0, piece=2.0, gain=0.85)
ANY_PROMISE = Promise(cx_ratio=0.0, piece=0.0, gain=float("inf"))
"""For tests: wherever there is a plan in a CNOT frame, it is taken."""

PARITIES = -1
"""When a plan has far parities: −1 where that is faster, 0 never, to see what they gain. In tests, another number takes
every such plan of at most so many stages.
"""

MOST_WIRES = 62
"""Masks of more index bits do not fit into the integers of native code."""

_SLICE = 50
"""Milliseconds for which native code works before it returns to Python."""

_UNBOUNDED = -1
_WAITS, _TOO_LARGE, _TOO_WIDE = 2, -2, -3
"""What native code returns while it waits to read on, and of plans that cannot be made."""

Integers = NDArray[np.int64]


def planned(
    instructions: tuple[Unitary, ...],
    num_wires: int,
    start: Layout,
    fitted: Shape,
    fresh: int,
    choices: tuple[int, ...],
    levels: Levels | None = None,
    place: bool = False,
) -> Planner:
    """Return a planner that is done. choices: of the lowest bits of a new state, which it may try."""
    tried = np.array(choices, dtype=np.int64)
    above = None if levels is None else _on_levels(levels, fitted, place)
    bits = np.array(start.address, dtype=np.int64)
    given = np.array(
        [
            *(fitted.tile, fitted.registers, fitted.low, fitted.edge),
            *(_UNBOUNDED if fitted.most_blocks is None else fitted.most_blocks, fitted.dense),
            *(fitted.table, fitted.start),
            *(fitted.block_made, fitted.block is not None),
            *(num_wires, address(bits), start.flip, fresh, address(tried), len(tried), fitted.floats, fitted.relabels),
            *(fitted.linear, fitted.fewer, 0 if above is None else address(above)),
            mask_of_rules(fitted.left_out) if fitted.left_out else 0,
        ],
        dtype=np.int64,
    )
    rates = np.array(
        [
            *(fitted.item_work, fitted.balance, fitted.block or 0.0, fitted.seen, fitted.transposed),
            *(fitted.counted, fitted.exchanged, fitted.scattered, fitted.elsewhere, fitted.permute),
            *(PROMISE.cx_ratio * (fitted.cx_ratio if fresh else fitted.cx_ratio_there), PROMISE.piece, PROMISE.gain),
            *(() if levels is None else _rates(levels)),
        ]
    )
    planner = Planner(instructions, given, rates)
    planner.run(num_wires if levels is None else levels.local)
    return planner


def _impossible(state: int, instructions: tuple[Unitary, ...], local: int) -> NotSupported | PlanError:
    """Return the error for what native code says of a plan that it cannot make."""
    if state == _TOO_LARGE:
        return NotSupported(
            f"expected a circuit whose matrices and their products have at most {1 << 32} entries, got more; "
            "divide it into several circuits."
        )
    if state == _TOO_WIDE:
        wanted, name = max(map(_width, instructions))
        return NotSupported(
            f"the operation {name!r} mixes {wanted} bits at once; a sub state vector has {local} local bits. Use at "
            f"least {wanted} device wires, or decompose the operation."
        )
    return PlanError("expected a sweep to run some of its work, got none. This is a bug of qsim-ex; please report it.")


def _width(instruction: Unitary) -> tuple[int, str]:
    """Return how many wires an instruction mixes, and its name."""
    return instruction.mixed_wires.bit_count(), title_of(instruction)


def _on_levels(levels: Levels, shape: Shape, place: bool) -> Integers:
    """Return levels as native code reads them."""
    sizes = levels.local, levels.peers, levels.slice, levels.ranks, levels.network == "mesh"
    layers = [layer.bits for layer in levels.layers]
    return np.array([*sizes, shape.stays, place, PARITIES, len(layers), *layers], dtype=np.int64)


def _rates(levels: Levels) -> tuple[float, ...]:
    """Return the rates by which plans on several levels are compared: of H200s, in single precision, and of layers."""
    rates = known_rates.H200
    of = rates.memory, rates.fma, rates.seen, rates.peer, rates.host, rates.host_both, rates.host_all, rates.homes
    within = rates.launch, rates.exchange, SINGLE.costs.exchange_work, SINGLE.costs.permuted_work
    return *of, *within, *(layer.bytes_per_second for layer in levels.layers)


def worked(handle: int, kind: Literal["plan", "form", "writer"]) -> int:
    """Let native code work on a plan, a form, or what is written of it, slice by slice; return 0, or why there is none.

    Raises `Cancelled`, `KeyboardInterrupt` and `OutOfMemory`.
    """
    advance = unchecked(f"{kind}_advance")
    while (state := advance(handle, _SLICE)) > 0:
        check_cancelled()  # and here Python looks for Ctrl-C
        if state == _WAITS:
            function(f"{kind}_read")(handle)
    if state == REFUSED:
        raise refusal(advance)
    return int(state)


class Planner:
    """A planner in native code, and the memory of the arrays that it makes."""

    handle = 0  # until there is one: Ctrl-C may come before `__init__` begins

    def __init__(self, instructions: tuple[Unitary, ...], given: Integers, rates: NDArray[np.float64]) -> None:
        self._free = function("plan_free")
        ops, types = as_ops(instructions)
        self._instructions, self._read = instructions, (ops, types)  # kept, since a large circuit is read part by part
        self.handle = function("plan_begin")(
            ops, 0 if types is None else address(types), address(given), address(rates)
        )

    def run(self, local: int) -> None:
        """Plan to the end; raises `NotSupported`, `OutOfMemory` or `PlanError`. local: how many bits are local."""
        if state := worked(self.handle, "plan"):
            raise _impossible(state, self._instructions, local)
        del self._instructions, self._read

    def arrays(self) -> tuple[PlanArrays, tuple[int, int, int, int, int, int]]:
        """Return the arrays, which keep this object alive, and six integers about the plan.

        The flips of both layouts; whether wires were moved, whether the lowest bits change from sweep to sweep, and
        whether the plan is in a CNOT frame; and how many bits are lowest.
        """
        out = np.empty(2 * len(NAMES) + 10, dtype=np.int64)
        function("plan_arrays")(self.handle, out.ctypes.data)
        *found, flip, end_flip, num_operands, reordered, floats, linear, low, size, program_bytes, steps = out.tolist()
        changes = flip, end_flip, reordered, floats, linear, low
        return PlanArrays(self, steps, found, num_operands, size, program_bytes), changes

    def stages(self) -> tuple[list[int], bool, int]:
        """Return the stages as integers, whether parities are far, and which index bits are fresh in the end."""
        out = np.empty(4, dtype=np.int64)
        function("plan_stages")(self.handle, out.ctypes.data)
        at, count, parities, left = out.tolist()
        return Memory(self, at, count, "i8").array().tolist(), bool(parities), left

    def listed(self) -> list[int]:
        """Return address and length of each array of the listed coefficient program, which this object keeps."""
        out = np.empty(2 * len(LISTED), dtype=np.int64)
        listed = unchecked("plan_listed")
        if listed(self.handle, out.ctypes.data) == REFUSED:
            raise refusal(listed)
        return [int(number) for number in out.tolist()]

    def passes(self) -> float:
        """Return how long a plan for one device takes, in passes over the full state."""
        out = np.empty(1)
        function("plan_time")(self.handle, address(out))
        return float(out[0])

    def __del__(self) -> None:
        if self.handle:
            self._free(self.handle)


_OP, _PERMUTATION, _INITIALIZE = range(3)


def as_ops(instructions: tuple[Unitary, ...]) -> tuple[tuple[Op, ...], Integers | None]:
    """Return all instructions as operations, and their types; None if all are operations.

    Of a permutation the indices are its reads.
    """
    if {*map(type, instructions)} <= {Op}:
        return cast(tuple[Op, ...], instructions), None
    types = np.zeros(len(instructions), dtype=np.int64)
    ops = []
    for number, instruction in enumerate(instructions):
        match instruction:
            case Op():
                ops.append(instruction)
            case Permutation(wires, indices):
                types[number] = _PERMUTATION
                ops.append(Op(wires, indices, ALWAYS, b"", 0, "permutation"))
            case Initialize(wires, operand):
                types[number] = _INITIALIZE
                ops.append(Op(wires, (), ALWAYS, b"", operand, "initialize"))
    return tuple(ops), types


@lru_cache(maxsize=64)
def lows(num_bits: int, low: int) -> tuple[int, ...]:
    """Return the choices of the lowest bits of a new state that are tried beside those that are lowest already."""
    chance = random.Random(0)
    return tuple(sum(1 << bit for bit in chance.sample(range(num_bits), low)) for _ in range(TRIES))


CANCEL: ContextVar[threading.Event | None] = ContextVar("cancel", default=None)
"""The event that ends planning when it is set; None for a run that cannot be cancelled."""


@contextmanager
def cancelled_by(cancel: threading.Event | None) -> Iterator[None]:
    """Let an event end the planning inside this block; a finished plan is kept, an unfinished one is discarded."""
    token = CANCEL.set(cancel)
    try:
        yield
    finally:
        CANCEL.reset(token)


def check_cancelled() -> None:
    """Raise `Cancelled` if the event of `cancelled_by` is set."""
    cancel = CANCEL.get()
    if cancel is not None and cancel.is_set():
        raise Cancelled("cancelled while the circuit was planned.")
