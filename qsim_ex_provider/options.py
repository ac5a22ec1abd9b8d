"""The options of a run, checked before anything else happens."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from qiskit.providers import Options as QiskitOptions

from qsim_ex.errors import OptionError, unknown_option
from qsim_ex.frameworks import Noise, NoiseModel, check, later
from qsim_ex.options import Method, Options

if TYPE_CHECKING:
    from qsim_ex_provider import foreign_options
    from qsim_ex_provider.translation import noise
else:
    foreign_options = later("qsim_ex_provider.foreign_options")
    noise = later("qsim_ex_provider.translation.noise")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run of circuits: those that the engine lacks, and the engine's.

    shots: samples for each circuit.
    memory: keep the outcome of every shot, in order.
    seed_simulator: base of all random numbers of the job; a fresh one if None. Circuit i uses it together with i.
    executor: where circuits are run, one task for each; a thread of the backend's own if None.
    noise_model: a `NoiseModel` of qiskit_aer.noise or of qsim_ex; no noise if None. noise: what it is to the engine.

    Raises `OptionError` and `ShotsError` for a value that cannot be taken.
    """

    shots: int = 1024
    memory: bool = False
    seed_simulator: int | None = None
    executor: concurrent.futures.Executor | None = None
    noise_model: Any = None
    engine: Options = field(default_factory=Options)
    noise: Noise | None = field(init=False)

    def __post_init__(self) -> None:
        check.shots(self.shots)
        object.__setattr__(self, "noise", noise_of(self.noise_model))
        if not isinstance(self.memory, bool | np.bool_):
            raise OptionError(f"expected memory=True or memory=False, got {self.memory!r}.")
        if self.executor is not None and not isinstance(self.executor, concurrent.futures.Executor):
            raise OptionError(f"expected executor as a concurrent.futures.Executor, got {self.executor!r}.")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> RunOptions:
        """Return options by their names, the engine's among them; its seed is `seed_simulator`."""
        seed, method = given.get("seed_simulator"), given.get("method")
        _check_seed(seed)  # before the engine does, which calls it otherwise
        if isinstance(method, str) and (instead := foreign_options.OTHER_METHODS.get(method)):
            raise OptionError(
                f"method: expected one of {', '.join(map(repr, get_args(Method)))}, got {method!r}; {instead}"
            )
        engine = {name: given[name] for name in _ENGINE if name in given}
        if isinstance(device := engine.get("device"), str):
            engine["device"] = device.lower()  # Aer writes 'GPU'
        own = {name: given[name] for name in _OWN if name in given}
        return cls(**own, engine=Options(**engine, seed=seed))


def noise_of(model: Any) -> Noise | None:
    """Return a noise model of Aer's or of the engine as `Noise`, None for no noise; raises `OptionError` for others."""
    return model if model is None or isinstance(model, NoiseModel) else noise.of_aer(model)


def _check_seed(seed: object) -> None:
    if seed is None or (isinstance(seed, int | np.integer) and not isinstance(seed, bool) and 0 <= seed < 1 << 64):
        return
    raise OptionError(
        f"expected seed_simulator as a whole number from 0 to 2^64 - 1, got {seed!r}; pass seed_simulator=7."
    )


_OWN = tuple(one.name for one in fields(RunOptions) if one.init and one.name != "engine")

_ENGINE = tuple(one.name for one in fields(Options) if one.name != "seed")

KNOWN = (*_OWN, *_ENGINE)
"""The names of all options of a run."""

_NAMES = frozenset(KNOWN)


def defaults() -> dict[str, object]:
    """Return every option with its default."""
    usual = {one.name: one.default for table in (Options, RunOptions) for one in fields(table)}
    return {name: usual[name] for name in KNOWN}


def unknown(name: str) -> str:
    """Return the message about an option that does not exist."""
    return unknown_option(name, (*KNOWN, *foreign_options.NAMES), "QsimExBackend")


def own_names(given: Mapping[str, object]) -> Mapping[str, object]:
    """Return options by their names here; those of other backends are understood, see `foreign_options`.

    Raises `OptionError` for a value that means something else than what happens here; unknown names stay.
    """
    if _NAMES.issuperset(given):
        return given
    return foreign_options.in_own_words(given, KNOWN)


def run_options(base: QiskitOptions, changes: Mapping[str, object]) -> RunOptions:
    """Return the options of one run: the backend's own with some changed; raises `OptionError`.

    A seed of None is that of the backend, as in Aer: Qiskit's primitives for backends always pass one. Shots of None
    are those of the backend too. Other names that were set in `base` itself are taken as those of changes are.
    """
    own, changes = vars(base), own_names(changes)
    if not _NAMES.issuperset(own):
        changes = {**own_names({name: value for name, value in own.items() if name not in _NAMES}), **changes}
        own = {name: own[name] for name in KNOWN}
    for name in changes:
        if name not in _NAMES:
            raise OptionError(unknown(name))
    kept = {name: own[name] for name in ("seed_simulator", "shots") if changes.get(name) is None}
    given = {**own, **changes, **kept}
    kinds = tuple(map(type, given.values()))
    return _checked(tuple(given.items()), kinds) if _PLAIN.issuperset(kinds) else RunOptions.of(given)


_PLAIN = frozenset({bool, int, float, str, type(None)})
"""Values that cannot change: options that have no others are checked once."""


@lru_cache(maxsize=64)
def _checked(given: tuple[tuple[str, object], ...], kinds: tuple[type, ...]) -> RunOptions:  # noqa: ARG001  (1 is not True)
    return RunOptions.of(dict(given))
