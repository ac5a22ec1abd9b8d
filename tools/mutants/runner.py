"""Tells what becomes of a mutant: a copy of the checkout, the mutant in it, and the tests that reach it."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tools.mutants import equivalent, sampled
from tools.mutants.mutant import Mutant, Result
from tools.mutants.reach import ROOT

FRAMEWORKS = ("numpy", "pytest", "hypothesis", "scipy", "sympy", "qiskit", "cirq")
"""What is imported once, since tests import it and no mutant is in it."""

CHUNKS = ((12, 1.5), (60, 8.0), (120, 20.0))
"""Up to how many tests, and how many seconds of them, are run together: first the nearest."""

SLOWER = 3
"""How many times longer tests may take than when they were noted, on a machine that does other things too."""

LEAST_SECONDS = 20.0
"""How much of a processor's time tests may take at least, until they count as some that never end."""

NOT_FOUND = 4
"""The status of pytest that runs no test at all, since it does not find one of them."""

FUNCTIONS = 12
"""Of how many tests all cases are run before a mutant counts as a survivor."""


class Checkout:
    """A folder in which tests run.

    imported: modules that are imported once for all of them. cores: those on which they run; all by default.
    mute: cases of tests that were seen to end the process, or their time, without a mutant too: they tell nothing.
    """

    def __init__(self, folder: Path, imported: Sequence[str] = FRAMEWORKS, cores: Sequence[int] = ()) -> None:
        self.folder = folder
        given = os.environ.get("PYTHONPATH", "").split(os.pathsep)  # where frameworks may be
        paths = os.pathsep.join([str(folder / "core"), str(folder), str(ROOT), *filter(None, given)])
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
        for name in (sampled.REACH, sampled.CORES, "PYTHONDONTWRITEBYTECODE"):
            env.pop(name, None)
        command = [sys.executable, "-m", "tools.mutants.server", ",".join(map(str, cores)), *imported]
        self._server = subprocess.Popen(
            command, cwd=folder, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._ages = itertools.count(1)
        self.mute: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def run(self, tests: Sequence[str], seconds: float) -> tuple[int, str]:
        """Run tests until one fails; return the status (0: all passed, -1: the time was over), and which failed.

        seconds: of a processor, that they may take.
        """
        self._server.stdin.write(json.dumps({"tests": list(tests), "seconds": seconds}) + "\n")
        self._server.stdin.flush()
        told = json.loads(self._server.stdout.readline())
        return told["code"], told["by"]

    def failing(self, tests: Sequence[str], seconds: float) -> set[str]:
        """Return those of some tests that fail in the product as it is; seconds: for all of them."""
        left, found = list(tests), set()
        while left:
            code, by = self.run(left, seconds)
            if code == 0:
                break
            by = by if by in left else left[0]  # one that ends the process or its time: the next try is without it
            found.add(by)
            left.remove(by)
        return found

    @contextmanager
    def holding(self, files: Mapping[str, bytes]) -> Iterator[None]:
        """Let files of the copy be others, and then as they were, of the same age."""
        before = [
            (self.folder / name, (self.folder / name).read_bytes(), (self.folder / name).stat()) for name in files
        ]
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
            os.utime(self.folder / name, (0, next(self._ages)))  # bytecode of a mutant fits no other source
        try:
            yield
        finally:
            for file, content, times in before:
                file.write_bytes(content)
                os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def copy(folder: Path) -> None:
    """Copy the sources, what they need, and the compiled objects; what is there and of the same age stays."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    built = [path.relative_to(ROOT) for path in (ROOT / "core/qsim_ex/native/built").glob("*.so")]
    objects = [path.relative_to(ROOT) for path in (ROOT / "build/native").rglob("*") if path.is_file()]
    for name in [*filter(None, names), *built, *objects]:
        source, target = ROOT / name, folder / name
        if not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        stands = target.is_file() and target.stat().st_mtime_ns == source.stat().st_mtime_ns
        if not (stands and target.stat().st_size == source.stat().st_size):
            shutil.copy2(source, target)


def chunks(tests: Sequence[str], seconds: Callable[[str], float], path: str) -> Iterator[list[str]]:
    """Cut tests, the nearest first, into what is run together; then all cases, and files named as the source is."""
    waiting = list(tests)
    for most, total in CHUNKS:
        chunk: list[str] = []
        while waiting and len(chunk) < most and sum(map(seconds, chunk)) < total:
            chunk.append(waiting.pop(0))
        if chunk:
            yield chunk
    functions = list(dict.fromkeys(name.split("[")[0] for name in tests if "[" in name))
    if functions:
        yield functions[:FUNCTIONS]
    if named := [str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob(f"test_{Path(path).stem}.py")]:
        yield sorted(named)


def outcome(
    tests: Checkout, mutant: Mutant, held: Mapping[str, bytes], names: Sequence[str], seconds: Callable[[str], float]
) -> Result:
    """Run a mutant's tests and say what became of it. held: its files. names: of tests. seconds: that one takes."""
    if equivalent.reason(mutant):
        return Result.of(mutant, "equivalent")
    began = time.monotonic()
    waiting = list(chunks(names, seconds, mutant.path))
    while waiting:
        chunk = [name for name in waiting.pop(0) if name not in tests.mute]
        if not chunk:
            continue
        limit = LEAST_SECONDS + SLOWER * sum(map(seconds, chunk))
        with tests.holding(held):
            code, by = tests.run(chunk, limit)
        known = tests.run(chunk, limit)[0] if code and not by else 0
        if known == NOT_FOUND:
            raise ValueError(f"expected tests that pytest finds, got {chunk}; delete what is noted of them in `reach`.")
        if code and known == 0:  # the product itself may be too slow for that limit
            by = by or ("time" if code in (-1, sampled.TOO_LONG) else "a crash" if code < 0 else "import")
            return Result.of(mutant, "killed", by, time.monotonic() - began)
        if code and len(chunk) > 1:  # one of them ends the product too, before the others are asked
            waiting[:0] = [chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]]
        elif code:
            tests.mute.update({*chunk} & {*names})
    return Result.of(mutant, "survived", seconds=time.monotonic() - began)
