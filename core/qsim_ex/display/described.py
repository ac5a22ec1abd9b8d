"""The options of a class in its help and its signature, read from the table of options.

A class that takes options as keywords (``**options``) names the dataclasses that hold them. Each field is written once,
with its type and default, and its meaning stands in the docstring of the dataclass as ``name: meaning``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

Described = TypeVar("Described", bound=type)

_ENTRY = re.compile(r"(\w+(?:, \w+)*): (.*)")
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class OptionRow:
    """An option: its name, its type, its default, and its meaning in words, of one line or more."""

    name: str
    type: Any
    default: Any
    meaning: str

    def parameter(self) -> inspect.Parameter:
        """Return the option as a parameter of a signature."""
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=self.default, annotation=self.type)

    def text(self) -> str:
        """Return the option as an entry of a docstring."""
        kind = inspect.formatannotation(self.type).replace("collections.abc.", "")
        meaning = self.meaning.replace("\n", "\n        ")
        return f"    {self.name}: {kind} = {self.default!r}\n        {meaning}\n"


@lru_cache(maxsize=16)
def rows(*tables: type) -> Mapping[str, OptionRow]:
    """Return the options that dataclasses among some tables have, by name.

    tables: classes with annotations. A field's type is that of the last table that has it, its default and its meaning
    are those of the first.
    """
    hints = [get_type_hints(table) for table in tables]
    told = [meanings(table) for table in tables]
    found: dict[str, Field[Any]] = {}
    for table in filter(is_dataclass, tables):
        for field in fields(table):
            found.setdefault(field.name, field)
    return {
        field.name: OptionRow(
            field.name,
            next(one[field.name] for one in reversed(hints) if field.name in one),
            default_of(field),
            next((one[field.name] for one in told if field.name in one), ""),
        )
        for field in found.values()
        if field.init
    }


def default_of(field: Field[object]) -> Any:
    """Return the default of a field; `inspect.Parameter.empty` if it has none."""
    return inspect.Parameter.empty if field.default is MISSING else field.default


def meanings(table: type) -> dict[str, str]:
    """Return the meaning of each field that the docstring of a dataclass describes as ``name: meaning``."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(table.__doc__ or "").splitlines():
        if entry := _ENTRY.fullmatch(line):
            names = entry[1].split(", ")
            found.update(dict.fromkeys(names, entry[2]))
        elif line.startswith(" "):
            found.update({name: f"{found[name]}\n{line.strip()}" for name in names})
        else:
            names = []
    return found


class _Signature:
    """The signature of a class, with its options as keywords in place of ``**options``; made when somebody asks."""

    def __init__(self, described: type, options: Collection[OptionRow]) -> None:
        self._init, self._options = getattr(described, "__init__"), options  # noqa: B009  (mypy: it may be another's)

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is not None or getattr(owner, "__init__") is not self._init:  # noqa: B009
            raise AttributeError("__signature__")  # a subclass with arguments of its own has its own signature
        own = inspect.signature(self._init)
        return own.replace(parameters=list(self._parameters(own)), return_annotation=inspect.Signature.empty)

    def _parameters(self, own: inspect.Signature) -> Iterator[inspect.Parameter]:
        given = list(own.parameters.values())[1:]  # without self
        yield from (one for one in given if one.kind is not inspect.Parameter.VAR_KEYWORD)
        yield from (row.parameter() for row in self._options if row.name not in own.parameters)


def with_options(*tables: type, but: Collection[str] = ()) -> Callable[[Described], Described]:
    """Return a class decorator that shows options in the help and the signature of a class.

    tables: the dataclasses of the options; see `rows`. but: names that the class does not take.
    """

    def describe(described: Described) -> Described:
        options = [row for name, row in rows(*tables).items() if name not in but]
        if described.__doc__:  # python -OO has none
            entries = "".join(row.text() for row in options)
            described.__doc__ = (
                f"{inspect.cleandoc(described.__doc__)}\n\nOptions, with their types and defaults:\n\n{entries}"
            )
        setattr(described, "__signature__", _Signature(described, options))  # noqa: B010  (mypy knows no such name)
        return described

    return describe


HOW = ("device", "precision", "dtype", "method", "noise_model", "noise")
"""Options that say how an object simulates, which it shows also where they are the defaults."""


def shown(name: str, *first: object, **given: tuple[Any, Any]) -> str:
    """Return how an object shows itself: its name, how it simulates, and other arguments that are not their defaults.

    given: the value of each argument, and its default.
    """
    parts = [repr(one) for one in first]
    parts += [f"{key}={short(value)}" for key, (value, usual) in given.items() if key in HOW or not _same(value, usual)]
    return f"{name}({', '.join(parts)})"


def shown_options(name: str, options: Any, *first: object) -> str:
    """Return how an object shows itself, with the fields of a dataclass; see `shown`."""
    known = (one for one in fields(options) if one.init)
    return shown(name, *first, **{one.name: (getattr(options, one.name), one.default) for one in known})


def short(value: object) -> str:
    """Return the representation of a value; that of a large object is only its class."""
    text = repr(value)
    return text if len(text) <= _LONGEST and "\n" not in text else f"<{type(value).__name__}>"


def _same(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))
