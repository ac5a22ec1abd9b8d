"""Frozen, validated options; an option that does not exist is an error that names the nearest one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from qsim_ex.errors import OptionError, nearest

DeviceChoice = Literal["auto", "cpu", "gpu"]
Precision = Literal["single", "double"]
Compile = Literal["auto", "always", "never"]
ProgressCallback = Callable[[int, int], None]

_CHOICES: dict[str, tuple[str, ...]] = {
    "device": ("auto", "cpu", "gpu"),
    "precision": ("single", "double"),
    "compile": ("auto", "always", "never"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a simulator works.

    device: 'gpu' and 'cpu' are demands; 'auto' takes a GPU where there is one and the state is worth it. The result
        says which it was and why.
    device_id: which GPU.
    precision: 'double' (complex128) or 'single' (complex64).
    max_memory: bytes that a state may take on its device, in place of what the device reports as free.
    threads: CPU threads; all cores if None.
    compile: GPU kernels are generated and compiled ('always'), interpreted ('never'), or as
        `kernels.cuda.policy` decides ('auto').
    seed: seed of runs that name none; fresh for each run if None.
    progress: called with (steps done, steps in all) between steps.
    """

    device: DeviceChoice = "auto"
    device_id: int = 0
    precision: Precision = "double"
    max_memory: int | None = None
    threads: int | None = None
    compile: Compile = "auto"
    seed: int | None = None
    progress: ProgressCallback | None = None

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise OptionError(f"{name}={value!r}: one of {', '.join(map(repr, allowed))} is wanted.")
        for name, least in (("device_id", 0), ("max_memory", 1), ("threads", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is None and name != "device_id":
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise OptionError(f"{name}={value!r}: a whole number from {least} up is wanted.")
        if self.progress is not None and not callable(self.progress):
            raise OptionError(f"progress={self.progress!r}: a function of (steps done, steps in all) is wanted.")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The amplitudes' dtype."""
        return np.dtype(np.complex64 if self.precision == "single" else np.complex128)

    def with_(self, changes: Mapping[str, Any]) -> Options:
        """Return a copy with some options changed; raises `OptionError` for a name that does not exist."""
        if not changes:
            return self
        known = [f.name for f in fields(self)]
        for name in changes:
            if name not in known:
                raise OptionError(f"there is no option {name!r}.{nearest(name, known)} Known: {', '.join(known)}.")
        return replace(self, **changes)
