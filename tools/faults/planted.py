"""Plants faults into native code of the planner: a copy of the checkout is compiled with one, and circuits are drawn
and compared there until one is wrong.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tools import native

PLANNER = "core/native/planner"


class Fault(NamedTuple):
    """A line of a source, which it has once, and what stands there instead. folder: the source's, in `PLANNER`."""

    file: str
    right: str
    wrong: str
    folder: str = "form"

    @property
    def path(self) -> Path:
        """The source's path in a checkout."""
        return Path(PLANNER, self.folder, self.file)

    def planted(self) -> str:
        """Return the source with the fault in it; raises `ValueError` if its line is not there once."""
        text = (native.ROOT / self.path).read_text(encoding="utf-8")
        if text.count(self.right) != 1:
            raise ValueError(f"expected once in {self.file}: {self.right}")
        return text.replace(self.right, self.wrong)


def search(count: int, name: str, fault: Fault, kind: tuple[str, ...]) -> tuple[Counter[str], list[str]]:
    """Plant a fault; return after how many circuits of a kind it was found, or that it was not."""
    folder = _copy()
    source = folder / fault.path
    with _as_it_was(folder, source):
        source.write_text(fault.planted(), encoding="utf-8")
        _run(folder, "-m", "tools.native").check_returncode()
        ended = _run(folder, "-c", f"from tools.faults.planted import first; print(first({count}, {kind}))")
    if ended.returncode:
        return Counter({f"process ended with {ended.returncode}": 1}), []
    found = ended.stdout.split()[-1]
    if found == "None":
        return Counter(), [f"{name}: not found within {count} circuits"]
    return Counter({f"found after {found} circuits": 1}), []


def first(count: int, kind: tuple[str, ...]) -> int | None:
    """Return after how many circuits of a kind something differs, or None."""
    from tools.fuzz.kinds import drawn
    from tools.fuzz.run import outcome_of, quiet

    quiet()
    return next((seed + 1 for seed in range(count) if outcome_of(drawn(seed, kind)).trouble), None)


@lru_cache(maxsize=1)
def _copy() -> Path:
    """Return a folder with a copy of the checkout, which is there until the process ends."""
    from tools.mutants.runner import copy

    folder = _UNTIL_THE_END.enter_context(tempfile.TemporaryDirectory())
    copy(Path(folder))
    return Path(folder)


_UNTIL_THE_END = ExitStack()


@contextmanager
def _as_it_was(folder: Path, source: Path) -> Iterator[None]:
    """Put a source and its objects back, so that nothing is compiled twice."""
    objects = folder / "build/native" / platform.machine()
    stem = objects / source.relative_to(folder / "core/native").with_suffix("")
    before = {file: file.read_bytes() for file in [source, *stem.parent.glob(f"{stem.name}.*")]}
    try:
        yield
    finally:
        for file, content in before.items():
            file.write_bytes(content)


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder / "core"), str(folder)])
    env = {**os.environ, "PYTHONPATH": paths, "QSIM_EX_FUZZ_DEVICES": "cpu"}
    env.pop("QSIM_EX_OBJECTS", None)
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=env, text=True, stdout=subprocess.PIPE, check=False
    )
