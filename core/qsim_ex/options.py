"""Frozen, validated options; an option that does not exist is an error that names the nearest one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from qsim_ex.errors import OptionError, nearest

DeviceChoice = Literal["auto", "cpu", "gpu"]
Precision = Literal["single", "double"]
Compile = Literal["auto", "always", "never"]
ProgressCallback = Callable[[int, int], None]
Network = Literal["auto", "switch", "mesh"]
HostMemory = Literal["auto", "whole", "spread"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    steps, all_steps: steps of the plans, each counted once for every state, and once for every window of a state in
        host memory; where shots share a state, once for each of them.
    stages, all_stages: stages that have begun, and stages in all, of one state; of several, of their mean.
    bytes_moved: bytes that were copied between devices, and between devices and the host.
    seconds, seconds_left: since the work began, and what is left if it goes on as before (None before the first step).
    """

    steps: int
    all_steps: int
    stages: int
    all_stages: int
    bytes_moved: int
    seconds: float
    seconds_left: float | None


Watch = Callable[[Progress], None]

_CHOICES: dict[str, tuple[str, ...]] = {
    "device": ("auto", "cpu", "gpu"),
    "precision": ("single", "double"),
    "compile": ("auto", "always", "never"),
    "network": ("auto", "switch", "mesh"),
    "host_memory": ("auto", "whole", "spread"),
}

_LEAST = {
    "device_id": 0,
    "max_memory": 1,
    "threads": 1,
    "seed": 0,
    "virtual_peers": 1,
    "device_wires": 1,
    "window_slots": 1,
    "in_flight_buffers": 1,
    "max_host_memory": 0,
}
"""Options that are whole numbers, and the least of each."""

_POWERS = ("virtual_peers", "window_slots")
"""Options that are powers of two."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file from which a run goes on if it is there, and which it writes on the way.

    keep: whether the file stays when the run has ended: the same run then gives its result from it at once, which is
    what a job of several runs needs.
    """

    path: str | os.PathLike[str]
    keep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a simulator works.

    device: 'gpu' and 'cpu' are demands; 'auto' takes a GPU where there is one and the state is worth it. The result
        says which it was and why.
    device_id: the GPU of a state on one GPU.
    devices: the numbers of the GPUs that share a state, a power of two of them; all of them are used. None takes
        `device_id`, and as many others of its generation as a state needs.
    virtual_peers: how many sub state vectors share each device as if each had one of its own (for tests, also on
        the CPU); a power of two.
    device_wires: wires of one sub state vector on a device. What is above lies on the other devices and in host
        memory. None takes the smallest placement that fits.
    window_slots: in how many slices, a power of two, a sub state vector near a device is divided. They lie in one
        block, and the bits of a slot's number are as near as all others. A slice is what is copied in one piece.
    in_flight_buffers: how many sub state vectors each device holds at a time beside host memory, so that one comes in
        and one goes out while a third one is worked on; 3 if they fit.
    host_memory: 'whole' keeps a place on the host for all of a state, 'spread' only for what no device holds, 'auto'
        takes the first one that fits.
    network: 'switch' (any two devices at full speed) or 'mesh' (a link for each pair); 'auto' is 'switch'.
    precision: 'double' (complex128) or 'single' (complex64).
    max_memory: bytes that a state may take on each device, in place of what the device reports as free.
    max_host_memory: bytes that a state may take on the host beside its devices, in place of what is reported as free.
    threads: CPU threads; all cores if None.
    compile: GPU kernels are generated and compiled ('always'), interpreted ('never'), or as
        `kernels.cuda.compile.policy` decides ('auto').
    seed: seed of runs that name none; fresh for each run if None.
    progress: called with (steps done, steps in all) between steps.
    watch: called with a `Progress` between steps: stages, bytes moved, and the time that is left.
    checkpoint: a file from which a run goes on if it is there, and which it writes on the way; it is removed at the
        end of the run, unless a `Checkpoint` says that it is kept. Files beside it have names that begin with its own.
    checkpoint_every: seconds between two checkpoints, at least; 0 writes one at every boundary.
    """

    device: DeviceChoice = "auto"
    device_id: int = 0
    devices: tuple[int, ...] | None = None
    virtual_peers: int = 1
    device_wires: int | None = None
    window_slots: int | None = None
    in_flight_buffers: int | None = None
    host_memory: HostMemory = "auto"
    network: Network = "auto"
    precision: Precision = "double"
    max_memory: int | None = None
    max_host_memory: int | None = None
    threads: int | None = None
    compile: Compile = "auto"
    seed: int | None = None
    progress: ProgressCallback | None = None
    watch: Watch | None = None
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None
    checkpoint_every: float = 600.0

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise OptionError(f"{name}={value!r}: one of {', '.join(map(repr, allowed))} is wanted.")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is None and name not in ("device_id", "virtual_peers"):
                continue
            if not _whole(value) or value < least:
                raise OptionError(f"{name}={value!r}: a whole number from {least} up is wanted.")
            if name in _POWERS and value.bit_count() != 1:
                raise OptionError(f"{name}={value!r}: a power of two is wanted (1, 2, 4, …).")
        for name, told in (("progress", "(steps done, steps in all)"), ("watch", "a qsim_ex.options.Progress")):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise OptionError(f"{name}={value!r}: a function of {told} is wanted.")
        if self.devices is not None:
            object.__setattr__(self, "devices", _device_numbers(self.devices, self.device))
        if self.checkpoint is not None:
            given = self.checkpoint.path if isinstance(self.checkpoint, Checkpoint) else self.checkpoint
            if not isinstance(given, str | os.PathLike):
                raise OptionError(f"checkpoint={self.checkpoint!r}: the path of a file is wanted.")
            if not isinstance(self.checkpoint, Checkpoint):
                object.__setattr__(self, "checkpoint", os.fspath(given))
        every: Any = self.checkpoint_every
        if isinstance(every, bool) or not isinstance(every, int | float | np.number) or not every >= 0:
            raise OptionError(f"checkpoint_every={every!r}: seconds are wanted, 0 or more.")

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


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _device_numbers(given: Any, device: str) -> tuple[int, ...]:
    """The numbers of GPUs as a tuple; raises `OptionError`."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise OptionError(f"devices={given!r}: a list of GPU numbers is wanted, such as [0, 1, 2, 3].")
    numbers = tuple(given)
    if not numbers or not all(_whole(number) and number >= 0 for number in numbers):
        raise OptionError(f"devices={given!r}: GPU numbers from 0 up are wanted, such as [0, 1, 2, 3].")
    numbers = tuple(map(int, numbers))
    if device == "cpu":
        raise OptionError(
            f"devices={list(numbers)} are GPUs, and device='cpu' was asked for. To divide a state on the CPU, use "
            "virtual_peers or device_wires."
        )
    if repeated := sorted({number for number in numbers if numbers.count(number) > 1}):
        raise OptionError(
            f"devices={list(numbers)}: GPU {', '.join(map(str, repeated))} is named more than once. Name each GPU "
            "once; virtual_peers lets several sub state vectors share one."
        )
    if len(numbers).bit_count() != 1:
        fewer = 1 << (len(numbers).bit_length() - 1)
        raise OptionError(
            f"devices={list(numbers)}: {len(numbers)} GPUs; a power of two is wanted. Use {fewer} of them, "
            f"such as {list(numbers[:fewer])}."
        )
    return numbers
