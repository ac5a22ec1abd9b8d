"""Tables of all options of a class, the common ones first, from its signature and the docstrings of its options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from qsim_ex.display.described import rows
from qsim_ex.options import OptionKeywords, Options
from tools.pages.entries import as_markdown
from tools.pages.markdown import default_of, sentence, table, type_of

COMMON = (
    *("device", "precision", "dtype", "method", "noise_model", "noise", "shots", "default_shots", "default_precision"),
    *("trajectories", "seed_simulator", "seed", "memory", "max_memory", "threads", "devices", "progress", "checkpoint"),
)
"""The options that most users ask for, in the order in which a table begins with them."""

_ITEM = re.compile(r"^- \*\*([\w, ]+)\*\*: (.*)$", re.MULTILINE)


_LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")  # which leads from another folder


def class_options(described: type, *tables: type) -> str:
    """Return the options of a class; tables: the dataclasses and keywords of options besides the engine's."""
    known = rows(*tables, Options, OptionKeywords)
    documented = inspect.cleandoc(described.__doc__ or "").partition("Options, with their types and defaults:")[0]
    own = {name: told for names, told in _ITEM.findall(as_markdown(documented)) for name in names.split(", ")}
    found = []
    for name, given in inspect.signature(described).parameters.items():
        meaning = own.get(name) or (known[name].meaning if name in known else "")
        if meaning and given.kind in (given.KEYWORD_ONLY, given.POSITIONAL_OR_KEYWORD):
            kind = known[name].type if name in known and name not in own else given.annotation
            found.append((f"`{name}`", _type(kind), default_of(given.default), _LINK.sub(r"\1", sentence(meaning))))
    places = {f"`{name}`": place for place, name in enumerate(COMMON)}
    found.sort(key=lambda line: places.get(line[0], len(places)))
    return table(("option", "type", "default", "meaning"), found)


def _type(annotation: Any) -> str:
    if annotation in (Any, "Any"):
        return "see there"  # its meaning names what it takes
    return (
        " or ".join(f"`{one}`" for one in annotation.split(" | "))
        if isinstance(annotation, str)
        else type_of(annotation)
    )


def _simulator() -> str:
    from qsim_ex import Simulator

    return class_options(Simulator)


def _backend() -> str:
    from qsim_ex_provider import QsimExBackend
    from qsim_ex_provider.keywords import RunKeywords
    from qsim_ex_provider.options import RunOptions

    return class_options(QsimExBackend, RunOptions, RunKeywords)


def _sampler() -> str:
    from qsim_ex_provider import SamplerV2

    return class_options(SamplerV2)


def _estimator() -> str:
    from qsim_ex_provider import EstimatorV2

    return class_options(EstimatorV2)


def _cirq() -> str:
    from qsim_ex_cirq import QsimExSimulator

    return class_options(QsimExSimulator)


CLASSES: dict[str, Callable[[], str]] = {
    "Simulator": _simulator,
    "QsimExBackend": _backend,
    "SamplerV2": _sampler,
    "EstimatorV2": _estimator,
    "QsimExSimulator": _cirq,
}
"""The table of each class, which the reference shows below its docstring."""
