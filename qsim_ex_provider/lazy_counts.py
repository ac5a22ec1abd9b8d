"""How often each outcome was found, and Qiskit's counts of it, whose integers are made when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from qiskit.result import Counts

from qsim_ex import BatchResult
from qsim_ex import Result as EngineResult
from qsim_ex.frameworks import counted, words

SORTED = 1 << 12
"""The most shots of one circuit whose outcomes are sorted at once; of more the engine looks for distinct ones first."""


class Tally(NamedTuple):
    """The outcomes that were found, in increasing order, and how often each."""

    values: Sequence[int] | NDArray[np.uint64]
    counts: list[int]

    def integers(self) -> dict[int, int]:
        """Return how often each value was found."""
        values = self.values.tolist() if isinstance(self.values, np.ndarray) else self.values
        return dict(zip(values, self.counts, strict=True))


def tally_of(result: EngineResult) -> Tally:
    """Return the outcomes of one binding, which has shots."""
    packed = result.packed
    if packed is not None and 0 < packed.shape[1] <= 8 and 0 < len(packed) <= SORTED:
        values, counts = counted(words(packed))
        return Tally(values, counts.tolist())
    found = result.counts()
    return Tally(list(found), list(found.values()))


def tallies_of(result: BatchResult, begin: int, end: int) -> list[Tally]:
    """Return the outcomes of some bindings of a task at once, since NumPy takes as long for one as for many."""
    members = range(len(result.seeds))[begin:end]
    if result.packed is None:
        return [Tally([], [])] * len(members)
    packed = result.packed[begin:end]
    rows, shots, width = packed.shape
    if rows == 1 or not 0 < width <= 8:
        return [tally_of(result[member]) for member in members]
    padded = np.zeros((rows, shots, 8), dtype=np.uint8)
    padded[..., :width] = packed
    ordered = np.sort(padded.view("<u8")[..., 0], axis=1)
    first = np.ones((rows, shots), dtype=bool)  # of equal values in a row
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    places = np.flatnonzero(first)
    values, counts = ordered.reshape(-1)[places].tolist(), np.diff(places, append=first.size).tolist()
    ends = np.cumsum(first.sum(axis=1)).tolist()
    return [Tally(values[a:b], counts[a:b]) for a, b in pairwise([0, *ends])]


class LazyCounts(Counts):
    """Qiskit's counts of a tally; a copy and a pickle are plain `Counts`."""

    def __init__(self, strings: Sequence[str], tally: Tally, creg_sizes: Any, memory_slots: int) -> None:
        super().__init__({}, creg_sizes=creg_sizes, memory_slots=memory_slots)
        self.update(zip(strings, tally.counts, strict=True))
        self._tally = tally
        del self.int_raw  # it is made by `__getattr__`

    def __getattr__(self, name: str) -> Any:
        if name != "int_raw" or "_tally" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.int_raw = self.__dict__.pop("_tally").integers()
        return self.int_raw

    def __reduce_ex__(self, _protocol: Any) -> tuple[Any, tuple[Any], dict[str, Any], None, Iterator[tuple[str, int]]]:
        _ = self.int_raw
        return Counts, ({},), self.__dict__, None, iter(self.items())
