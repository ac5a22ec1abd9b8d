"""Results as Qiskit's users know them, built from the engine's results when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from qiskit.result import Counts, Result

from qsim_ex_provider.experiments import Experiments, LazyData

_MOST_SHARED = 16
"""Bits of values that a result keeps written: at most 2^16 strings, a few MiB."""


class QsimExResult(Result):
    """Qiskit's result, whose counts come straight from the engine's integers.

    Qiskit writes each outcome in hexadecimal, reads it, writes it in binary, reads it and writes it again.
    """

    def get_counts(self, experiment: Any = None) -> Any:
        """How often each outcome was found, by its bits; a list if there are several circuits. As in `Result`."""
        keys = range(len(self.results)) if experiment is None else [experiment]
        found = [self._counts(key) for key in keys]
        return found[0] if len(found) == 1 else found

    def _counts(self, key: Any) -> Any:
        known = self.results
        if isinstance(key, int) and isinstance(known, Experiments) and -len(known) <= key < len(known):
            values, (slots, sizes) = known.counts(key % len(known)), known.registers(key % len(known))
            return self._written(values, slots, sizes) if values and slots else super().get_counts(key)
        outcome = self._get_experiment(key)
        data = outcome.data
        if not (isinstance(data, LazyData) and data.engine_result.shots and outcome.header["memory_slots"]):
            return super().get_counts(key)  # no shots, no bits, or a result that was read from a file
        return self._written(data.engine_result.counts(), outcome.header["memory_slots"], outcome.header["creg_sizes"])

    @cached_property
    def _strings(self) -> dict[str, BitStrings]:
        return {}

    def _written(self, values: dict[int, int], slots: int, sizes: Sequence[Sequence[Any]]) -> Counts:
        """Qiskit's counts from the engine's. The same values come again and again in the bindings of a circuit."""
        key = str((slots, sizes))
        strings = self._strings.get(key) or BitStrings(slots, sizes)
        if slots <= _MOST_SHARED:
            self._strings[key] = strings
        counts = Counts({})
        counts.update(zip(map(strings.__getitem__, values), values.values(), strict=True))
        counts.int_raw, counts.creg_sizes, counts.memory_slots = values, sizes, slots
        return counts


class BitStrings(dict[int, str]):
    """Values in binary, the last register first, a space between two; each is written when it is first asked for.

    slots: how many bits there are. sizes: names and sizes of registers.
    """

    def __init__(self, slots: int, sizes: Sequence[Sequence[Any]]) -> None:
        super().__init__()
        self._form = f"0{slots}b"
        ends = list(accumulate(size for _, size in reversed(sizes)))
        self._cuts = [slice(begin, end) for begin, end in pairwise([0, *ends])] if len(sizes) > 1 else []

    def __missing__(self, value: int) -> str:
        bits = format(value, self._form)
        self[value] = " ".join([bits[cut] for cut in self._cuts]) if self._cuts else bits
        return self[value]


def assemble(experiments: Experiments, **about: Any) -> Result:
    """The result of a job."""
    return QsimExResult(
        success=True, status="COMPLETED", results=experiments, time_taken=experiments.time_taken, **about
    )
