"""Check one room: ``python -m tools.room planning`` runs its style, its types, and the tests that reach it.

A room is a package of core/qsim_ex, a package beside it, or a room of core/native (``native/planner``). A test reaches
a room where it stands in the folder of that name, or where its file, or a helper of tests that this imports, imports
the room. What reaches it through others alone, as whole runs reach everything, is left to ``./check``.

    python -m tools.room            # the rooms, and how many files of tests reach each
    python -m tools.room NAME -x    # further arguments are pytest's
"""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tools.packages import packages

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
NATIVE = ROOT / "core/native"
HELPERS = ("support", "contract")
"""Folders of tests whose modules other tests import."""

APART = "ecosystem"
"""The folder of tests that run in environments of their own."""

OF_NATIVE: Mapping[str, tuple[str, ...]] = {
    "thresholds": ("native", "thresholds"),
    "base": ("native",),
    "kernels": ("native", "kernels/cpu"),
    "readers": ("native", "qsim_ex_provider/translation", "qsim_ex_cirq/translation"),
    "planner": ("native", "planning"),
}
"""For each room of native code the folders of tests in Python that call it."""


def rooms() -> dict[str, str]:
    """Return the folder of each room by its name: of the engine, of each framework, of native code."""
    found: dict[str, str] = {}
    for package in packages():
        if package.startswith("core/"):
            inner = sorted(path.parent for path in (ROOT / package).glob("*/__init__.py"))
            found |= {path.name: path.relative_to(ROOT).as_posix() for path in inner}
        else:
            found[package] = package
    return found | {f"native/{name}": f"core/native/{name}" for name in OF_NATIVE}


def tests_of(name: str) -> list[str]:
    """Return the folders and files of tests that reach a room, relative to the checkout."""
    if name.startswith("native/"):
        return [f"tests/{folder}" for folder in OF_NATIVE[name.removeprefix("native/")]]
    module = name if name in packages() else f"qsim_ex.{name}"
    own = [f"tests/{name}"] if (TESTS / name).is_dir() else []
    others = [
        path for path in sorted(TESTS.rglob("test_*.py")) if path.relative_to(TESTS).parts[0] not in (name, APART)
    ]
    return [*own, *(path.relative_to(ROOT).as_posix() for path in others if reaches(path, module))]


def reaches(path: Path, module: str) -> bool:
    """Return whether a file of tests, or a helper that it imports, imports a package or something in it."""
    return any(imported == module or imported.startswith(f"{module}.") for imported in every_import(path))


@functools.cache
def every_import(path: Path) -> frozenset[str]:
    """Return what a file of tests imports, and the helpers that it imports, and theirs."""
    seen, waiting, found = {path}, [path], set[str]()
    for one in waiting:  # which grows meanwhile
        for imported in imports(one) - found:
            found.add(imported)
            helper = TESTS.joinpath(*imported.split(".")).with_suffix(".py")
            if imported.startswith(HELPERS) and helper.is_file() and helper not in seen:
                seen.add(helper)
                waiting.append(helper)
    return frozenset(found)


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """Return the modules that a file imports, with each name that it takes from one, which may be a module too."""
    return frozenset(_imports(ast.parse(path.read_text(encoding="utf-8"))))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)


def commands(name: str, more: Sequence[str] = ()) -> list[list[str]]:
    """Return what checks a room, in this order; more: arguments of pytest. Raises `SystemExit` for an unknown room."""
    known = rooms()
    if name not in known:
        raise SystemExit(f"expected a room, got {name!r}; pass one of {', '.join(known)}.")
    folder = known[name]
    if folder.startswith("core/native/"):
        checks = [["native", "--test", f"--source-file=*{folder.removeprefix('core/native/')}/*"]]
        quick = [[sys.executable, "-m", f"tools.{module}", *words] for module, *words in (["lint_native"], *checks)]
    else:
        quick = [["ruff", "format", "--check", folder], ["ruff", "check", folder], ["mypy", folder]]
    return [*quick, ["pytest", "-q", "-n", "auto", "--dist", "worksteal", *more, *tests_of(name)]]


def main(words: Sequence[str]) -> int:
    """Check a room until something fails, and return its status; without a name, list the rooms."""
    if not words:
        for name in rooms():
            print(f"{name}: {len(tests_of(name))} folders and files of tests")
        return 0
    for command in commands(words[0], words[1:]):
        print(f"\n== {' '.join(command[:6])}{' …' * (len(command) > 6)}", flush=True)
        if status := subprocess.run(command, cwd=ROOT, check=False).returncode:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
