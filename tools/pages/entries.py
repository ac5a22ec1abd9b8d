"""Docstrings of the source as markdown: entries ``name: meaning`` become lists, so that a page shows them as such."""

from __future__ import annotations

import inspect
import re

_NAMES = r"\*{0,2}[a-z_]\w*(?:, \*{0,2}[a-z_]\w*)*"
_ENTRY = re.compile(rf"{_NAMES}: .*")
_WITHIN = re.compile(rf"(?<=\. )(?={_NAMES}: )")
_SENTENCE = ("Raises ", "Return ", "It ", "The ")
"""How a sentence begins that follows the entries and belongs to none of them."""


def as_markdown(text: str) -> str:
    """Return a docstring with each entry ``name: meaning`` as an item of a list.

    An entry begins a line, or follows another one in the same line. Its further lines belong to it.
    """
    lines: list[str] = []
    entries: list[str] = []
    for line in [*inspect.cleandoc(text).splitlines(), ""]:
        if _ENTRY.fullmatch(line):
            entries.append(line)
        elif entries and line and not (entries[-1].endswith(".") and line.startswith(_SENTENCE)):
            entries[-1] += " " + line.strip()
        else:
            lines += [*_items(entries), line]
            entries = []
    return re.sub(r"``(?!`)([^`]+)``", r"`\1`", "\n".join(lines).rstrip())


def _items(entries: list[str]) -> list[str]:
    """Return entries as items of a list, with blank lines around them."""
    each = [one.partition(": ") for entry in entries for one in _WITHIN.split(entry)]
    items = [f"- **{name.replace('*', chr(92) + '*')}**: {meaning.strip()}" for name, _, meaning in each]
    return ["", *items, ""] if items else []
