"""Values of the source in markdown: tables, types, defaults, meanings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin


def table(heads: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """Return a table in markdown."""
    heads = list(heads)
    cells = [[" ".join(str(cell).split()).replace("|", "\\|") for cell in line] for line in lines]
    text = [heads, ["---"] * len(heads), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in text)


def type_of(annotation: Any) -> str:
    """Return a type as a reader writes it: names of choices in full, without modules."""
    if choices := [one for one in get_args(annotation) if isinstance(one, str)]:
        return ", ".join(f'`"{one}"`' for one in choices)
    if get_origin(annotation) in (Union, UnionType):
        return " or ".join(type_of(one) for one in get_args(annotation))
    if annotation is NoneType:
        return "`None`"
    text = inspect.formatannotation(annotation)
    for module in ("collections.abc.", "os.", "typing.", "qsim_ex.options.", "concurrent.futures.", "numpy."):
        text = text.replace(module, "")
    return " or ".join(f"`{one}`" for one in text.replace("_base.", "").split(" | "))


def default_of(value: Any) -> str:
    """Return a default as a reader writes it."""
    if isinstance(value, type):
        return f"`{value.__module__}.{value.__name__}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value!r}`"


def sentence(text: str) -> str:
    """Return a meaning as it stands in a docstring, with a capital unless it begins with a symbol or a dtype."""
    word = text.split(" ", 1)[0].rstrip(",")
    text = re.sub(r"\bdocs/(\w+)\.md\b", r"[\1](../\1.md)", text).replace("[several_processes]", "[several processes]")
    return text[:1].upper() + text[1:] if word.isascii() and word.isalpha() else text
