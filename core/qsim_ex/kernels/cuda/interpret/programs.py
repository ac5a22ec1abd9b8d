"""The programs of sweeps for the interpreter, written by core/native/planner/encode/programs/programs.cpp."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from qsim_ex.kernels.cuda.interpret.interpreter import MANY
from qsim_ex.kernels.cuda.interpret.sweep_program import SweepProgram
from qsim_ex.kernels.cuda.runtime import HostArray
from qsim_ex.later import later
from qsim_ex.native.library import function, integers
from qsim_ex.precision import Precision
from qsim_ex.steps.compiled import PlannedSweep
from qsim_ex.steps.plan_arrays import PlanArrays, arrays_at
from qsim_ex.steps.step import Sweep

if TYPE_CHECKING:
    from qsim_ex.steps import sweep_arrays
    from qsim_ex.steps.sweep_arrays import SweepArrays
else:
    sweep_arrays = later("qsim_ex.steps.sweep_arrays")

_ARRAYS = (("words", "u4", 1), ("shared", "i8", 1), ("tables", "i8", 1), ("ends", "i8", 5))
"""The arrays of `qx_plan_programs`: name, type, and integers of a row; `ends` are structs ProgramEnd."""


@lru_cache(maxsize=2)
def plan_programs(arrays: PlanArrays, precision: Precision, tensor: bool, bodies: bool) -> SweepPrograms:
    """Return the programs of all sweeps of a plan; cached, since sweeps are asked for one after the other."""
    return SweepPrograms(arrays, precision, tensor, bodies)


def program_of(sweep: Sweep, precision: Precision, tensor: bool, bodies: bool = True) -> SweepProgram:
    """Return the program of a sweep; tensor, bodies: see `SweepPrograms`."""
    if isinstance(sweep, PlannedSweep) and sweep.arrays is not None:
        return plan_programs(sweep.arrays, precision, tensor, bodies).program(sweep.number)
    return SweepPrograms(sweep_arrays.SweepArrays([sweep]), precision, tensor, bodies).program(0)


class SweepPrograms:
    """The programs of a plan's sweeps, in memory of native code, which lives as long as this object.

    handle: what native code calls them. tensor: whether dense blocks run on the tensor cores. bodies: whether there
    are all bodies, of which the interpreter of derivatives lacks some.
    """

    handle = 0  # until there is one: Ctrl-C may come before `__init__` begins

    def __init__(self, arrays: PlanArrays | SweepArrays, precision: Precision, tensor: bool, bodies: bool) -> None:
        self.arrays, self.precision = arrays, precision
        self._free = function("plan_free_programs")
        out = integers(2 * len(_ARRAYS))
        sizes = precision.storage.real_bytes, precision.tensor.depth
        self.handle = function("plan_programs")(arrays.handle, *sizes, tensor, bodies, MANY.words, out)
        self._found = out[:]

    def program(self, number: int) -> SweepProgram:
        """Return the program of a sweep, by the number of its step."""
        words, shared, tables, ends = self._parts
        place = self.arrays.sweep_places[number]
        before = ends[place - 1, :3].tolist() if place else [0, 0, 0]
        *bounds, threads, skipped_bits = ends[place].tolist()
        a, b, c = map(slice, before, bounds)
        return SweepProgram(words[a], shared[b], tables[c], threads, skipped_bits)

    @cached_property
    def _parts(self) -> list[HostArray]:
        return arrays_at(self, _ARRAYS, self._found)

    def __del__(self) -> None:
        if self.handle:
            self._free(self.handle)
