"""The checkpoints of a job of several runs: a file that says what the job is, and one for each run beside it."""

from __future__ import annotations

import json
import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from qsim_ex.errors import SavedStateError
from qsim_ex.files.written import written
from qsim_ex.observe.sampling import checked_seed, fresh_seed
from qsim_ex.options import Checkpoint

_FORM = "qsim-ex job 1"


class JobCheckpoint:
    """What a job of `parts` runs keeps, so that it goes on with the run at which it was killed.

    path: of the file that says what the job is; the runs have files beside it. key: what tells the job from others,
    such as a digest of its circuits. seed: the job's base seed, None if it was not given: that of the file is taken
    then, or else a fresh one. Raises `SavedStateError`, naming what differs, if the file is another job's or damaged.
    """

    def __init__(self, path: str | os.PathLike[str], key: str, parts: int, seed: int | None) -> None:
        self._path = Path(path)
        self._parts = parts
        known = self._read() if self._path.exists() else None
        given = None if seed is None else checked_seed(seed)
        if known is None:
            self.seed = fresh_seed() >> 1 if given is None else given
            self._write({"form": _FORM, "key": key, "parts": parts, "seed": self.seed})
            return
        wanted = {"key": key, "parts": parts, **({} if given is None else {"seed": given})}
        differing = [f"{name} {known[name]}, here {value}" for name, value in wanted.items() if known[name] != value]
        if differing:
            raise SavedStateError(
                f"{path} is the checkpoint of another job ({'; '.join(differing)}). Run what it belongs to, remove the "
                "file, or give another path."
            )
        self.seed = int(known["seed"])

    def part(self, number: int) -> Checkpoint:
        """The option `checkpoint` of run `number`, which gives its result at once if it had ended before."""
        return Checkpoint(self._beside(number), keep=True)

    def end(self) -> None:
        """The job has ended: nothing is left on the disk."""
        for path in (self._path, *(self._beside(number) for number in range(self._parts))):
            for one in (path, path.with_name(f"{path.name}.found")):
                with suppress(FileNotFoundError):
                    one.unlink()

    def _write(self, told: dict[str, Any]) -> None:
        """A file that cannot be written is no reason to refuse the job; as for a run, a warning says so."""
        try:
            with written(self._path) as file:
                file.write(json.dumps(told).encode())
        except SavedStateError as error:
            warnings.warn(f"the job goes on without a checkpoint: {error}", RuntimeWarning, stacklevel=3)

    def _beside(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.run{number}")

    def _read(self) -> dict[str, Any]:
        try:
            with self._path.open("rb") as file:
                known = json.loads(file.read(1 << 16))
            if not isinstance(known, dict) or known.get("form") != _FORM:
                raise ValueError("it does not say that it is one")
            if type(known.get("seed")) is not int or not 0 <= known["seed"] < 1 << 64:
                raise ValueError("it has no seed")
        except (ValueError, OSError, RecursionError) as error:
            raise SavedStateError(
                f"{self._path} is not the checkpoint of a job of several circuits: {error}. Remove it, or give another "
                "path."
            ) from error
        return {"key": None, "parts": None, **known}
