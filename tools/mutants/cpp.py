"""Mutants of C++: one operator, number or statement of one source changed. Their sources are laid out by clang-format.

So a sign between two spaces is an operator of two operands, and no pointer, reference or template.
"""

from __future__ import annotations

import platform
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools import native as built
from tools.mutants.mutant import Mutant, Result, differing
from tools.mutants.reach import ROOT, Reach
from tools.mutants.runner import Checkout, outcome
from tools.room import NATIVE, OF_NATIVE

ROOMS = ("planner", "kernels", "readers", "base")

WHOLE = ("tests/circuit/", "tests/run/", "tests/test_simulator.py", "tests/placement/")
"""Tests in Python that run whatever native code there is."""

BUILD = (sys.executable, "-m", "tools.native")

SIGNS = {
    "<": "<= >",
    "<=": "< >",
    ">": ">= <",
    ">=": "> <",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "/",
    "<<": ">>",
    ">>": "<<",
    "&": "| ^",
    "|": "& ^",
    "^": "| &",
    "&&": "||",
    "||": "&&",
    "+=": "-=",
    "-=": "+=",
    "*=": "+=",
    "|=": "&= =",
    "&=": "|= =",
    "^=": "|= =",
    "<<=": ">>=",
    ">>=": "<<=",
}
"""What may stand in the place of a sign between two spaces."""

_HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^#.*?$', re.DOTALL | re.MULTILINE)
_SIGN = re.compile(rf"(?<= )(?:{'|'.join(map(re.escape, sorted(SIGNS, key=len, reverse=True)))})(?= )")
_STEP = re.compile(r"\+\+|--")
_NOT = re.compile(r"!(?=[\w(])")
_WORD = re.compile(r"\b(?:true|false|break|continue)\b")
_NUMBER = re.compile(r"(?<![\w.'])\d+(?![\w.'x])")
_STATEMENT = re.compile(
    r"^ +(?:[\w.\[\]]|->)+ (?:[-+*|&^]|<<|>>)?= [^;{}]*;$|^ +(?:\w|[.:]|->)+\([^;{}]*\);$", re.MULTILINE
)

WORDS = {"true": "false", "false": "true", "break": "continue", "continue": "break", "++": "--", "--": "++"}


def places(text: str) -> dict[str, list[tuple[int, int, tuple[str, ...]]]]:
    """Return where a source can be changed: by kind the start and the end of each place, and what may stand there."""
    code = _HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return {
        "sign": [(*found.span(), tuple(SIGNS[found[0]].split())) for found in _SIGN.finditer(code)],
        "word": [(*found.span(), (WORDS[found[0]],)) for rule in (_STEP, _WORD) for found in rule.finditer(code)],
        "not": [(*found.span(), ("",)) for found in _NOT.finditer(code)],
        "number": [(*found.span(), (str(int(found[0]) + 1),)) for found in _NUMBER.finditer(code)],
        "statement": [(*found.span(), (";",)) for found in _STATEMENT.finditer(code)],
    }


def drawn(seed: int, rooms: Sequence[str] = ROOMS) -> Iterator[Mutant]:
    """Yield mutants of sources of native code, a room after another, for ever."""
    streams = [_of_room(room, random.Random(f"{room} {seed}")) for room in rooms]
    while True:
        yield from map(next, streams)


def _of_room(room: str, rng: random.Random) -> Iterator[Mutant]:
    files = [file for file in sorted((NATIVE / room).rglob("*.cpp")) if not file.name.endswith(built.TEST)]
    seen: set[str] = set()
    while True:
        file = rng.choices(files, [file.stat().st_size for file in files])[0]
        mutant = changed(file.read_text(encoding="utf-8"), str(file.relative_to(ROOT)), f"native/{room}", rng)
        if mutant and mutant.name not in seen:
            seen.add(mutant.name)
            yield mutant


def changed(text: str, path: str, room: str, rng: random.Random) -> Mutant | None:
    """Draw one change of a source, None if it has no place of the kind that was drawn."""
    found = places(text)
    kind = rng.choices(list(found), (6, 2, 2, 3, 3))[0]
    if not found[kind]:
        return None
    start, end, others = rng.choice(found[kind])
    mutated = text[:start] + rng.choice(others) + text[end:]
    line = text.count("\n", 0, start) + 1
    return Mutant(path, room, line, line, kind, *differing(text, mutated), mutated)


def outcome_of(tests: Checkout, mutant: Mutant, reach: Reach, compiler: str = "") -> Result | None:
    """Compile a mutant and run the tests in C++, then those in Python; None if it does not compile.

    compiler: "" for the one of ziglang.
    """
    library = tests.folder / built.library().relative_to(ROOT)
    objects = tests.folder / "build/native" / "-".join(filter(None, [platform.machine(), compiler]))
    build = [*BUILD, "--compiler", compiler]
    source = {mutant.path: mutant.text.encode()}
    with _kept(objects, mutant.path, library), tests.holding(source):
        if _run(tests.folder, [*build, "--test", "--count"], 900):
            return None
        began = time.monotonic()
        if _run(tests.folder, [str(objects / "tests"), "--abort-after=1"], 120):
            return Result.of(mutant, "killed", "tests in C++", time.monotonic() - began)
        _run(tests.folder, build, 900)
        changed_library = library.read_bytes()
    held = source | {str(library.relative_to(tests.folder)): changed_library}
    return outcome(tests, mutant, held, names(reach, mutant.room), reach.length)


def names(reach: Reach, room: str) -> list[str]:
    """Return the tests in Python of a room of native code, the quickest first, and then whole runs."""
    own = tuple(f"tests/{name}/" for name in OF_NATIVE[room.removeprefix("native/")])
    found = {name: not name.startswith(own) for name in reach.seconds if name.startswith((*own, *WHOLE))}
    return sorted(found, key=lambda name: (found[name], reach.seconds[name]))


def _run(folder: Path, command: Sequence[str], seconds: float) -> int:
    """Run a command in the copy and return its status; -1 if its time was over."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    try:
        return subprocess.run(command, cwd=folder, timeout=seconds, check=False, **quiet).returncode
    except subprocess.TimeoutExpired:
        return -1


@contextmanager
def _kept(objects: Path, source: str, library: Path) -> Iterator[None]:
    """Put the objects of a source, and the library, back as they were, so that nothing is compiled twice."""
    stem = objects / Path(source).relative_to("core/native").with_suffix("")
    files = [*stem.parent.glob(f"{stem.name}.*"), *objects.glob("library.*"), library]
    before = {file: file.read_bytes() for file in files}
    try:
        yield
    finally:
        for file, content in before.items():
            file.write_bytes(content)
