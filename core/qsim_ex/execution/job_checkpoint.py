"""The checkpoints of a job of several runs: a file that describes the job, and one for each run beside it."""

from __future__ import annotations

import json
import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from qsim_ex.comm.connection import own_path, paths_of_more
from qsim_ex.errors import SavedStateError
from qsim_ex.files.written import written
from qsim_ex.observe.seeding import checked_seed, fresh_job_seed, remember_drawn
from qsim_ex.options import Checkpoint, Processes

_FORM = "qsim-ex job 1"


class JobCheckpoint:
    """The checkpoint of a job of `parts` runs, with which it continues at the run in which it was killed.

    path: of the file that describes the job; the runs have files beside it. key: distinguishes the job from others,
    such as a digest of its circuits. seed: the job's base seed, None if it was not given; then the seed of the file is
    used, or a fresh one. processes: as in `Options`; each process of a launcher has a job file of its own, and runs
    over all of them, whose files they share, take the seeds of rank 0.
    Raises `SavedStateError`, naming the differences, if the file is another job's or damaged.
    """

    def __init__(
        self, path: str | os.PathLike[str], key: str, parts: int, seed: int | None, processes: Processes = "never"
    ) -> None:
        self._shared = Path(path)
        self._path = own_path(self._shared, processes)
        self._parts = parts
        self._how = processes
        known = self._read()
        given = None if seed is None else checked_seed(seed)
        if known is None:
            self.seed = fresh_job_seed() if given is None else given
            self._write({"form": _FORM, "key": key, "parts": parts, "seed": self.seed})
            return
        wanted = {"key": key, "parts": parts, **({} if given is None else {"seed": given})}
        differing = [f"{name} {known[name]}, here {value}" for name, value in wanted.items() if known[name] != value]
        if differing:
            raise SavedStateError(
                f"{path} is the checkpoint of another job ({'; '.join(differing)}). Continue that job, remove the "
                "file, or give another path."
            )
        self.seed = int(known["seed"])
        if given is None:
            remember_drawn([self.seed])

    def part(self, number: int) -> Checkpoint:
        """Return the option `checkpoint` of run `number`; a run that had ended before gives its result at once."""
        return Checkpoint(self._run(number), keep=True)

    def end(self) -> None:
        """Remove all files of the job at its end; those of runs over several processes are removed by the first."""
        ending = self._path.name[len(self._shared.name) :]
        own = [self._path, *(self._beside(self._run(number), ending) for number in range(self._parts))]
        for path in (*own, *(self._beside(path, ".found") for path in own), *paths_of_more(self._shared, self._how)):
            with suppress(FileNotFoundError):
                path.unlink()

    def _write(self, told: dict[str, Any]) -> None:
        """Write the file of the job; as for a run, a failure is a warning, since the job can continue without it."""
        try:
            with written(self._path) as file:
                file.write(json.dumps(told).encode())
        except SavedStateError as error:
            warnings.warn(f"the job goes on without a checkpoint: {error}", RuntimeWarning, stacklevel=3)

    def _run(self, number: int) -> Path:
        return self._beside(self._shared, f".run{number}")

    @staticmethod
    def _beside(path: Path, ending: str) -> Path:
        return path.with_name(path.name + ending)

    def _read(self) -> dict[str, Any] | None:
        """Return what the file of the job says; None if there is none."""
        try:
            with self._path.open("rb") as file:
                known = json.loads(file.read(1 << 16))
            if not isinstance(known, dict) or known.get("form") != _FORM:
                raise ValueError(f"expected a field 'form' with {_FORM!r}, got none")
            if type(known.get("seed")) is not int or not 0 <= known["seed"] < 1 << 64:
                raise ValueError("expected a field 'seed' with an integer from 0 below 2^64, got none")
        except FileNotFoundError:
            return None
        except (ValueError, OSError, RecursionError) as error:
            raise SavedStateError(
                f"expected the checkpoint of a job of several circuits, got {self._path}, which is none: {error}; "
                "remove it, or give another path."
            ) from error
        return {"key": None, "parts": None, **known}
