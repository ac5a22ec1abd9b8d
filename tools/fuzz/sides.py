"""Which ways were taken: on which sides of each threshold of `qsim_ex.thresholds` the engine was, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from qsim_ex import thresholds
from qsim_ex.native.library import address, function
from qsim_ex.native.thresholds import Native
from qsim_ex.thresholds.rows import Thresholds

WITHIN, BEYOND = 1, 2

NATIVE = Native.names()
PYTHON = tuple(name for name in Thresholds.names() if name not in NATIVE)


ELSEWHERE = ("window_bytes", "window_copies", "mapped_piece_bytes", "first_bytes", "settled_microseconds",
             "loaded_microseconds")  # fmt: skip
"""Thresholds of queues of copies, of a GPU's memory that ranks map, of MPI, of interpreted sweeps, and of kernels that
are on disk, which no case of a CPU comes to; tests meet both sides of each (tests/tools/test_fuzz_sides.py)."""


class Asked(int):
    """A threshold that keeps in mind on which sides it was met; numbers that are made of it do the same for it.

    Python asks it first, whichever side of a comparison it is on, since it is a kind of `int`.
    """

    name: str
    met: dict[str, int]

    @classmethod
    def of(cls, value: int, name: str, met: dict[str, int]) -> Asked:
        """Return a threshold's number. met: where sides are kept, as bits."""
        made = cls(value)
        made.name, made.met = name, met
        return made

    def _side(self, *, beyond: bool) -> None:
        self.met[self.name] = self.met.get(self.name, 0) | (BEYOND if beyond else WITHIN)

    def __lt__(self, other: Any) -> bool:  # other > self
        self._side(beyond=(found := int(self) < other))
        return bool(found)

    def __ge__(self, other: Any) -> bool:  # other <= self
        return not self < other

    def __gt__(self, other: Any) -> bool:  # other < self
        self._side(beyond=not (found := int(self) > other))
        return bool(found)

    def __le__(self, other: Any) -> bool:  # other >= self
        return not self > other


def _made(name: str) -> Callable[..., Any]:
    plain = getattr(int, name)

    def made(self: Asked, other: Any) -> Any:
        found = plain(self, other)
        return Asked.of(found, self.name, self.met) if isinstance(found, int) else found

    return made


for _name in ("add", "sub", "mul", "floordiv", "lshift", "rshift", "radd", "rsub", "rmul", "rfloordiv", "rlshift"):
    setattr(Asked, f"__{_name}__", _made(f"__{_name}__"))


@contextmanager
def watched(met: dict[str, int]) -> Iterator[None]:
    """Keep in mind meanwhile which sides are met, by the names of thresholds; bit 1 is within, 2 beyond."""
    before, sides = thresholds.now, np.zeros(len(NATIVE), dtype=np.uint8)
    thresholds.now = before.but(**{name: Asked.of(getattr(before, name), name, met) for name in PYTHON})
    function("thresholds_met")(address(sides))  # forgets what was met before
    try:
        yield
    finally:
        thresholds.now = before
        function("thresholds_met")(address(sides))
        for name, side in zip(NATIVE, sides.tolist(), strict=True):
            met[name] = met.get(name, 0) | side


def missed(met: dict[str, int]) -> list[str]:
    """Return what was not met of what a CPU can meet: a threshold's name and which of its sides."""
    return [
        f"{name}: {words}"
        for name in (*PYTHON, *NATIVE)
        if name not in ELSEWHERE
        for side, words in ((WITHIN, "never within"), (BEYOND, "never beyond"))
        if not met.get(name, 0) & side
    ]
