"""Checkpoints: what a long run leaves on the disk on its way, so that it goes on after a kill with the same result.

A checkpoint is a saved state (`saving`) that knows which run it belongs to and how many parts of it are done. States
that the circuit saves on the way stand in files beside it. All of them are removed when the run has ended.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.errors import SavedStateError
from qsim_ex.placement.base import Placement
from qsim_ex.saving import SavedState, array_of, look, restore, save
from qsim_ex.steps.plan import Plan


class Checkpoints:
    """The checkpoints of one run: where it begins, and what it leaves behind.

    parts: plans that may be followed one after the other, and between which a run may stop.
    every: seconds between two checkpoints, at least. seed: the run's seed if it was given.
    done: how many parts an earlier run has done.
    Raises `SavedStateError`, naming what differs, if the file belongs to another run, and if it is damaged.
    """

    def __init__(
        self, path: str | os.PathLike[str], every: float, circuit: Circuit, parts: Sequence[Plan], dtype: Any, seed: Any
    ) -> None:
        self.path = Path(path)
        self.done = 0
        self.seed: int | None = seed
        self._every = every
        self._last = monotonic()
        self._parts = parts
        self._run = {
            "circuit": circuit.key,
            "numbers": hashlib.blake2b(circuit.operands.tobytes(), digest_size=8).hexdigest(),
            "wires": circuit.num_qubits,
            "precision": np.dtype(dtype).name,
            "plan": hashlib.blake2b(" ".join(part.key for part in parts).encode(), digest_size=8).hexdigest(),
        }
        self._found = look(self.path) if self.path.exists() else None
        if self._found is not None:
            self._check(self._found, seed)
            self.done = int(self._found.about["parts"])
            self.seed = self._found.about["seed"] if seed is None else seed

    def _check(self, found: SavedState, seed: int | None) -> None:
        """Raise `SavedStateError` unless the file belongs to this run."""
        belongs: Mapping[str, Any] = found.about.get("run", {})
        if not belongs:
            raise SavedStateError(f"{self.path} is a saved state and no checkpoint. Give another path.")
        differing = [name for name, value in self._run.items() if belongs.get(name) != value]
        told = [f"{name} {belongs.get(name)}, here {self._run[name]}" for name in differing]
        if seed is not None and found.about["seed"] != seed:
            told.append(f"seed {found.about['seed']}, here {seed}")
        if told:
            raise SavedStateError(
                f"{self.path} is the checkpoint of another run ({'; '.join(told)}). Run what it belongs to, remove the "
                "file, or give another path."
            )

    def resume(self, placement: Placement) -> None:
        """Bring a new state to where the earlier run stood; raises `SavedStateError` for a wrong checksum."""
        if self._found is not None:
            restore(placement, self._found)
            placement.unsettle(self._fresh(self.done))

    def after(self, placement: Placement, parts: int) -> None:
        """So many parts are done; write a checkpoint if it is time."""
        if monotonic() - self._last < self._every:
            return
        save(placement, self.path, {"run": self._run, "parts": parts, "seed": self.seed})
        placement.unsettle(self._fresh(parts))  # saving may have written zeros; the plan goes on without them
        self._last = monotonic()

    def keep(self, placement: Placement, label: int) -> None:
        """Write the state that a circuit saves under its label number `label`, in the order of the wires."""
        save(placement, self._beside(label), {"run": self._run, "label": label})

    def kept(self, label: int) -> NDArray[np.complexfloating[Any, Any]] | None:
        """The state that an earlier run has saved under a label, if it has."""
        if self._found is None or not self._beside(label).exists():
            return None
        found = look(self._beside(label))
        if found.about.get("run") != self._run:
            raise SavedStateError(f"{found.path} belongs to another run than {self.path}. Remove both.")
        return array_of(found)

    def end(self, labels: int) -> None:
        """The run has ended: nothing is left on the disk."""
        for path in (self.path, *map(self._beside, range(labels))):
            with suppress(FileNotFoundError):
                path.unlink()

    def _beside(self, label: int) -> Path:
        return self.path.with_name(f"{self.path.name}.saved{label}")

    def _fresh(self, parts: int) -> int:
        """The bits that are fresh after so many parts."""
        return self._parts[parts - 1].left if parts else self._parts[0].fresh
