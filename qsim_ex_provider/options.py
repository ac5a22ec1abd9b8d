"""The options of a run, checked before anything else happens."""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from qsim_ex.errors import OptionError, nearest
from qsim_ex.frameworks import check, later
from qsim_ex.options import Method, Options, Progress
from qsim_ex_provider.translation.noise import noise_of

if TYPE_CHECKING:
    from qsim_ex_provider import foreign_options
else:
    foreign_options = later("qsim_ex_provider.foreign_options")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run of circuits.

    shots: samples for each circuit.
    memory: keep the outcome of every shot, in order.
    seed_simulator: base of all random numbers of the job; a fresh one if None. Circuit i uses it together with i.
    executor: where circuits are run, one task for each; a thread of the backend's own if None.
    noise_model: a `NoiseModel` of qiskit_aer.noise or of qsim_ex; no noise if None.
    All others are those of `qsim_ex.Options`, and `engine` is what they come to. Raises `OptionError` and `ShotsError`
    for a value that cannot be taken.
    """

    shots: int = 1024
    memory: bool = False
    seed_simulator: int | None = None
    executor: concurrent.futures.Executor | None = None
    noise_model: Any = None
    device: Any = "auto"
    device_id: int = 0
    devices: Sequence[int] | None = None
    virtual_peers: int = 1
    device_wires: int | None = None
    window_slots: int | None = None
    in_flight_buffers: int | None = None
    host_memory: Any = "auto"
    network: Any = "auto"
    method: Any = "automatic"
    processes: Any = "auto"
    precision: Any = "double"
    max_memory: int | None = None
    max_host_memory: int | None = None
    threads: int | None = None
    separate: bool = True
    max_loop_rounds: int = 1_000_000
    compile: Any = "auto"
    progress: Callable[[int, int], None] | None = None
    watch: Callable[[Progress], None] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: float = 600.0
    engine: Options = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check.shots(self.shots)
        self._check_seed()  # before the engine does, which calls it otherwise
        self._check_method()
        object.__setattr__(self, "engine", self._engine())
        if self.noise_model is not None:
            noise_of(self.noise_model)
        if not isinstance(self.memory, bool | np.bool_):
            raise OptionError(f"expected memory=True or memory=False, got {self.memory!r}.")
        if self.executor is not None and not isinstance(self.executor, concurrent.futures.Executor):
            raise OptionError(f"expected executor as a concurrent.futures.Executor, got {self.executor!r}.")

    def _check_seed(self) -> None:
        seed: Any = self.seed_simulator
        if seed is None or (isinstance(seed, int | np.integer) and not isinstance(seed, bool) and 0 <= seed < 1 << 64):
            return
        raise OptionError(
            f"expected seed_simulator as a whole number from 0 to 2^64 - 1, got {seed!r}; pass seed_simulator=7."
        )

    def _check_method(self) -> None:
        if isinstance(self.method, str) and (instead := foreign_options.OTHER_METHODS.get(self.method)):
            raise OptionError(
                f"method: expected one of {', '.join(map(repr, get_args(Method)))}, got {self.method!r}; {instead}"
            )

    def _engine(self) -> Options:
        device: Any = self.device.lower() if isinstance(self.device, str) else self.device  # Aer writes 'GPU'
        given = {name: getattr(self, name) for name in _ENGINE}
        return Options(**{**given, "device": device, "seed": self.seed_simulator})


_ENGINE = tuple(one.name for one in fields(Options) if one.name != "seed")

KNOWN = tuple(one.name for one in fields(RunOptions) if one.init)


def defaults() -> dict[str, Any]:
    """Return every option with its default."""
    return {one.name: one.default for one in fields(RunOptions) if one.init}


def unknown(name: str) -> str:
    """Return the message about an option that does not exist."""
    return f"there is no option {name!r}.{nearest(name, (*KNOWN, *foreign_options.NAMES))} Known: {', '.join(KNOWN)}."


def own_names(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return options by their names here; those of other backends are understood, see `foreign_options`.

    Raises `OptionError` for a value that means something else than what happens here; unknown names stay.
    """
    if all(name in KNOWN for name in given):
        return given
    return foreign_options.in_own_words(given, KNOWN)


def run_options(base: Mapping[str, Any], changes: Mapping[str, Any]) -> RunOptions:
    """Return the options of one run: the backend's own with some changed; raises `OptionError`.

    A seed of None is that of the backend, as in Aer: Qiskit's primitives for backends always pass one. Shots of None
    are those of the backend too.
    """
    changes = own_names(changes)
    for name in changes:
        if name not in KNOWN:
            raise OptionError(unknown(name))
    kept = {name: base[name] for name in ("seed_simulator", "shots") if changes.get(name) is None}
    return RunOptions(**{**base, **changes, **kept})
