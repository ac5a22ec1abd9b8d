"""The numbers at which the way a circuit is read, rewritten or divided becomes another one, all in one table.

Both ways on the sides of such a number give the same results; the number says which takes less time or memory. Tests
and the fuzzer set them, so that small circuits go every way. Code asks `now`, and never keeps a number; what is kept
and depends on them is registered with `depends`, and forgotten when they change. Native code is told by `tell`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from typing import Protocol, TypeVar
from weakref import WeakSet

import numpy as np

from qsim_ex.native.library import address, function


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Those of rewriting, in the order of core/native/planner/thresholds.hpp.

    window: how many pieces back a CX or an H looks for its equal.
    looked_at: the most pieces on a bit that it looks at.
    relabeled: the most bits of a matrix that may turn out to be a permutation; for wider ones to look costs more.
    parities: the most independent parities of the conditions of an X between two H.
    run_work: the least multiply-adds of a run that becomes one matrix on two bits, which costs 16 at most and needs
        both bits near at once. With 20 there were more sweeps on a CPU; with 24 dense gates of three CX stayed apart on
        a GPU where the transpiler had merged what is between two of them.
    item_work: the most that an item costs, in multiply-adds beside its own, where a rotation and its share of a table
        are cheaper than one complex matrix.
    read_at_once: instructions that are read before planning goes on.
    instructions_at_once, runs_at_once, pieces_at_once: how many of them are rewritten between two looks at the clock.
    """

    window: int = 1024
    looked_at: int = 64
    relabeled: int = 6
    parities: int = 4
    run_work: int = 22
    item_work: int = 1
    read_at_once: int = 1 << 16
    instructions_at_once: int = 1024
    runs_at_once: int = 256
    pieces_at_once: int = 1024


@dataclass(frozen=True, slots=True)
class Thresholds:
    """All of them.

    quarter_wires: the fewest wires of circuits whose quarter and eighth turns are structure; in narrower ones a sweep
        takes less time than planning does.
    gates_at_once: the fewest gates that are appended all together; to look at fewer takes longer than one by one.
    native_instructions: the fewest instructions of a circuit of Qiskit that native code reads.
    native_wires: the most wires of circuits whose wires native code has as masks, which have 64 bits.
    tabled_angles: the fewest angles whose phases are made from a table.
    angles_at_once: angles whose phases are made at a time, so that all arrays fit in a processor's cache.
    written_parts: the most parts of a tuple whose text Python makes, and written_bytes: of a piece of native code's.
    checked_rows: the most rows of matrices that are checked together; NumPy multiplies larger ones faster.
    kept_bytes: the most bytes of operands of all bindings that are kept; others are computed when they are needed.
    entries_at_once: entries of matrices of a sweep that are computed at a time; bindings_at_once: bindings.
    listed_bits: the most classical bits of a condition whose values are always listed; wide_listed_bits: the most if
        they are few, which is listed_values or fewer. Other conditions are `circuit.control`.
    values_for_one: the most values that a group of bindings computes for each one that is asked for.
    jointly: the most wires that are measured or reset at one branch point, with 2^wires joint probabilities.
    narrow: the widest part of a circuit whose live ranges take no turns, and that is not parted at measurements: such a
        state is small, and all of its shots run in compiled code (`run.methods.trajectories`).
    gain: the least number of wires by which a part has to become smaller. Turns and parts add branch points, so that
        one wire less, which halves a state, does not pay for them.
    shots_at_once: the most shots whose random numbers are made together, a multiple of 4.
    rewriting: those of rewriting.
    """

    quarter_wires: int = 16
    gates_at_once: int = 17
    native_instructions: int = 17
    native_wires: int = 62
    tabled_angles: int = 256
    angles_at_once: int = 4096
    written_parts: int = 64
    written_bytes: int = 1 << 22
    checked_rows: int = 32
    kept_bytes: int = 1 << 20
    entries_at_once: int = 1 << 12
    bindings_at_once: int = 64
    listed_bits: int = 10
    wide_listed_bits: int = 16
    listed_values: int = 1 << 12
    values_for_one: int = 4
    jointly: int = 10
    narrow: int = 8
    gain: int = 2
    shots_at_once: int = 1 << 16
    rewriting: Rewriting = Rewriting()


now = Thresholds()
"""Those that hold at the moment; always asked for by this module, since `instead` puts others here."""


class Cache(Protocol):
    """Something that can be forgotten."""

    def cache_clear(self) -> None:
        """Forget all of it."""


Kept = TypeVar("Kept", bound=Cache)

_dependent: WeakSet[Cache] = WeakSet()


def depends(cache: Kept) -> Kept:
    """Register a cache of what depends on thresholds; as a decorator it stands above `lru_cache`."""
    _dependent.add(cache)
    return cache


def tell() -> None:
    """Tell native code those of rewriting; it knows no others, and is told before it plans."""
    numbers = np.array(astuple(now.rewriting), dtype=np.int64)
    function("thresholds_set")(address(numbers))


@contextmanager
def instead(**numbers: int) -> Iterator[Thresholds]:
    """Let other numbers hold meanwhile, in the whole process; for tests and the fuzzer.

    numbers: by the names of `Thresholds` and `Rewriting`.
    """
    before = now
    own = {name: value for name, value in numbers.items() if name not in Rewriting.__slots__}
    others = {name: value for name, value in numbers.items() if name in Rewriting.__slots__}
    _become(replace(before, **own, rewriting=replace(before.rewriting, **others)))
    try:
        yield now
    finally:
        _become(before)


def _become(new: Thresholds) -> None:
    global now  # noqa: PLW0603  (the one place that sets it)
    if new != now:
        now = new
        tell()
        for cache in list(_dependent):
            cache.cache_clear()
