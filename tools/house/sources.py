"""What rules are made from: parsed source files, findings in them, and the line that a rule prints."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tools.packages import packages

ROOT = Path(__file__).resolve().parents[2]
ENGINE = "core/qsim_ex/"
PACKAGES = tuple(f"{folder}/" for folder in packages())

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Finding(NamedTuple):
    """A place in the source that breaks a rule."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.what}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with what was found; it is kept if nothing breaks it.

    number: what was counted, in words. goal: what the number should be.
    """

    name: str
    number: str
    goal: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A source file. path: from the repository's root, with slashes. lines: how many it has."""

    path: str
    tree: ast.Module
    lines: int
    text: str

    @classmethod
    def parse(cls, path: str, text: str) -> Source:
        """Parse the text of a file."""
        return cls(path, ast.parse(text), len(text.splitlines()), text)

    @property
    def module(self) -> str:
        """The name by which the file is imported."""
        return self.path.removeprefix("core/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def find(self, node: ast.stmt | ast.expr | ast.pattern, what: str) -> Finding:
        """Return a finding at a node of this file."""
        return Finding(self.path, node.lineno, what)

    def functions(self) -> Iterator[Function]:
        """Yield every function and method, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def classes(self) -> Iterator[ast.ClassDef]:
        """Yield every class, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))

    def calls(self) -> Iterator[ast.Call]:
        """Yield every call."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))


def read(root: Path = ROOT) -> tuple[Source, ...]:
    """Parse all modules of the engine and of the frameworks' packages."""
    return tuple(
        Source.parse(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    )


def last_name(node: ast.AST) -> str:
    """The name at the end of an expression: ``steps`` of ``steps``, of ``plan.steps`` and of ``plan().steps``."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
