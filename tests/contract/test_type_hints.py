"""What users call says its types to programs as well: `typing.get_type_hints` finds every name in its annotations."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from functools import partial
from types import FunctionType
from typing import Any, get_type_hints

import pytest

_OURS = {"qsim_ex": "numpy", "qsim_ex_provider": "qiskit", "qsim_ex_cirq": "cirq"}
"""Our packages, and what each cannot be imported without."""


def _is_ours(one: Any) -> bool:
    return str(one.__module__).partition(".")[0] in _OURS


def _methods(cls: type) -> Iterator[FunctionType]:
    """Yield the methods and properties of a class that users may call, with those that it inherits from us."""
    for base in filter(_is_ours, cls.__mro__):
        for name, attribute in vars(base).items():
            one: Any = attribute
            for inner in ("fget", "func", "__func__", "__wrapped__"):  # of properties, cached ones, class methods
                one = getattr(one, inner, one)
            if isinstance(one, FunctionType) and _is_ours(one) and (name == "__init__" or not name.startswith("_")):
                yield one


@pytest.mark.parametrize("module", [*_OURS, "qsim_ex.errors", "qsim_ex.options", "qsim_ex.reference"])
def test_all_annotations_can_be_looked_up(module: str) -> None:
    """Every public class, function and method has type hints, also where a name of them is imported for them alone."""
    pytest.importorskip(_OURS[module.partition(".")[0]])
    package = importlib.import_module(module)
    listed = getattr(package, "__all__", None)
    public = [
        one for one in map(partial(getattr, package), listed or vars(package)) if isinstance(one, type | FunctionType)
    ]
    asked = 0
    told = []
    for one in public:
        if not (_is_ours(one) if listed else one.__module__.startswith(module)):
            continue
        for part in (one, *(_methods(one) if inspect.isclass(one) else ())):
            asked += 1
            try:
                get_type_hints(part)
            except (AttributeError, NameError, TypeError) as error:
                told.append(f"{part.__module__}.{part.__qualname__}: {error}")
    assert asked > 10
    assert not told, "\n".join(told)
