"""Sweeps as the arrays of integers that core/native/kernels/sweep.cpp interprets, and the interpreter, which runs them.

Native code writes them (`Writer` in core/native/planner/encode). Only structure is encoded, so it is done once for a
plan; numbers are looked up when a sweep runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.errors import InvalidInput
from qsim_ex.kernels import host
from qsim_ex.kernels.cpu import pool
from qsim_ex.later import later
from qsim_ex.native.library import REFUSED, address, function, integers, refusal, unchecked
from qsim_ex.precision import BY_DTYPE, DTYPES, AmplitudeDtype, Amplitudes, Storage
from qsim_ex.steps.coefficients import Bound
from qsim_ex.steps.compiled import PlannedSweep
from qsim_ex.steps.plan_arrays import Memory, PlanArrays
from qsim_ex.steps.step import Step, Sweep

if TYPE_CHECKING:
    from qsim_ex.steps import sweep_arrays
    from qsim_ex.steps.sweep_arrays import SweepArrays
else:
    sweep_arrays = later("qsim_ex.steps.sweep_arrays")

_WORK = 4  # a sweep does 4 times as much work on an amplitude as a sum does

PROGRAM = 8
"""The integers of an encoded sweep as kernels take it: the struct Program of core/native/kernels/encoding.hpp."""

NUM_INSTRUCTIONS = 1
"""Which of them is the number of its instructions."""

_KEPT_NUMBER = 32
"""Bytes of a packed number that is kept as it was, and as it is with blocks taken apart."""

_SLICE = 50
"""Milliseconds for which native code encodes before it returns to Python."""

Run = Callable[..., int]

Packed = NDArray[np.complex128]
"""Numbers as a plan has them for its kernels."""

TurnBlocks = Callable[[Bound], Iterable[Packed]]

LEAST_CACHED = 1 << 26
"""The bytes that a last cache has at least, as far as writing past it is concerned."""


@lru_cache(maxsize=2)
def encoded_plan(
    arrays: PlanArrays, num_bits: int, lane_bits: int, real_bytes: int, check: Callable[[], None] | None = None
) -> EncodedPlan:
    """Return all sweeps of a plan, encoded.

    Cached, since sweeps are asked for one after the other; who prepares a plan keeps them.
    """
    return EncodedPlan(arrays, num_bits, lane_bits, real_bytes, check)


class EncodedPlan:
    """Encoded sweeps of one plan, in memory of native code, which lives as long as this object.

    They run over 2^num_bits amplitudes, by vectors of 2^lane_bits real numbers of `real_bytes` bytes. check: is called
    from time to time while they are encoded, and may raise. bytes: what they take. turned: how many dense blocks
    `turn_blocks` may take apart.
    """

    _handle = 0  # until there is one: Ctrl-C may come before `__init__` begins

    def __init__(
        self,
        arrays: PlanArrays | SweepArrays,
        num_bits: int,
        lane_bits: int,
        real_bytes: int,
        check: Callable[[], None] | None = None,
    ) -> None:
        self._free = function("plan_free_encoded")
        encode = unchecked("plan_encode")
        self._handle = function("plan_encode_begin")(arrays.handle, num_bits, lane_bits, real_bytes)
        while state := encode(self._handle, _SLICE):
            if state == REFUSED:
                raise refusal(encode)
            if check is not None:  # and here Python looks for Ctrl-C
                check()
        function("plan_encoded")(self._handle, out := integers(3))
        self._programs, self.bytes, self.turned = out[:]
        self._places = arrays.sweep_places

    def program(self, number: int) -> int:
        """Return the address of the program of a sweep, by the number of the step: the integers of `PROGRAM`."""
        return self._programs + 8 * PROGRAM * self._places[number]

    def turn_blocks(self, packed: Packed) -> int:
        """Write numbers of fewer multiply-adds in place of those of dense blocks; return for how many blocks.

        packed: the packed numbers of all steps of the plan, changed in place. All sweeps together do the same with
        them, but no sweep alone.
        """
        turn = unchecked("plan_turn_blocks")
        if (turned := turn(self._handle, address(packed))) == REFUSED:
            raise refusal(turn)
        return int(turned)

    def words(self, number: int) -> NDArray[np.int64]:
        """Return the integers of a sweep's program, for tests and for benchmarks."""
        return Memory(self, self.program(number), PROGRAM, "i8").array()

    def __del__(self) -> None:
        if self._handle:
            self._free(self._handle)


@lru_cache(maxsize=8)
def run_of(dtype: AmplitudeDtype, chosen: str = "") -> Run:
    """Return the interpreter for amplitudes of a dtype. chosen: the instruction set; see `native.library.function`."""
    found: Run = unchecked(f"run_sweep_{BY_DTYPE[dtype].name}", chosen)
    return found


@thresholds.depends
@lru_cache(maxsize=1)
def cached_bytes() -> int:
    """Return the bytes above which a growing state is written past the caches.

    To write through them, memory that holds nothing would be read first: two thirds of the time of a GHZ state of 26
    wires on 16 cores.
    """
    return thresholds.now.past_caches or max(LEAST_CACHED, function("last_cache")())


class NativeSweep:
    """An encoded sweep as the interpreter takes it.

    run_it: of `run_of`. program: the address of its program, see `PROGRAM`. owner: keeps what is there.
    """

    __slots__ = ("_run", "owner", "program")

    def __init__(self, run_it: Run, program: int, owner: object) -> None:
        self._run, self.program, self.owner = run_it, program, owner

    def run(self, state: int, rows: int, numbers: NDArray[np.float64], high: int, threads: int) -> None:
        """Run the sweep on states that follow each other in memory, from the address `state` on.

        numbers: real and imaginary parts in turn, [1, count] for all states together or [rows, count].
        high: the value of all index bits outside the states. Raises `OutOfMemory` before anything is changed.
        """
        chunk = 0
        where = self.program, state, rows, numbers.ctypes.data, *numbers.shape, high, cached_bytes()
        while chunk := self._run(*where, chunk, threads, thresholds.now.slice_microseconds):
            if chunk == REFUSED:
                raise refusal(self._run)


class EncodedSweeps:
    """Encoded sweeps of one plan, for one size and dtype.

    chosen: the instruction set; the best of this processor by default. check: see `EncodedPlan`. threads: of a run of
    one state, 0 for no such runs. turn_blocks: returns the numbers of each step of a run of all of them, where dense
    blocks are worth to be taken apart; else None. bytes: what all of them take, with the arrays of their plan.
    """

    def __init__(
        self,
        num_bits: int,
        dtype: AmplitudeDtype,
        chosen: str = "",
        check: Callable[[], None] | None = None,
        threads: int = 0,
    ) -> None:
        self.turn_blocks: TurnBlocks | None = None
        self.num_bits = num_bits
        self.dtype = dtype
        self.chosen = chosen
        self._check = check
        self._threads = threads
        self.bytes = 0
        self._programs: dict[int, tuple[Step, NativeSweep | None]] = {}
        self._plan: tuple[PlanArrays, EncodedPlan] | None = None
        self._turned: tuple[Packed, list[Packed]] | None = None

    def program(self, step: Step) -> NativeSweep | None:
        """Return the encoded sweep; None for another step, which needs none."""
        found = self._programs.get(id(step))
        if found is None or found[0] is not step:
            found = self._programs[id(step)] = (step, self._encoded(step) if isinstance(step, Sweep) else None)
        return found[1]

    def _encoded(self, step: Sweep) -> NativeSweep:
        if isinstance(step, PlannedSweep) and step.arrays is not None:
            plan = self._encoded_plan(step.arrays)
            return NativeSweep(run_of(self.dtype, self.chosen), plan.program(step.number), plan)
        alone = EncodedPlan(sweep_arrays.SweepArrays([step]), self.num_bits, *self._vectors)
        self.bytes += alone.bytes
        return NativeSweep(run_of(self.dtype, self.chosen), alone.program(0), alone)

    def _encoded_plan(self, arrays: PlanArrays) -> EncodedPlan:
        """Return the sweeps of the compiled plan that all steps are of, but for steps of another plan."""
        if self._plan is None or self._plan[0] is not arrays:
            encoded = encoded_plan(arrays, self.num_bits, *self._vectors, self._check)
            self._plan = arrays, encoded
            self.bytes += encoded.bytes + arrays.bytes
            least = self._threads << thresholds.now.turned_bits
            if encoded.turned and not arrays.staged and 1 << self.num_bits >= least > 0:
                self.turn_blocks = self._turn_blocks
                self.bytes += _KEPT_NUMBER * len(arrays.packed)
        return self._plan[1]

    def _turn_blocks(self, numbers: Bound) -> Iterable[Packed]:
        """Return the numbers of each step of a run with dense blocks taken apart, which takes 5 to 11 µs for one.

        The last ones are kept.
        """
        assert self._plan is not None
        arrays, encoded = self._plan
        if (packed := numbers.packed(arrays)) is None:
            return numbers
        known = self._turned
        if known is None or not np.array_equal(known[0], packed):
            given = packed.copy()
            encoded.turn_blocks(packed)
            steps = [packed[begin:end] for begin, end in pairwise([0, *arrays.packed_ends])]
            known = self._turned = given, steps
        return known[1]

    @cached_property
    def _vectors(self) -> tuple[int, int]:
        """log2 of the real numbers of a vector, and the bytes of one."""
        return host.lane_bits(self.dtype, self.chosen), checked_storage(self.dtype).real_bytes


def run_sweep(
    buffer: Amplitudes,
    num_bits: int,
    step: Sweep,
    numbers: object,
    prepared: EncodedSweeps | None,
    high: int,
    threads: int,
) -> None:
    """Run a sweep on all rows of a batch; threads share their tiles.

    numbers: complex128 [count] or [1, count], the same for all rows, or [rows, count].
    """
    if prepared is None or (prepared.num_bits, prepared.dtype) != (num_bits, buffer.dtype):
        prepared = EncodedSweeps(num_bits, buffer.dtype)
    program = prepared.program(step)
    assert program is not None  # a sweep is encoded
    floats = np.ascontiguousarray(numbers, dtype=np.complex128).view(np.float64)
    floats = floats.reshape(1, -1) if floats.ndim == 1 else floats
    program.run(buffer.ctypes.data, buffer.size >> num_bits, floats, high, pool.worth(_WORK * buffer.size, threads))


@lru_cache(maxsize=2)
def checked_storage(dtype: AmplitudeDtype) -> Storage:
    """Return how amplitudes of a dtype are stored; raises `InvalidInput` unless amplitudes have this dtype."""
    if (row := BY_DTYPE.get(dtype)) is None:
        raise InvalidInput(f"expected amplitudes in {DTYPES}, got {dtype}; convert them.")
    return row.storage
