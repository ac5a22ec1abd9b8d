"""The options of a simulator: one frozen dataclass that checks its values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypedDict, get_args

import numpy as np

from qsim_ex.display.described import shown_options
from qsim_ex.errors import OptionError, unknown_option
from qsim_ex.options.checked import gpu_numbers, is_whole, no_choice, size_in_bytes
from qsim_ex.options.methods import USUAL as USUAL  # (so that it is an export, for adapters)
from qsim_ex.options.methods import Method as Method
from qsim_ex.options.network import layers_of
from qsim_ex.options.progress import Progress as Progress
from qsim_ex.options.progress import Watch as Watch
from qsim_ex.precision import PRECISIONS, AmplitudeDtype, PrecisionName

DeviceChoice = Literal["auto", "cpu", "gpu"]
Compile = Literal["auto", "always", "never"]
ProgressCallback = Callable[[int, int], None]
NetworkName = Literal["auto", "switch", "mesh"]
Network = NetworkName | Sequence[Any]  # layers: each a `network.Layer`, (bits, link) or (bits, link, bytes per second)
HostMemory = Literal["auto", "whole", "spread"]
Processes = int | Literal["auto", "never"]


_CHOICES: dict[str, tuple[str, ...]] = {
    "device": get_args(DeviceChoice),
    "precision": tuple(PRECISIONS),
    "compile": get_args(Compile),
    "host_memory": get_args(HostMemory),
    "method": get_args(Method),
}
"""Options that are one of a few names, and those names."""

_LEAST = {
    "device_id": 0,
    "threads": 1,
    "seed": 0,
    "virtual_peers": 1,
    "device_wires": 1,
    "window_slots": 1,
    "in_flight_buffers": 1,
    "max_loop_rounds": 1,
}
"""Options that are whole numbers, and the smallest value of each."""

_SIZES = {"max_memory": 1, "max_host_memory": 0}
"""Options that are bytes, or sizes in words, and the smallest value of each."""

OF_PIECES = ("window_slots", "in_flight_buffers", "host_memory", "network", "max_host_memory")
"""Options about the pieces of a state that is divided."""

_POWERS = ("virtual_peers", "window_slots")
"""Options that are powers of two."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file to which a run saves its state on the way, and from which the same run continues if the file exists.

    keep: whether the file stays after the run. The same run then returns its result from the file at once, which a job
    of several runs needs.
    """

    path: str | os.PathLike[str]
    keep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a simulator. Every value is checked: raises `OptionError`.

    device: where to run. 'gpu' and 'cpu' are demands. 'auto' chooses a GPU if there is one and the state is large
        enough for it; the result says which device it was and why.
    device_id: the number of the GPU on which a state lies that fits on one.
    devices: the numbers of the GPUs that share a state. All of them are used, and their count must be a power of two.
        None uses `device_id`, and as many other GPUs of its generation as the state needs.
    virtual_peers: how many sub state vectors share each device as if each had a device of its own; a power of two. It
        serves tests, and works on the CPU as well.
    device_wires: how many wires one sub state vector on a device has. The other sub state vectors lie on other devices
        and in host memory. None chooses the smallest placement that fits.
    window_slots: into how many slices a sub state vector near a device is divided; a power of two. All slices lie in
        one block of memory, so the index bits that number them are as near as the others. A slice is copied at once.
    in_flight_buffers: how many sub state vectors of a state in host memory each device holds at a time, so that one is
        copied in and one out while a third is computed on; None is 3 if they fit.
    host_memory: 'whole' reserves host memory for the whole state, 'spread' only for what no device holds, and 'auto'
        chooses the first of the two that fits.
    network: how the devices are connected: 'switch' (any two at full speed), 'mesh' (a link for each pair), or layers
        from near to far, each with its number of index bits, its link, and the bytes per second of one device unless
        the link is known: ``[(2, "nvlink"), (1, "ib", 25e9)]``. 'auto' finds out which processes share a host and
        measures how fast they exchange, and is 'switch' for the devices of one process.
    method: 'statevector' simulates noise by trajectories, one state vector for each random outcome. 'density_matrix'
        computes what is expected without chance, from a density matrix: the memory of twice as many wires.
        'stabilizer' runs Clifford gates and Pauli noise on Stim, without amplitudes, for thousands of wires.
        'automatic' is 'statevector', except that shots of a few noisy wires without measurements on the way are drawn
        from their density matrix, means that it has too are taken from it, and circuits that 'stabilizer' can run are
        run so, where that costs less; the result says which and why.
    processes: over how many processes a state is divided, under a launcher such as mpirun. 'auto' divides states that
        are large enough over all of them, a number divides every state over that many, and 'never' none. With a number,
        many bindings or trajectories of small states are shared out instead. All processes make the same calls, and
        each gets every answer. See docs/several_processes.md.
    precision: the numbers in which amplitudes are stored: 'double' (complex128) or 'single' (complex64).
    max_memory: the most that a state may take on each device, in bytes or in words: '8 GiB', '500 MB'. None is what the
        device reports as free.
    max_host_memory: the most that a state on devices may take in host memory, in bytes or in words. None is what is
        reported as free.
    threads: the number of CPU threads; None uses all cores.
    separate: whether wires that nothing joins are simulated as separate parts, one after another, and idle wires not at
        all. The shots of a seed are the same either way.
    max_loop_rounds: the largest number of rounds of a loop, each time that it begins; a shot that needs more ends the
        run with an error.
    compile: whether kernels for GPUs are written for the circuit and compiled ('always') or sweeps are interpreted
        ('never'); 'auto' compiles what runs again, and what would take longer to interpret than to compile.
    seed: the seed of runs that are given none; None makes a fresh one for each run.
    progress: True shows a progress bar on stderr or in the notebook, False shows none. None shows one where it helps:
        in a terminal or a notebook, when a run takes longer than three seconds. A function is called with (steps done,
        steps in all) between steps instead.
    watch: a function that is called with a `Progress` between steps.
    checkpoint: the path of a file to which the run saves its state on the way, and from which it continues if the file
        exists. The file is removed at the end of the run; pass a `Checkpoint` to keep it. Further files beside it have
        names that begin with its name.
    checkpoint_every: the least number of seconds between two checkpoints; 0 writes one at every boundary.
    """

    device: DeviceChoice = "auto"
    device_id: int = 0
    devices: Sequence[int] | None = None
    virtual_peers: int = 1
    device_wires: int | None = None
    window_slots: int | None = None
    in_flight_buffers: int | None = None
    host_memory: HostMemory = "auto"
    network: Network = "auto"
    method: Method = "automatic"
    processes: Processes = "auto"
    precision: PrecisionName = "double"
    max_memory: int | str | None = None
    max_host_memory: int | str | None = None
    threads: int | None = None
    separate: bool = True
    max_loop_rounds: int = 1_000_000
    compile: Compile = "auto"
    seed: int | None = None
    progress: bool | ProgressCallback | None = None
    watch: Watch | None = None
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None
    checkpoint_every: float = 600.0

    def __repr__(self) -> str:
        return shown_options("Options", self)

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise no_choice(name, value, allowed, self.__dataclass_fields__[name].default)
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is None and name not in ("device_id", "virtual_peers", "max_loop_rounds"):
                continue
            if (type(value) is not int and not is_whole(value)) or value < least:
                raise OptionError(
                    f"{name}: expected a whole number from {least} up, got {value!r}; pass {name}={least} or more."
                )
            if name in _POWERS and value.bit_count() != 1:
                power = 1 << int(value).bit_length() - 1
                raise OptionError(f"{name}: expected a power of two, got {value}; pass {name}={power}.")
        for name, least in _SIZES.items():
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, size_in_bytes(name, value, least))
        if not (self.progress is None or isinstance(self.progress, bool) or callable(self.progress)):
            raise OptionError(
                "progress: expected True, False, None, or a function of (steps done, steps in all), got "
                f"{self.progress!r}; pass progress=True for a bar."
            )
        if not (self.watch is None or callable(self.watch)):
            raise OptionError(
                f"watch: expected a function of (a qsim_ex.Progress), got {self.watch!r}; pass one, or None."
            )
        if self.processes not in ("auto", "never") and not (is_whole(self.processes) and int(self.processes) >= 1):
            raise OptionError(
                f"processes: expected 'auto', 'never', or a whole number from 1 up, got {self.processes!r}; pass "
                "processes='auto'."
            )
        if self.network not in get_args(NetworkName):
            object.__setattr__(self, "network", layers_of(self.network))
        if not isinstance(self.separate, bool | np.bool_):
            raise OptionError(f"separate: expected True or False, got {self.separate!r}; pass separate=True.")
        if self.devices is not None:
            object.__setattr__(self, "devices", gpu_numbers(self.devices, self.device))
        if self.checkpoint is not None:
            given = self.checkpoint.path if isinstance(self.checkpoint, Checkpoint) else self.checkpoint
            if not isinstance(given, str | os.PathLike):
                raise OptionError(
                    f"checkpoint: expected the path of a file, got {given!r}; pass checkpoint='run.checkpoint'."
                )
            if not isinstance(self.checkpoint, Checkpoint):
                object.__setattr__(self, "checkpoint", os.fspath(given))
        every: Any = self.checkpoint_every
        if isinstance(every, bool) or not isinstance(every, int | float | np.number) or not every >= 0:
            raise OptionError(f"checkpoint_every: expected seconds >= 0, got {every!r}; pass checkpoint_every=600.")

    @property
    def dtype(self) -> AmplitudeDtype:
        """The dtype of the amplitudes."""
        return PRECISIONS[self.precision].storage.dtype

    @property
    def device_limit(self) -> int:
        """The option `max_memory` in bytes, where it is given."""
        return size_in_bytes("max_memory", self.max_memory, 1)

    @property
    def host_limit(self) -> int:
        """The option `max_host_memory` in bytes, where it is given."""
        return size_in_bytes("max_host_memory", self.max_host_memory, 0)

    def limits(self, free: int, host_free: int) -> tuple[int, int] | None:
        """Return the bytes that are allowed on each device and on the host, of those that are free; None for all."""
        if self.max_memory is None and self.max_host_memory is None:
            return None
        return free, host_free if self.max_host_memory is None else self.host_limit

    @property
    def divides(self) -> bool:
        """Whether a state is demanded in several pieces."""
        pieces = self.devices is not None or self.device_wires is not None or self.virtual_peers > 1
        return pieces or self.over_processes

    @property
    def over_processes(self) -> bool:
        """Whether states are demanded over several processes."""
        return self.processes not in ("auto", "never", 1)

    def changed(self, names: Iterable[str]) -> dict[str, Any]:
        """Return those of some options that differ from their defaults."""
        usual, given = self.__dataclass_fields__, {name: getattr(self, name) for name in names}
        return {name: value for name, value in given.items() if value != usual[name].default}

    def with_(self, changes: Mapping[str, Any]) -> Options:
        """Return a copy with some options changed; raises `OptionError` for a name that does not exist."""
        if not changes:
            return self
        known = [f.name for f in fields(self)]
        for name in changes:
            if name not in known:
                raise OptionError(unknown_option(name, known, "qsim_ex.Options"))
        return replace(self, **changes)


class EngineKeywords(TypedDict, total=False):
    """The fields of `Options` as keywords, for type checkers and editors: all that no framework calls otherwise."""

    device: DeviceChoice
    device_id: int
    devices: Sequence[int] | None
    virtual_peers: int
    device_wires: int | None
    window_slots: int | None
    in_flight_buffers: int | None
    host_memory: HostMemory
    network: Network
    method: Method
    processes: Processes
    max_memory: int | str | None
    max_host_memory: int | str | None
    threads: int | None
    separate: bool
    max_loop_rounds: int
    compile: Compile
    progress: bool | ProgressCallback | None
    watch: Watch | None
    checkpoint: str | os.PathLike[str] | Checkpoint | None
    checkpoint_every: float


class OptionKeywords(EngineKeywords, total=False):
    """All fields of `Options` as keywords: ``**options: Unpack[OptionKeywords]``."""

    precision: PrecisionName
    seed: int | None
