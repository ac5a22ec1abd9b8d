"""Rooms of native code: which may include which, and how many files each has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from tools.house.sources import ROOT, Finding, Rule

NATIVE = "core/native/"
BELOW: Mapping[str, frozenset[str]] = {
    "thresholds": frozenset({"thresholds"}),
    "base": frozenset({"thresholds", "base"}),
    "kernels": frozenset({"thresholds", "base", "kernels"}),
    "readers": frozenset({"thresholds", "base", "readers"}),
    "planner": frozenset({"thresholds", "base", "kernels", "readers", "planner"}),
}
"""For each room those that its files may include; what lies in none stands above all."""

FILES = 25
TABLE = "exports.def"  # which any room may include
_INCLUDED = re.compile(r'^#include "(.+)"$')


def native_files(root: Path = ROOT) -> dict[str, str]:
    """Return the text of every file of native code by its path from `NATIVE`."""
    folder = root / NATIVE
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def includes(files: Mapping[str, str]) -> Rule:
    """Find includes that lead neither to the own room nor to one below, or to no file.

    An include names a header by its path from core/native.
    """
    found: list[Finding] = []
    count = 0
    for path, text in files.items():
        allowed = BELOW.get(PurePosixPath(path).parts[0], BELOW.keys())
        for line, name in (
            (k, match[1]) for k, row in enumerate(text.splitlines(), 1) if (match := _INCLUDED.match(row))
        ):
            count += 1
            if name not in files:
                found.append(Finding(NATIVE + path, line, f"includes {name}, which is not there"))
            elif name != TABLE and PurePosixPath(name).parts[0] not in allowed:
                found.append(Finding(NATIVE + path, line, f"includes {name}, which stands above it"))
    return Rule("includes that leave their room upwards", f"{len(found)} of {count}", "0", tuple(found))


def folder_files(files: Mapping[str, str]) -> Rule:
    """Count the files of each folder, tests among them: a reader finds a file by looking."""
    counts = Counter(str(PurePosixPath(path).parent) for path in files)
    most = max(counts, key=lambda folder: counts[folder])
    found = tuple(Finding(NATIVE + folder, 1, f"{n} files") for folder, n in sorted(counts.items()) if n > FILES)
    return Rule("files of a folder of native code", f"most {counts[most]} ({most})", f"at most {FILES}", found)
