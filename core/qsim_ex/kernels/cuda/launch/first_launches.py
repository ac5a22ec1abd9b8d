"""The launches of a plan whose sweeps are all interpreted, laid out by core/native/planner/encode/launches.cpp.

A new structure's first run makes no Python object for a register block or a number: the planner's arrays become
programs, takes, recipes of tables, and the words of `run_words`.
"""

from __future__ import annotations

import numpy as np

from qsim_ex.kernels.cuda.fixed import fixed
from qsim_ex.kernels.cuda.interpret import interpreter
from qsim_ex.kernels.cuda.interpret.programs import SweepPrograms
from qsim_ex.kernels.cuda.launch.launches import LaunchList
from qsim_ex.kernels.cuda.launch.tables import BY_VALUE
from qsim_ex.kernels.cuda.runtime import KernelText, Runtime
from qsim_ex.native.library import address, function
from qsim_ex.precision import Precision
from qsim_ex.steps.plan_arrays import PlanArrays, arrays_at

_ARRAYS = (("words", "i8", 1), ("places", "i4", 1), ("sent", "u4", 1), ("kernels", "i8", 1), ("addresses", "i8", 1))
"""The arrays of `qx_plan_launches`: name, type, integers of a row; the last two say where in `words` those stand."""


def first_launches(runtime: Runtime, plan: PlanArrays, programs: SweepPrograms, num_bits: int) -> LaunchList | None:
    """Return the launches of a plan whose sweeps have these programs.

    None if a step is no sweep, or a table's factors need a transfer of their own.
    """
    few, many = interpreter.FEW, interpreter.MANY
    limits = [most for _, most in BY_VALUE]
    given = np.array(
        [num_bits, programs.precision.storage.real_bytes, runtime.room, *few, *many, *limits], dtype=np.int64
    )
    out = np.empty(2 * len(_ARRAYS) + 3, dtype=np.int64)
    plan.owner.listed()  # which native code reads then
    handle = function("plan_launches")(plan.owner.handle, programs.handle, address(given), address(out))
    if not handle:
        return None
    owner = _KeptLaunches(handle, programs)
    *found, room, constants, tables = out.tolist()
    words, places, sent, kernels, addresses = arrays_at(owner, _ARRAYS, found)
    used = sorted({*words[kernels].tolist()})
    functions = runtime.kernels([_text(number, programs.precision) for number in used])
    handles = np.zeros(max(used) + 1, dtype=np.int64)
    handles[used] = [runtime.handle(kernel) for kernel in functions]
    words[kernels] = handles[words[kernels]]
    on_device = runtime.upload(sent) if len(sent) else None
    if on_device is not None:
        words[addresses] += runtime.address(on_device)
    kept = [owner, on_device, *functions]
    return LaunchList(runtime, words, places, kept, room, constants, tables, programs.precision.storage.real.type)


def _text(number: int, precision: Precision) -> KernelText:
    """Return a kernel by its number in native code: RunKernel of planner/encode/launches.hpp."""
    fixed_kernels: dict[int, str] = {0: "basis", 4: "scale"} | {5 + k: name for k, (name, _) in enumerate(BY_VALUE)}
    if number in fixed_kernels:
        return fixed.first(precision, (fixed_kernels[number],))[0]
    return interpreter.text(precision, (interpreter.FEW, interpreter.MANY, None)[number - 1])


class _KeptLaunches:
    """Launches in native code, and the programs that they point to."""

    _handle = 0  # until there is one: Ctrl-C may come before `__init__` begins

    def __init__(self, handle: int, programs: SweepPrograms) -> None:
        self._free = function("plan_free_launches")
        self._handle, self._programs = handle, programs

    def __del__(self) -> None:
        if self._handle:
            self._free(self._handle)
