"""One case of the fuzzer: a program as text, the options that it runs with, and what is asked of it.

A program is Python text, so the same lines build a circuit for the product and one for the oracle, they can be printed
as they are, and shrinking is editing. Wires are always written ``q[k]`` and classical bits ``c[k]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any

WIRE = re.compile(r"\bq\[(\d+)\]")
BIT = re.compile(r"\bc\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Line:
    """A statement of a program; one with a body ends in a colon and its body stands below it."""

    text: str
    body: tuple[Line, ...] = ()

    def source(self, indent: str = "") -> Iterator[str]:
        """The statement and its body as lines of Python."""
        yield indent + self.text
        for line in self.body:
            yield from line.source(indent + "    ")

    def renumbered(self, pattern: re.Pattern[str], name: str, numbers: Mapping[int, int]) -> Line:
        """The same statement on other wires or classical bits."""
        text = pattern.sub(lambda found: f"{name}[{numbers[int(found[1])]}]", self.text)
        return Line(text, tuple(line.renumbered(pattern, name, numbers) for line in self.body))


@dataclass(frozen=True, slots=True)
class Case:
    """A program on some wires and classical bits, with options of the product and what is asked.

    kind: the name of the check that the case is for. ask: what that check needs to know besides.
    """

    kind: str
    wires: int
    bits: int
    program: tuple[Line, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    ask: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The program as Python."""
        return "\n".join(text for line in self.program for text in line.source())

    def run(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """Execute the program with some names; returns all names that it leaves."""
        space = dict(names)
        exec(_compiled(self.source), space)
        return space

    def script(self) -> str:
        """Python that repeats the check of this case."""
        lines = ["from tools.fuzz.replay import replay", "", "replay(", f"    kind={self.kind!r},"]
        lines += [f"    wires={self.wires},", f"    bits={self.bits},"]
        lines += [f"    options={dict(self.options)!r},", f"    ask={dict(self.ask)!r},", '    program="""']
        return "\n".join([*lines, self.source, '""",', ")"])


@lru_cache(maxsize=256)
def _compiled(source: str) -> CodeType:
    return compile(source, "<fuzzed>", "exec")


def parse(source: str) -> tuple[Line, ...]:
    """The lines of a program from its text, where four spaces lead one level deeper."""
    return tuple(_block([text for text in source.splitlines() if text.strip()], ""))


def _block(texts: Sequence[str], indent: str) -> Iterator[Line]:
    at = 0
    while at < len(texts):
        end = at + 1
        while end < len(texts) and texts[end].startswith(indent + "    "):
            end += 1
        yield Line(texts[at][len(indent) :], tuple(_block(texts[at + 1 : end], indent + "    ")))
        at = end


def used(pattern: re.Pattern[str], case: Case) -> list[int]:
    """The wires or classical bits that a program, or what is asked, names."""
    return sorted({int(found) for found in pattern.findall(case.source)})
