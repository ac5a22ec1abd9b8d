"""The choice of the sweeps of a plan that get kernels of their own: the rule of `policy`, with its memory.

With ``compile='auto'`` no run waits for a kernel: it is written, looked for on disk, compiled and loaded in the
background, and takes over in the first run that is prepared when it is there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from qsim_ex.display.log import LOGGER
from qsim_ex.kernels import fork
from qsim_ex.kernels.cuda.background import process_ends
from qsim_ex.kernels.cuda.compile import policy
from qsim_ex.kernels.cuda.compile.compilation import cores
from qsim_ex.kernels.cuda.runtime import KernelText, Runtime
from qsim_ex.kernels.cuda.write.kernel import NAME, Kernel
from qsim_ex.kernels.cuda.write.register_layout import visited_bits
from qsim_ex.precision import Precision
from qsim_ex.steps.compiled import key_of
from qsim_ex.steps.plan_arrays import Key
from qsim_ex.steps.step import Sweep

KEPT = 256
"""The number of prepared plans, and of structures whose runs are counted, that a device remembers."""

_Key = tuple[Key, Precision]
"""A sweep's structure, and the bytes of an amplitude."""


class _Wanted(NamedTuple):
    """A sweep that is to get a kernel; bits: log2 of the amplitudes that it visits."""

    bits: int
    key: _Key
    sweep: Sweep


class KernelChooser:
    """Chooses between kernels and the interpreter, and counts how often a structure was interpreted.

    write: a function from a sweep and the bytes of an amplitude to the sweep's kernel. then: called in the background
        when more kernels are there, before `changes` tells of it.
    changes: how often kernels were ready that had been asked for; a plan that waits for some is looked at again then.
    """

    def __init__(
        self, runtime: Runtime, write: Callable[[Sweep, Precision], Kernel], then: Callable[[], None] | None = None
    ) -> None:
        self.changes = 0
        self._then = then
        self._runtime = runtime
        self._write = write
        self._runs: OrderedDict[_Key, int] = OrderedDict()
        self._ready: OrderedDict[_Key, Kernel] = OrderedDict()
        self._begun: OrderedDict[_Key, None] = OrderedDict()
        self._lock = fork.lock()

    def kernels(self, sweeps: list[Sweep], num_bits: int, precision: Precision, compile: str) -> list[Kernel | None]:
        """Return the kernel of each sweep that has one; None for those that are to be interpreted."""
        if compile == "never":
            return [None] * len(sweeps)
        if compile == "always":
            return [self._write(sweep, precision) for sweep in sweeps]
        keys = [(key_of(sweep), precision) for sweep in sweeps]
        runs = [self._runs.get(key, 0) for key in keys]
        sizes = [visited_bits(sweep, num_bits) for sweep in sweeps]
        there = [key in self._ready for key in keys]
        candidates = [policy.CandidateSweep(*candidate) for candidate in zip(there, runs, sizes, strict=True)]
        chosen = policy.choose(candidates, precision, cores())
        given = map(_Wanted, sizes, keys, sweeps)
        self._begin([wanted for wanted, chose in zip(given, chosen, strict=True) if chose])
        for key, count in zip(keys, runs, strict=True):
            if key not in self._ready:
                remember(self._runs, key, count + 1, 16 * KEPT)
        return [self._ready.get(key) for key in keys]

    def ready(self, sweeps: Sequence[Sweep], precision: Precision) -> list[Kernel | None]:
        """Return the kernel of each sweep that has one, and count nothing."""
        return [self._ready.get((key_of(sweep), precision)) for sweep in sweeps]

    def waits(self, sweeps: Sequence[Sweep], precision: Precision) -> bool:
        """Return whether all kernels that are not there have been asked for, so that counting runs changes nothing."""
        keys = [(key_of(sweep), precision) for sweep in sweeps]
        return all(key in self._begun or key in self._ready for key in keys)

    def _begin(self, wanted: list[_Wanted]) -> None:
        """Make kernels in the background, those of the largest sweeps first."""
        known = {*self._ready, *self._begun} if wanted else set()
        missing = {one.key: one for one in sorted(wanted, key=lambda one: -one.bits) if one.key not in known}
        if missing:
            for key in missing:
                remember(self._begun, key, None, 16 * KEPT)
            self._runtime.later(lambda: self._make([*missing.values()]))

    def _make(self, wanted: list[_Wanted]) -> None:
        """Make kernels, as many at a time as there are cores; what fails stays interpreted."""
        at_once = cores()
        for start in range(0, len(wanted), at_once):
            if process_ends():
                return
            try:
                part = wanted[start : start + at_once]
                made = [(key, self._write(sweep, key[1])) for _, key, sweep in part]
                self._runtime.kernels([text_of(kernel) for _, kernel in made])
                with self._lock:
                    for key, kernel in made:
                        remember(self._ready, key, kernel, 16 * KEPT)
                if self._then is not None:
                    self._then()
                self.changes += 1
            except Exception as error:  # noqa: BLE001 - nobody is there who could be told but by the log
                if not process_ends():  # then no thread starts any more
                    LOGGER.warning("GPU kernels could not be made, and their sweeps are interpreted: %s", error)
                return


def text_of(kernel: Kernel) -> KernelText:
    """Return a kernel in the form in which it is compiled."""
    return KernelText(kernel.code, NAME)


def remember(store: OrderedDict[Any, Any], key: object, value: object, most: int = KEPT) -> None:
    """Put a value into a store that drops its oldest value."""
    store[key] = value
    store.move_to_end(key)
    while len(store) > most:
        store.popitem(last=False)
