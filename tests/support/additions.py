"""Additions planted in a copy of the source, to see which files an addition touches, and that the product runs with it.

The copy is made of links to the files of this checkout; what a plant touches are files of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("core/qsim_ex", "qsim_ex_provider")


@dataclass(frozen=True)
class Plant:
    """An addition.

    rows: for each file that it changes, texts of the file and what stands in the place of each. files: for each new
    file its text. run: a program that uses the addition, and prints nothing unless it fails.
    """

    rows: Mapping[str, Sequence[tuple[str, str]]]
    run: str
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def touched(self) -> list[str]:
        """Every file that the addition changes or makes."""
        return sorted({*self.rows, *self.files})

    def grow(self, root: Path) -> None:
        """Make the copy; raises `AssertionError` for a text that a file does not have exactly once."""
        for package in PACKAGES:
            for path in (ROOT / package).rglob("*"):
                to = root / path.relative_to(ROOT)
                if path.is_file() and "__pycache__" not in path.parts:
                    to.parent.mkdir(parents=True, exist_ok=True)
                    os.link(path, to) if path.stat().st_dev == root.stat().st_dev else to.symlink_to(path)
        for name, changes in self.rows.items():
            text = (ROOT / name).read_text(encoding="utf-8")
            for before, after in changes:
                assert text.count(before) == 1, f"{name} has {before!r} {text.count(before)} times"
                text = text.replace(before, after)
            self._write(root / name, text)
        for name, text in self.files.items():
            self._write(root / name, text)

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # a link, whose file stays as it is
        path.write_text(text, encoding="utf-8")

    def try_in(self, root: Path) -> str:
        """Grow in a folder, run there, and return what that printed: the output of a failure."""
        self.grow(root)
        paths = os.pathsep.join(map(str, (root / "core", root, ROOT / "tests")))
        given = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        where = "import qsim_ex, pathlib\nassert pathlib.Path(qsim_ex.__file__).is_relative_to({!r})\n"
        code = where.format(str(root)) + self.run
        ran = subprocess.run(
            [sys.executable, "-c", code], env=given, capture_output=True, text=True, check=False, cwd=root
        )
        return ran.stdout + ran.stderr
