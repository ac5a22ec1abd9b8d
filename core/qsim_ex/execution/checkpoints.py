"""Checkpoints: files of a long run, with which it continues after a kill and gives the same result.

There are two kinds. The *results so far* (bits, sums, saved states of the bindings and shots that are done) are a file
of arrays. A *state in progress* is a saved state (`saving`) with its position in the program; what its circuit has
saved up to there is among the results so far, which are written first. Every file names its run, and is removed when
the run has ended. If states are simulated one by one, the state in progress has the given path, and the results so far
are in a file beside it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.errors import NotSupported, OptionError, PlanError, SavedStateError
from qsim_ex.files.saved_state import SavedState, looked_into, opened
from qsim_ex.files.saving import save
from qsim_ex.files.written import written
from qsim_ex.options import Checkpoint
from qsim_ex.placement.base import Placement
from qsim_ex.steps.layout import Levels

Arrays = Mapping[str, NDArray[Any]]
Digests = Callable[[Levels], Sequence[str]]
"""Returns the digests that the plans of a run may have where its states are divided by other levels."""


class Checkpoints:
    """The checkpoints of one run: it reads the files of an earlier run, and writes its own.

    every: seconds between two checkpoints, at least. identity: names and values that distinguish this run from others.
    seeds: one for each binding, None if they were not given; then the seeds of the files are used, or `fresh_seeds`.
    one_by_one: whether states are simulated one by one. levels: how states are divided. digests: see `Digests`; an
    earlier run may have divided them otherwise.
    state: the state in progress, if there is one. found: the arrays of the results so far; empty if there are none.
    divided: how the state in progress was divided when it was written.
    results: returns the results so far, which are written before a state if a circuit has saved something since they
    were written last (`unwritten`).
    States may be simulated one by one in one run, and many at a time in the run that continues it, or the other way
    round: results are read from either place. A state in progress that is not continued stays until the end.
    Raises `SavedStateError`, naming the differences, if a file belongs to another run, and if it is damaged.
    """

    def __init__(
        self,
        where: Checkpoint,
        every: float,
        identity: Mapping[str, Any],
        seeds: Sequence[int] | None,
        fresh_seeds: Callable[[], Sequence[int]],
        *,
        one_by_one: bool,
        levels: Levels,
        digests: Digests,
    ) -> None:
        self.path = Path(where.path)
        beside = self._beside("found")
        self._kept_at_end = where.keep
        self._every = every
        self._last = monotonic()
        self._identity = identity
        self.levels = self.divided = levels
        self._digests = digests
        self._warned = False
        self.state: SavedState | None = None
        self.found: Arrays = {}
        self.results: Callable[[], Arrays] = dict
        self.unwritten = False
        told: Sequence[int] | None = None
        here = _content(self.path)
        if isinstance(here, SavedState):
            self.state = self._fitting(here)
            told = self._checked(self.path, self.state.about, seeds, in_progress=True)
            self.divided = self._levels(self.path, self.state.about)
        near = _content(beside)
        self._found_at = beside if one_by_one or self.state is not None or near is not None else self.path
        for path, results in ((self.path, here), (beside, near)):  # where both have results, those beside are newer
            if isinstance(results, _Results):
                self.found = results.arrays
                told = self._checked(path, results.about, told or seeds)
                self.unwritten = path != self._found_at  # before a state takes their place
        self.seeds = tuple(seeds or told or fresh_seeds())

    def _fitting(self, found: SavedState) -> SavedState:
        """Return a saved state from a file that may have any content; raises `SavedStateError`."""
        path, told = found.path, found.about.get("run")
        if isinstance(told, dict) and {**told, "plan": None} == {**self._identity, "plan": None}:
            here = self._identity["wires"], self._identity["precision"]
            if (found.num_wires, found.dtype.name) != here:
                raise SavedStateError(
                    f"{path} is damaged: expected a state of {here[0]} wires in {here[1]}, got {found.num_wires} wires "
                    f"in {found.dtype.name}. Remove it and run again."
                )
        return found

    def _checked(
        self, path: Path, about: Mapping[str, object], seeds: Sequence[int] | None, *, in_progress: bool = False
    ) -> list[int]:
        """Return the seeds of a file; raises `SavedStateError` unless it belongs to this run.

        in_progress: whether it is a state, which has to be divided by levels that this run can go on from.
        """
        belongs = about.get("run", {})
        if not isinstance(belongs, dict) or not belongs:
            raise SavedStateError(f"expected a checkpoint, got {path}, which is a saved state; give another path.")
        other = self._levels(path, about)
        otherwise = other != self.levels
        if otherwise and self._has_plans(other, belongs.get("plan")):
            belongs, otherwise = {**belongs, "plan": self._identity["plan"]}, False
        told = [
            f"{name} {belongs.get(name)}, here {self._identity.get(name)}"
            for name in dict.fromkeys((*self._identity, *belongs))
            if belongs.get(name) != self._identity.get(name)
        ]
        if in_progress and otherwise and not told:  # results so far are those of any levels
            told.append(f"levels {other}, here {self.levels}")
        found = about.get("seeds", [about.get("seed")])
        if not isinstance(found, list) or not all(type(seed) is int and 0 <= seed < 1 << 64 for seed in found):
            raise SavedStateError(f"{path} is damaged: it holds no valid seeds. Remove it and run again.")
        if seeds is not None and list(seeds) != found:
            differing = next(((a, b) for a, b in zip(found, seeds, strict=False) if a != b), (found, list(seeds)))
            told.append(f"seed {differing[0]}, here {differing[1]}")
        if told:
            raise SavedStateError(
                f"{path} is the checkpoint of another run ({'; '.join(told)}). Continue that run, remove the file, or "
                "give another path."
            )
        return found

    def _levels(self, path: Path, about: Mapping[str, Any]) -> Levels:
        """Return the levels that a file names; raises `SavedStateError`."""
        try:
            return Levels.from_json(about["levels"])
        except (KeyError, TypeError, ValueError, OptionError) as error:
            raise SavedStateError(f"{path} is damaged: levels: {error!r}. Remove it and run again.") from error

    def _has_plans(self, other: Levels, digest: Any) -> bool:
        """Return whether a digest is that of this run's plans for other levels than those of here."""
        try:
            return other.fits(self._identity["wires"]) and digest in self._digests(other)
        except (OptionError, NotSupported, PlanError):  # there are no plans for such levels
            return False

    # --- writing -----------------------------------------------------------------------------------------------------

    def due(self) -> bool:
        """Return whether the next checkpoint should be written now."""
        return monotonic() - self._last >= self._every

    def write_state(self, placement: Placement, about: Mapping[str, object]) -> None:
        """Write a state in progress, and before it what was saved up to there; about: its position in the program."""
        if self.unwritten and not self.write_found(self.results()):
            return
        self._write(lambda: save(placement, self.path, self._about(about)))

    def write_found(self, arrays: Arrays) -> bool:
        """Write the results so far, and return whether that succeeded."""

        def write() -> None:
            with written(self._found_at, sum(array.nbytes for array in arrays.values())) as file:
                about = np.frombuffer(json.dumps(self._about({})).encode(), dtype=np.uint8)
                np.savez(file, about=about, **cast("dict[str, Any]", arrays))

        self.unwritten = False
        self.unwritten = not self._write(write) or self.unwritten  # something may be saved while it writes
        return not self.unwritten

    def _about(self, more: Mapping[str, object]) -> dict[str, Any]:
        seeds: dict[str, Any] = {"seed": self.seeds[0]} if len(self.seeds) == 1 else {"seeds": list(self.seeds)}
        return {"run": self._identity, "levels": self.levels.to_json(), **seeds, **more}

    def _write(self, write: Callable[[], None]) -> bool:
        """Write a checkpoint; a failure is a warning, since the run can continue without it."""
        self._last = monotonic()
        try:
            write()
        except SavedStateError as error:
            if not self._warned:
                warnings.warn(f"the run goes on without a new checkpoint: {error}", RuntimeWarning, stacklevel=2)
            self._warned = True
            return False
        return True

    def end(self, arrays: Callable[[], Arrays]) -> None:
        """Remove all files at the end of the run, except the results if the option `keep` is set."""
        if self._kept_at_end:
            self.write_found(arrays())
        self.remove()

    def remove(self) -> None:
        """Remove all files, except the results if the option `keep` is set."""
        if self.state is not None:
            self.state.close()
        for path in (self.path, self._beside("found")):
            if not (self._kept_at_end and path == self._found_at):
                with suppress(FileNotFoundError):
                    path.unlink()

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{ending}")


def fitting(
    found: Arrays,
    name: str,
    dtype: DTypeLike,
    shape: tuple[int, ...],
    least: int | None = None,
    most: int | None = None,
) -> NDArray[Any]:
    """Return an array of a file that has a dtype and a shape, and no number outside of a range.

    Raises `KeyError` for one that is missing, and `ValueError` for another one.
    """
    array = found[name]
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(f"{name}: expected {np.dtype(dtype)} {list(shape)}, got {array.dtype} {list(array.shape)}")
    if array.size and ((least is not None and array.min() < least) or (most is not None and array.max() > most)):
        raise ValueError(f"{name}: expected numbers from {least} to {most}, got {array.min()} to {array.max()}")
    return array


class _Results(NamedTuple):
    """The results so far in a file, and its metadata."""

    arrays: Arrays
    about: Mapping[str, Any]


def _content(path: Path) -> SavedState | _Results | None:
    """Return what is in a file, which is opened once; None if there is none. Raises `SavedStateError`.

    A file of arrays begins with the signature of a zip, and any other is to be read as a saved state.
    """
    file = opened(path)
    if file is None:
        return None
    try:
        if file.read(2) != b"PK":
            return looked_into(file, path)
    except OSError as error:
        file.close()
        if isinstance(error, SavedStateError):
            raise
        raise SavedStateError(f"{path} cannot be read: {error.strerror or error}. Give another path.") from error
    with file:
        return _read(file, path)


def _read(raw: BinaryIO, path: Path) -> _Results:
    """Return the arrays and the metadata of a file; raises `SavedStateError`."""
    raw.seek(0)
    try:
        with np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(arrays.pop("about").tobytes())
        for name, array in arrays.items():
            if array.dtype.kind in "fc" and not np.isfinite(array).all():
                raise ValueError(f"expected numbers, got infinite ones or NaN in {name}")
    except Exception as error:  # whatever a forged zip makes NumPy and `zipfile` raise
        raise SavedStateError(f"{path} is damaged: {error}. Remove it and run again.") from error
    if not isinstance(about, dict):
        raise SavedStateError(f"{path} is damaged: its metadata is no dictionary. Remove it and run again.")
    return _Results(arrays, about)
