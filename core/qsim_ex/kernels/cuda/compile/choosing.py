"""The choice of the sweeps of a plan that get kernels of their own: the rule of `policy`, with its memory.

With ``compile='auto'`` no run waits for a kernel: it is written, looked for on disk, compiled and loaded in the
background, and takes over in the first run that is prepared when it is there. But a first run loads those kernels that
are on disk already, where that takes less time than to interpret their sweeps.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from qsim_ex.display.log import LOGGER
from qsim_ex.kernels import fork
from qsim_ex.kernels.background import process_ends
from qsim_ex.kernels.cuda.compile import compilation, policy
from qsim_ex.kernels.cuda.compile.compilation import cores
from qsim_ex.kernels.cuda.compile.kernel_index import KernelIndex, StoredKernel
from qsim_ex.kernels.cuda.runtime import KernelFile, KernelId, KernelText, Runtime
from qsim_ex.kernels.cuda.write.kernel import NAME, Kernel
from qsim_ex.kernels.cuda.write.register_layout import visited_bits
from qsim_ex.kernels.giving_way import FIRST_RUNS
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

    index: finds kernels on disk by their sweeps; None if it is not to be asked. write: a function from a sweep and the
        bytes of an amplitude to the sweep's kernel. then: called in the background when more kernels are there, before
        `changes` tells of it.
    changes: how often kernels were ready that had been asked for; a plan that waits for some is looked at again then.
    """

    def __init__(
        self,
        runtime: Runtime,
        write: Callable[[Sweep, Precision], Kernel],
        then: Callable[[], None] | None = None,
        index: KernelIndex | None = None,
    ) -> None:
        self.changes = 0
        self._index = index
        self._then = then
        self._runtime = runtime
        self._write = write
        self._runs: OrderedDict[_Key, int] = OrderedDict()
        self._ready: OrderedDict[_Key, Kernel] = OrderedDict()
        self._begun: OrderedDict[_Key, None] = OrderedDict()
        self._lock = fork.lock()

    def kernels(
        self, sweeps: list[Sweep], num_bits: int, precision: Precision, compile: str, before: int = 0
    ) -> list[Kernel | None]:
        """Return the kernel of each sweep that has one; None for those that are to be interpreted.

        before: how many runs of these sweeps were not counted yet.
        """
        if compile == "never":
            return [None] * len(sweeps)
        if compile == "always":
            every = [(key_of(sweep), precision) for sweep in sweeps]
            return list(map(self._made, every, sweeps, self._found([key for key, _ in every], precision)))
        keys = [(key_of(sweep), precision) for sweep in sweeps]
        runs = [self._runs.get(key, 0) + before for key in keys]
        if keys and policy.may_choose(max(runs), num_bits, precision):
            self._choose(sweeps, keys, runs, num_bits)
        for key, count in zip(keys, runs, strict=True):
            if key not in self._ready:
                remember(self._runs, key, count + 1, 16 * KEPT)
        return [self._there(key) for key in keys]

    def _choose(self, sweeps: list[Sweep], keys: list[_Key], runs: list[int], num_bits: int) -> None:
        """Begin to make the kernels that are worth it; runs: how often each sweep's structure was interpreted."""
        sizes = [visited_bits(sweep, num_bits) for sweep in sweeps]
        there = [self._there(key) is not None for key in keys]
        candidates = [policy.CandidateSweep(*candidate) for candidate in zip(there, runs, sizes, strict=True)]
        chosen = policy.choose(candidates, keys[0][1], cores())
        given = map(_Wanted, sizes, keys, sweeps)
        self._begin([wanted for wanted, chose in zip(given, chosen, strict=True) if chose])

    def kept(self, sweeps: Sequence[Sweep], num_bits: int, precision: Precision) -> int:
        """Return how many kernels a run of these sweeps would load from disk."""
        return self._index.count(self._loadable(sweeps, num_bits, precision), precision) if self._index else 0

    def _loadable(self, sweeps: Sequence[Sweep], num_bits: int, precision: Precision) -> list[Key]:
        """Return the keys of sweeps without a kernel that are slower interpreted than a kernel is loaded."""
        wanted = {key_of(sweep): None for sweep in sweeps if policy.loads(visited_bits(sweep, num_bits), precision)}
        return [key for key in wanted if (key, precision) not in self._ready]

    def load(self, sweeps: Sequence[Sweep], num_bits: int, precision: Precision) -> None:
        """Load the kernels of sweeps that are on disk, as far as this run gains by it."""
        if self._index is None:
            return
        keys = self._loadable(sweeps, num_bits, precision)
        found = self._found(keys, precision)
        with self._lock:
            for key, kernel in zip(keys, found, strict=True):
                if kernel is not None:
                    remember(self._ready, (key, precision), kernel, 16 * KEPT)

    def _found(self, keys: Sequence[Key], precision: Precision) -> list[Kernel | None]:
        """Return the kernels of sweeps that are on disk, which are loaded then; what fails is not there."""
        if self._index is None:
            return [None] * len(keys)
        return [found and self._taken(found) for found in self._index.found(keys, precision)]

    def _taken(self, found: StoredKernel) -> Kernel | None:
        try:
            self._runtime.take(KernelFile(found.kernel.file, NAME), found.code)
        except Exception as error:  # noqa: BLE001 - a driver may refuse what another machine has compiled
            LOGGER.debug("a GPU kernel on disk cannot be loaded (%s), and is made anew", error)
            return None
        return found.kernel

    def _made(self, key: _Key, sweep: Sweep, found: Kernel | None) -> Kernel:
        """Return a sweep's kernel: that on disk, or else a new text, of which the index is told."""
        if found is not None:
            return found
        kernel = self._write(sweep, key[1])
        if self._index is not None:
            self._index.keep(*key, kernel, compilation.key(kernel.code, self._runtime.arch))
        return kernel

    def _made_later(self, key: _Key, sweep: Sweep) -> Kernel:
        FIRST_RUNS.give_way()
        return self._made(key, sweep, *self._found([key[0]], key[1]))

    def _there(self, key: _Key) -> Kernel | None:
        """Return the kernel that is there; one that was unloaded, and whose file is gone, is forgotten."""
        kernel = self._ready.get(key)
        if kernel is None or not kernel.file or self._runtime.at_hand(text_of(kernel)):
            return kernel
        with self._lock:
            self._ready.pop(key, None)
            self._begun.pop(key, None)
        return None

    def ready(self, sweeps: Sequence[Sweep], precision: Precision) -> list[Kernel | None]:
        """Return the kernel of each sweep that has one, and count nothing."""
        if not self._ready:
            return [None] * len(sweeps)
        return [self._there((key_of(sweep), precision)) for sweep in sweeps]

    def _told(self) -> None:
        if self._then is not None:
            self._then()
        self.changes += 1

    def waits(self, sweeps: Sequence[Sweep], precision: Precision) -> bool:
        """Return whether all kernels that are not there have been asked for, so that counting runs changes nothing."""
        keys = ((key_of(sweep), precision) for sweep in sweeps)
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
                made = [(key, self._made_later(key, sweep)) for _, key, sweep in part]
                texts = [text_of(kernel) for _, kernel in made]
                self._runtime.begin(texts)
                for (key, kernel), text in zip(made, texts, strict=True):  # each is there when those before it are
                    FIRST_RUNS.give_way()
                    self._runtime.kernels([text])
                    with self._lock:
                        remember(self._ready, key, kernel, 16 * KEPT)
                self._told()
            except Exception as error:  # noqa: BLE001 - nobody is there who could be told but by the log
                if not process_ends():  # then no thread starts any more
                    LOGGER.warning("GPU kernels could not be made, and their sweeps are interpreted: %s", error)
                return


def text_of(kernel: Kernel) -> KernelId:
    """Return a kernel in the form in which it is compiled or loaded."""
    return KernelFile(kernel.file, NAME) if kernel.file else KernelText(kernel.code, NAME)


def remember(store: OrderedDict[Any, Any], key: object, value: object, most: int = KEPT) -> None:
    """Put a value into a store that drops its oldest value."""
    store[key] = value
    store.move_to_end(key)
    while len(store) > most:
        store.popitem(last=False)
