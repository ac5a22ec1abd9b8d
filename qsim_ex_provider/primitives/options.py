"""The options of both primitives, in the forms in which users of other primitives write them.

They come from three places, of which a later one wins: a backend, `options`, and keywords. `options` is a dictionary or
an object with attributes, as of Aer's primitives, Qiskit's `BackendSamplerV2` and `BackendEstimatorV2`, and the local
mode of qiskit-ibm-runtime. In it the dictionaries `backend_options`, `run_options` and `simulator` hold more of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from qsim_ex import Options
from qsim_ex.errors import OptionError, unknown_option
from qsim_ex.frameworks import later
from qsim_ex_provider.backend import QsimExBackend
from qsim_ex_provider.options import noise_of

if TYPE_CHECKING:
    from qsim_ex_provider import foreign_options
else:
    foreign_options = later("qsim_ex_provider.foreign_options")

ENGINE = tuple(field.name for field in fields(Options))
"""Options of the engine, all of which a primitive takes."""

NESTED = ("backend_options", "run_options", "simulator")
"""Dictionaries of options within `options`, those that win last."""


@dataclass(frozen=True, slots=True)
class PrimitiveKind:
    """The particulars of one of the primitives.

    name: of its class. own: its options beside the engine's. aliases: other names of options. no_effect: options of
    other primitives that are accepted and have no effect here.
    """

    name: str
    own: tuple[str, ...]
    aliases: Mapping[str, str]
    no_effect: tuple[str, ...]


SAMPLER = PrimitiveKind(
    "SamplerV2",
    ("default_shots", "noise_model"),
    {"seed_simulator": "seed", "shots": "default_shots"},
    ("memory",),  # every shot is in the result anyway
)
ESTIMATOR = PrimitiveKind(
    "EstimatorV2",
    ("default_precision", "trajectories", "noise_model"),
    {"seed_simulator": "seed", "shots": "trajectories"},
    ("abelian_grouping", "memory"),  # how a value is found from counts, of which there are none
)


@dataclass(frozen=True, slots=True)
class PrimitiveOptions:
    """The options of a primitive: its own by name, where they were given, and the engine's."""

    own: Mapping[str, Any]
    engine: Options


def primitive_options(
    kind: PrimitiveKind,
    keywords: Mapping[str, object],
    *,
    backend: object = None,
    mode: object = None,
    options: object = None,
) -> PrimitiveOptions:
    """Return the options of a primitive; keywords: of its constructor; None leaves one of its own to the others.

    Raises `OptionError` for an unknown name, with the nearest one, and for values that cannot be taken.
    """
    if backend is not None and mode is not None:
        raise OptionError("expected one of backend and mode, which are the same, got both; pass one.")
    given = dict(_of_backend(kind, mode if backend is None else backend))
    own = {name: value for name, value in keywords.items() if name not in kind.own or value is not None}
    for layer in (*_layers(options), own):
        given.update(_in_own_words(kind, layer))
    engine = {name: value for name, value in given.items() if name in ENGINE}
    if isinstance(engine.get("device"), str):
        engine["device"] = engine["device"].lower()  # Aer writes 'GPU'
    found = {name: value for name, value in given.items() if name in kind.own}
    return PrimitiveOptions({**found, "noise_model": noise_of(found.get("noise_model"))}, Options(**engine))


def _of_backend(kind: PrimitiveKind, backend: object) -> Mapping[str, Any]:
    """Return the options of a backend, which is one of ours or one to be simulated."""
    if backend is None:
        return {}
    ours = backend if isinstance(backend, QsimExBackend) else QsimExBackend.from_backend(backend)
    given = ours.options
    if given.executor is not None:
        raise OptionError("expected a backend without executor, since primitives run in one thread, got one with it.")
    found = {name: getattr(given, name) for name in (*ENGINE, "noise_model") if name != "seed"}
    return {**found, "seed": given.seed_simulator, **({"default_shots": given.shots} if kind is SAMPLER else {})}


def _layers(options: object) -> list[Mapping[str, Any]]:
    """Return options, and the dictionaries within them before, so that a later one wins."""
    if options is None:
        return []
    whole = options if isinstance(options, Mapping) else getattr(options, "__dict__", None)
    if whole is None:
        raise OptionError(f"expected options as a dictionary or an object with attributes, got {options!r}.")
    inner = [whole.get(name) or {} for name in NESTED]
    return [*inner, {name: value for name, value in whole.items() if name not in NESTED and value is not None}]


def _in_own_words(kind: PrimitiveKind, layer: Mapping[str, object]) -> Mapping[str, Any]:
    """Return options by their names here; raises `OptionError` for an unknown one."""
    known = (*kind.own, *ENGINE)
    if all(name in known for name in layer):
        return layer
    found = {}
    for name, value in foreign_options.in_own_words(layer, (*known, *kind.aliases, *kind.no_effect)).items():
        own = kind.aliases.get(name, name)
        if own in found:
            raise OptionError(f"expected one of {name} and {own}, which are the same, got both; pass one.")
        if own in known:
            found[own] = value
        elif own not in kind.no_effect:
            names = (*known, *kind.aliases, *kind.no_effect, *foreign_options.NAMES)
            raise OptionError(unknown_option(name, names, kind.name))
    return found
