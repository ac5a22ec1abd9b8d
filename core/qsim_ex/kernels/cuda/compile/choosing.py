"""The choice of the sweeps of a plan that get kernels of their own: the rule of `policy`, with its memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from qsim_ex.kernels.cuda.compile import policy
from qsim_ex.kernels.cuda.compile.compilation import cores
from qsim_ex.kernels.cuda.runtime import KernelText, Runtime
from qsim_ex.kernels.cuda.write.emit import NAME, Kernel
from qsim_ex.kernels.cuda.write.register_layout import visited_bits
from qsim_ex.steps.step import Sweep

KEPT = 256
"""The number of prepared plans, and of structures whose runs are counted, that a device remembers."""


class KernelChooser:
    """Chooses between compiling and interpreting, and counts how often a structure was interpreted.

    write: a function from a sweep and the bytes of an amplitude to the sweep's kernel.
    """

    def __init__(self, runtime: Runtime, write: Callable[[Sweep, int], Kernel]) -> None:
        self._runtime = runtime
        self._write = write
        self._runs: OrderedDict[tuple[Sweep, int], int] = OrderedDict()

    def kernels(self, sweeps: list[Sweep], num_bits: int, itemsize: int, compile: str) -> list[Kernel | None]:
        """Return the kernel of each sweep that is to be compiled; None for the others."""
        if compile == "never":
            return [None] * len(sweeps)
        runs = [self._runs.get((sweep, itemsize), 0) for sweep in sweeps]
        sizes = [visited_bits(sweep, num_bits) for sweep in sweeps]
        looks = [
            compile == "always" or policy.worth_a_look(size, itemsize, count)
            for size, count in zip(sizes, runs, strict=True)
        ]
        kernels = [self._write(sweep, itemsize) if look else None for sweep, look in zip(sweeps, looks, strict=True)]
        at_hand = [kernel is not None and self._runtime.at_hand(text_of(kernel)) for kernel in kernels]
        candidates = [policy.CandidateSweep(*candidate) for candidate in zip(at_hand, runs, sizes, strict=True)]
        chosen = policy.choose(candidates, itemsize, cores(), compile)
        for sweep, count, chose in zip(sweeps, runs, chosen, strict=True):
            if not chose:
                remember(self._runs, (sweep, itemsize), count + 1, 16 * KEPT)
        return [
            (kernel or self._write(sweep, itemsize)) if chose else None
            for sweep, kernel, chose in zip(sweeps, kernels, chosen, strict=True)
        ]


def text_of(kernel: Kernel) -> KernelText:
    """Return a kernel in the form in which it is compiled."""
    return KernelText(kernel.code, NAME)


def remember(store: OrderedDict[Any, Any], key: Any, value: Any, most: int = KEPT) -> None:
    """Put a value into a store that drops its oldest value."""
    store[key] = value
    store.move_to_end(key)
    while len(store) > most:
        store.popitem(last=False)
