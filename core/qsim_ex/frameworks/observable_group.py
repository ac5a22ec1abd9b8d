"""Bindings with the same requested observables, grouped so that few values are computed that nobody requested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds

Numbers = NDArray[np.intp]

_FIRST = np.zeros(1, dtype=np.intp)


@dataclass(frozen=True, eq=False, slots=True)
class ObservableGroup:
    """Bindings with the same requested observables.

    bindings, observables: their numbers, in increasing order. pairs: which of the pairs given to `observable_groups`
    are theirs; binding_of, observable_of: the numbers in each of these pairs.
    """

    bindings: Numbers
    observables: Numbers
    pairs: Numbers
    binding_of: Numbers
    observable_of: Numbers

    def of(self, bindings: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return the pairs of some of the bindings, and for each its row and column in [bindings, observables]."""
        if len(self.pairs) == len(bindings) == 1:
            return self.pairs, _FIRST, _FIRST
        if len(bindings) == len(self.bindings):  # all of them
            chosen = np.ones(len(self.pairs), dtype=bool)
        else:
            chosen = np.isin(self.binding_of, bindings)
        rows = np.searchsorted(bindings, self.binding_of[chosen])
        columns = np.searchsorted(self.observables, self.observable_of[chosen])
        return self.pairs[chosen], rows, columns


def observable_groups(bindings: Numbers, observables: Numbers) -> list[ObservableGroup]:
    """Group the bindings that occur in the pairs (bindings[k], observables[k]); each is in one group.

    All bindings are one group if that computes few values for each pair (`thresholds.values_for_one`). Otherwise
    bindings with the same observables, and bindings with similar ones, share a group as long as that holds.
    """
    if not len(bindings):
        return []
    if len(bindings) == 1:
        return [ObservableGroup(bindings, observables, np.zeros(1, dtype=np.intp), bindings, observables)]
    width = int(observables.max()) + 1
    pairs = np.stack(np.divmod(np.unique(bindings * width + observables), width))
    distinct, first = np.unique(pairs[0], return_index=True)
    every = np.unique(pairs[1])
    if len(distinct) * len(every) <= thresholds.now.values_for_one * pairs.shape[1]:
        return [ObservableGroup(distinct, every, np.arange(len(bindings)), bindings, observables)]
    alike: dict[tuple[int, ...], list[int]] = {}
    for binding, some in zip(distinct.tolist(), np.split(pairs[1], first[1:]), strict=True):
        alike.setdefault(tuple(some.tolist()), []).append(binding)
    number = np.zeros(int(distinct[-1]) + 1, dtype=np.intp)  # of the group that a binding belongs to
    merged = _merged(sorted(alike.items()))
    for k, (members, _) in enumerate(merged):
        number[members] = k
    order = np.argsort(number[bindings], kind="stable")
    parts = np.split(order, np.searchsorted(number[bindings][order], np.arange(1, len(merged))))
    return [
        ObservableGroup(np.sort(members), np.sort(shared), part, bindings[part], observables[part])
        for (members, shared), part in zip(merged, parts, strict=True)
    ]


def _merged(alike: list[tuple[tuple[int, ...], list[int]]]) -> list[tuple[Numbers, Numbers]]:
    """Return bindings and observables of each group, from the bindings with exactly the same observables."""
    found: list[tuple[list[int], set[int], int]] = []  # bindings, observables, number of requested values
    for observables, bindings in alike:
        more = len(bindings) * len(observables)
        if found:
            members, shared, values = found[-1]
            union = shared | set(observables)
            if (len(members) + len(bindings)) * len(union) <= thresholds.now.values_for_one * (values + more):
                found[-1] = (members + bindings, union, values + more)
                continue
        found.append((bindings, set(observables), more))
    return [(np.array(members, dtype=np.intp), np.array([*shared], dtype=np.intp)) for members, shared, _ in found]
