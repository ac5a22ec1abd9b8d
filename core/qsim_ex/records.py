"""Dataclasses for what the engine itself describes, made in a quarter of the time that Python's take.

A process that runs its first circuit makes a hundred of these classes. Python compiles six methods for each frozen one;
here only ``__init__`` is compiled, and the others are shared. A record is frozen for type checkers alone, who see
`dataclasses.dataclass` here, and its fields are set in a quarter of the time too. What users make and hold, such as
`Options` and `Result`, are Python's own dataclasses, which refuse changes at run time. The idea is that of Tin
Tvrtković's "Zero-Overhead Frozen Attrs Classes".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass

    from _typeshed import DataclassInstance
else:

    def dataclass(given=None, /, *, eq=True, repr=True, frozen=False, **others):  # noqa: A002  (as in the original)
        """Make a class a dataclass, as `dataclasses.dataclass` does with these arguments."""

        def made(given: type) -> type:
            own = {name for name, value in vars(given).items() if value is not None}  # `__eq__` sets `__hash__` to None
            record = dataclasses.dataclass(given, eq=False, repr=False, **others)
            shared = {"__repr__": _shown} if repr else {}
            if eq:
                shared["__eq__"], by_value = _comparing(record)
                shared["__hash__"] = by_value if frozen else None
            for name in shared.keys() - own:
                setattr(record, name, shared[name])
            return record

        return made if given is None else made(given)


@recursive_repr()
def _shown(self: DataclassInstance) -> str:
    """Return a record as the call that would make it."""
    fields = [f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr]
    return f"{type(self).__qualname__}({', '.join(fields)})"


def _comparing(record: type[DataclassInstance]) -> tuple[Callable[[object, object], bool], Callable[[object], int]]:
    """Return the `__eq__` and the `__hash__` of a class, by the values of its fields."""
    names = [field.name for field in dataclasses.fields(record) if field.compare]
    values = attrgetter(*names) if names else type

    def same(self: object, other: object) -> bool:
        return bool(values(self) == values(other)) if other.__class__ is self.__class__ else NotImplemented

    def by_value(self: object) -> int:
        return hash(values(self))

    return same, by_value
