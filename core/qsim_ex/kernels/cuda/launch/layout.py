"""The launches of a plan, laid out by core/native/planner/encode/launches/launches.cpp.

A new structure's first run makes no Python object for a register block or a number: the planner's arrays become
programs, takes, recipes of tables, and the words of core/native/kernels/run_words.hpp. Later runs are laid out in the
same way, with the data of their kernels in place of programs.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import wires_of
from qsim_ex.kernels.cuda.fixed import fixed
from qsim_ex.kernels.cuda.interpret import interpreter
from qsim_ex.kernels.cuda.interpret.programs import SweepPrograms, plan_programs
from qsim_ex.kernels.cuda.launch.launches import LaunchList
from qsim_ex.kernels.cuda.launch.tables import BY_VALUE
from qsim_ex.kernels.cuda.runtime import KernelText, LoadedKernel, Runtime
from qsim_ex.kernels.cuda.sweep_launch import CompiledSweep
from qsim_ex.native.library import address, function, integers
from qsim_ex.precision import Precision
from qsim_ex.steps.plan_arrays import Memory, PlanArrays


def laid_out(
    runtime: Runtime,
    plan: PlanArrays,
    precision: Precision,
    num_bits: int,
    kernels: Sequence[CompiledSweep | None],
) -> LaunchList | None:
    """Return the launches of a plan: each sweep by its kernel, or by the interpreter if that is None.

    None if a step is no sweep, or a table's factors need a transfer of their own.
    """
    few, many = interpreter.FEW, interpreter.MANY
    limits = [most for _, most in BY_VALUE]
    sizes = num_bits, precision.storage.real_bytes, runtime.room
    given = [*sizes, *few, *many, *limits]
    out = integers(8)
    if any(kernels):
        plan.owner.listed()  # which native code reads then, so that each number is made when it is needed
    programs = None if all(kernels) else plan_programs(plan, precision, runtime.tensor, True)
    own = _rows(runtime, kernels) if any(kernels) else None
    rows, at = 0 if own is None else address(own), 0 if programs is None else programs.handle
    handle = function("plan_launches")(plan.owner.handle, at, rows, struct.pack(f"{len(given)}q", *given), out)
    if not handle:
        return None
    owner = _KeptLaunches(handle, plan, programs)
    words, places, sent, size, room, constants, tables, mask = out
    used = wires_of(mask)
    functions = runtime.kernels([_text(number, precision) for number in used])
    handles = integers(mask.bit_length())
    for number, one in zip(used, functions, strict=True):
        handles[number] = runtime.handle(one)
    on_device = runtime.upload(Memory(owner, sent, size, "u4").array()) if size else None
    function("plan_link_launches")(handle, handles, 0 if on_device is None else runtime.address(on_device))
    kept = [owner, on_device, *functions, *_functions(kernels)]
    return LaunchList(runtime, words, places, kept, room, constants, tables, precision.storage.real.type)


def _rows(runtime: Runtime, kernels: Sequence[CompiledSweep | None]) -> NDArray[np.int64]:
    """Return a struct SweepKernel for each sweep; the takes that they point to are those of the kernels."""
    rows = np.zeros((len(kernels), 9), dtype=np.int64)
    for row, sweep in zip(rows, kernels, strict=True):
        if sweep is not None:
            kernel = sweep.kernel
            takes = [(take.ctypes.data, len(take)) for take in (kernel.values, kernel.table, kernel.pivots)]
            row[:] = runtime.handle(sweep.function), kernel.threads, kernel.skipped_bits, *sum(takes, ())
    return rows


def _functions(kernels: Sequence[CompiledSweep | None]) -> list[LoadedKernel]:
    return [sweep.function for sweep in kernels if sweep is not None]


@cache
def _text(number: int, precision: Precision) -> KernelText:
    """Return a kernel by its number in native code: RunKernel of planner/encode/launches/launches.hpp."""
    fixed_kernels: dict[int, str] = {0: "basis", 4: "scale"} | {5 + k: name for k, (name, _) in enumerate(BY_VALUE)}
    if number in fixed_kernels:
        return fixed.first(precision, (fixed_kernels[number],))[0]
    return interpreter.text(precision, (interpreter.FEW, interpreter.MANY, None)[number - 1])


class _KeptLaunches:
    """Launches in native code, and the numbers and programs that they point to."""

    _handle = 0  # until there is one: Ctrl-C may come before `__init__` begins

    def __init__(self, handle: int, plan: PlanArrays, programs: SweepPrograms | None) -> None:
        self._free = function("plan_free_launches")
        self._handle, self._plan, self._programs = handle, plan, programs

    def __del__(self) -> None:
        if self._handle:
            self._free(self._handle)
