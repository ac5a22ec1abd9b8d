"""Check the C++ of core/native with clang-format and clang-tidy: ``python -m tools.lint_native``.

Both come from PyPI (``pip install '.[dev]'``); `.clang-format` and `.clang-tidy` have the rules. The format of all
files takes a second. clang-tidy takes more than one for each source, so a source that it found clean is read again only
when it changed, or a header that it includes did, or the rules.

    python -m tools.lint_native --format        # format the files, and check nothing
    python -m tools.lint_native --unformatted   # only look for files that are not formatted
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tools import native

CLEAN = native.ROOT / "build/tidy"
"""For each source that is clean a file, with the digest of what was read."""


def unformatted(repair: bool) -> int:
    """Return the exit status of clang-format on all files, which it writes anew if they are to be repaired."""
    files = sorted(str(file) for file in native.SOURCES.rglob("*.?pp"))
    how = ["-i"] if repair else ["--dry-run", "-Werror"]
    return subprocess.run(["clang-format", *how, *files], check=False).returncode


def untidy() -> int:
    """Return how many sources clang-tidy has something to say of, and print it."""
    rules = (native.ROOT / ".clang-tidy").read_text() + importlib.metadata.version("clang-tidy")
    first: dict[str, native.Job] = {}  # of a kernel one instruction set is enough
    for job in native.jobs(platform.machine(), foreign=True, digest="none"):
        first.setdefault(job.source, job)

    def look(job: native.Job) -> bool:
        words = [*native.FLAGS, *job.flags]
        key, clean = job.key(words, rules), CLEAN / f"{job.source}.key"
        if clean.exists() and clean.read_text() == key:
            return True
        command = ["clang-tidy", "--quiet", job.source, "--", *words]
        done = subprocess.run(command, cwd=native.SOURCES, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stdout, done.stderr, sep="", flush=True)
            return False
        clean.parent.mkdir(parents=True, exist_ok=True)
        clean.write_text(key)
        return True

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(not clean for clean in pool.map(look, first.values()))


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Check the C++ of core/native.")
    parser.add_argument("--format", action="store_true", help="format the files, and check nothing")
    parser.add_argument("--unformatted", action="store_true", help="only look for files that are not formatted")
    given = parser.parse_args()
    if given.format:
        return unformatted(repair=True)
    status, found = unformatted(repair=False), 0 if given.unformatted else untidy()
    if status:
        print("Format the C++ with: python -m tools.lint_native --format")
    if not given.unformatted:
        print(f"C++: {found} sources with findings")
    return int(bool(status or found))


if __name__ == "__main__":
    sys.exit(main())
