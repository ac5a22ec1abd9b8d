"""Run tests of the native library under clang's sanitizers: ``python -m tools.sanitize_native [TEST …]``.

It builds the library with Debian's clang twice, once with AddressSanitizer and UBSan and once with ThreadSanitizer, and
runs the tests with each. A finding ends the tests at once and is printed. Needs: ``apt-get install clang``.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools import native

COMPILER = "clang++"
TESTS = ("tests/devices/cpu", "tests/kernels/cpu")
RUNTIMES = {"address,undefined": "asan", "thread": "tsan"}
"""The runtime library that a process must begin with, for each choice of sanitizers."""

OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",  # Python itself frees little at its end
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:report_signal_unsafe=0",
    "PYTHONMALLOC": "malloc",  # so that arrays of Python are checked too
    "OPENBLAS_NUM_THREADS": "1",
}

RUN = """
import sys
from pathlib import Path
from qsim_ex.native import library
library.FILE = Path(sys.argv[1])
import pytest
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""


def runtime(name: str) -> str:
    """Return the path of a sanitizer's runtime library."""
    file = f"libclang_rt.{name}-{platform.machine()}.so"
    command = [COMPILER, f"-print-file-name={file}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def run(sanitize: str, tests: Sequence[str]) -> int:
    """Build with some sanitizers and run tests; return the exit status."""
    name = RUNTIMES[sanitize]
    library = native.build(output=native.ROOT / f"build/{name}/libqsim_ex.so", compiler=COMPILER, sanitize=sanitize)
    paths = os.pathsep.join(map(str, (native.ROOT / "core", native.ROOT, native.ROOT / "tests")))
    environment: Mapping[str, str] = {**os.environ, **OPTIONS, "LD_PRELOAD": runtime(name), "PYTHONPATH": paths}
    # ThreadSanitizer needs memory where it expects it, hence no random addresses.
    fixed = [shutil.which("setarch") or "setarch", "-R"]
    command = [*fixed, sys.executable, "-c", RUN, str(library), *tests]
    print(sanitize, *tests, flush=True)
    return subprocess.run(command, env=environment, cwd=native.ROOT, check=False).returncode


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Run tests of the native library under sanitizers.")
    parser.add_argument("tests", nargs="*", default=TESTS, help="arguments for pytest")
    parser.add_argument("--only", choices=RUNTIMES, help="one choice of sanitizers; all by default")
    given, others = parser.parse_known_args()
    if shutil.which(COMPILER) is None:
        parser.error(f"expected {COMPILER} on this machine; install it with: apt-get install clang")
    chosen = [given.only] if given.only else list(RUNTIMES)
    return max(run(sanitize, [*given.tests, *others]) for sanitize in chosen)


if __name__ == "__main__":
    sys.exit(main())
