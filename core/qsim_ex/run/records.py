"""The records of a run so far, shot by shot; see `History` for those of branches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from qsim_ex.execution.checkpoints import Arrays, fitting
from qsim_ex.result import Records
from qsim_ex.run.branches import Branches
from qsim_ex.run.request import WorkUnit

Numbers = NDArray[np.int64]


class RecordsSoFar:
    """What the shots of a run have recorded under each label.

    widths: label -> the bits of a value. count, shots: the number of bindings, and of shots of each.
    """

    def __init__(self, widths: Mapping[str, int], count: int, shots: int) -> None:
        self._shape = count, shots
        self._counts = {label: np.zeros((count, shots), dtype=np.int64) for label in widths}
        nothing = np.zeros(0, dtype=np.int64)
        self._places: dict[str, list[Numbers]] = {label: [nothing] for label in widths}  # of shots, one for each value
        self._values = {label: [np.zeros((0, width), dtype=np.uint8)] for label, width in widths.items()}

    def add(self, unit: WorkUnit, branches: Branches) -> None:
        """Put in what branches have recorded, for each of their shots."""
        assert branches.recorded is not None
        of = branches.branch_of
        places = np.ravel_multi_index((unit.begin + branches.binding[of], unit.first + branches.shots), self._shape)
        for label, (counts, values) in branches.recorded.items():
            each = counts[of]
            self._counts[label].reshape(-1)[places] = each
            self._places[label].append(np.repeat(places, each))
            self._values[label].append(values[_spans((np.cumsum(counts) - counts)[of], each)])

    def result(self) -> tuple[dict[str, Records], ...]:
        """Return the records of each binding."""
        found: list[dict[str, Records]] = [{} for _ in range(self._shape[0])]
        for label, counts in self._counts.items():
            places = np.concatenate(self._places[label])
            values = np.concatenate(self._values[label])[np.argsort(places, kind="stable")]
            ends = np.cumsum(counts.sum(axis=1))
            for binding, end in enumerate(ends.tolist()):
                begin = end - int(counts[binding].sum())
                found[binding][label] = Records(values[begin:end], counts[binding])
        return tuple(found)

    def arrays(self) -> dict[str, NDArray[np.int64 | np.uint8]]:
        """Return everything as arrays, for a checkpoint."""
        found: dict[str, NDArray[np.int64 | np.uint8]] = {}
        for number, (label, counts) in enumerate(self._counts.items()):
            found[f"record{number}_counts"] = counts
            found[f"record{number}_places"] = np.concatenate(self._places[label])
            found[f"record{number}_values"] = np.concatenate(self._values[label])
        return found

    def load(self, found: Arrays) -> None:
        """Put in the arrays of an earlier run; raises `KeyError` if one is missing, `ValueError` if one is wrong."""
        for number, (label, counts) in enumerate(self._counts.items()):
            name, length, width = (
                f"record{number}",
                len(found[f"record{number}_places"]),
                self._values[label][0].shape[1],
            )
            theirs = fitting(found, f"{name}_counts", counts.dtype, counts.shape)
            places = fitting(found, f"{name}_places", np.int64, (length,), 0, counts.size - 1)
            values = fitting(found, f"{name}_values", np.uint8, (length, width), 0, 1)
            if not np.array_equal(np.bincount(places, minlength=counts.size), theirs.reshape(-1)):
                raise ValueError(f"{name}_places: expected each shot as often as it is counted")
            counts[...] = theirs
            self._places[label], self._values[label] = [places], [values]


def _spans(begins: Numbers, counts: Numbers) -> Numbers:
    """Return the numbers from each of some begins on, as many as are asked for, one row after another."""
    before = np.cumsum(counts) - counts
    return np.repeat(begins - before, counts) + np.arange(counts.sum())
