"""Run tests of the native library under clang's sanitizers: ``python -m tools.sanitize_native [TEST …]``.

It builds the library with Debian's clang twice, once with AddressSanitizer and UBSan and once with ThreadSanitizer, and
runs the tests with each: those in C++, and then those in Python. A finding ends the tests at once and is printed.
Needs: ``apt-get install clang doctest-dev``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from qsim_ex.native.library import instruction_sets
from tools import native

COMPILER = "clang++"
TESTS = (
    "tests/devices/cpu",
    "tests/kernels/cpu",
    "tests/kernels/cuda/interpret",
    "tests/kernels/cuda/launch",
    "tests/circuit",
    "tests/planning/test_compiled.py",
    "tests/planning/test_drawn_plans.py",
    "tests/planning/form",
    "tests/planning/test_resumed.py",
    "tests/planning/test_rules.py",
    "tests/planning/test_candidates.py",
    "tests/planning/linear",
    "tests/planning/coefficients",
    "tests/planning/rewrite",
    "tests/planning/stages",
    "tests/planning/tiles",
    "tests/observe",
    "tests/run/gradients/test_gradient.py",
    "tests/run/test_narrow_density.py",
    "tests/run/test_trajectories.py",
    "tests/qsim_ex_cirq/test_halves.py",
    "tests/qsim_ex_cirq/test_separate_parts.py",
    "tests/qsim_ex_cirq/translation/test_native_columns.py",
    "tests/qsim_ex_cirq/translation/test_recorded.py",
    "tests/qsim_ex_cirq/translation/test_repeated.py",
    "tests/qsim_ex_provider/translation/test_native_columns.py",
    "tests/qsim_ex_provider/translation/test_repeated.py",
)
"""The fastest tests that reach 99 % of the lines of native code (decision 0018); all others reach no more."""

UNFIT = "tests/devices/cpu/test_shared.py::test_pages_of_others_do_not_stay"
"""A test that measures the memory of the process, of which sanitizers take a part."""

OLDER = ("tests/devices/cpu/test_device.py", "tests/devices/cpu/test_shared.py")
"""Tests of kernels that are run again with each older instruction set."""
SANITIZERS = {"address,undefined": "asan", "thread": "tsan"}
"""Each choice of sanitizers, and the folder of what is built with it."""

OPTIONS = {
    "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0",  # Python itself frees little at its end
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "allocator_may_return_null=1:halt_on_error=1:report_signal_unsafe=0:die_after_fork=0",
    "PYTHONMALLOC": "malloc",  # so that memory of Python is checked too
    "OPENBLAS_NUM_THREADS": "1",
}

SUPPRESSED = "called_from_lib:_accelerate.abi3.so\n"
"""What ThreadSanitizer passes over: calls from Qiskit's library, which is not built for it."""

LAUNCHER = """
#include <Python.h>
int main(int count, char** words) { return Py_BytesMain(count, words); }
"""

RUN = """
import sys
from pathlib import Path
from qsim_ex.native import library
library.FILE = Path(sys.argv[1])
import pytest
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--capture=sys", "--deselect", *sys.argv[2:]]))
"""


def launcher(sanitize: str, folder: Path) -> Path:
    """Compile a Python whose process begins with the runtime of some sanitizers, as theirs have to."""
    source, made = folder / "python.cpp", folder / "python"
    source.write_text(LAUNCHER)
    config = sysconfig.get_config_vars()
    libraries = [f"-L{config['LIBDIR']}", f"-Wl,-rpath,{config['LIBDIR']}", f"-lpython{config['LDVERSION']}"]
    flags = [f"-fsanitize={sanitize}", "-rdynamic", f"-I{config['INCLUDEPY']}"]
    command = [COMPILER, *flags, str(source), *libraries, "-ldl", "-lm", "-lutil", "-o", str(made)]
    subprocess.run(command, check=True)
    return made


def run(sanitize: str, tests: Sequence[str]) -> int:
    """Build with some sanitizers and run tests; return the exit status."""
    folder = native.ROOT / "build" / SANITIZERS[sanitize]
    library = native.build(output=folder / "libqsim_ex.so", compiler=COMPILER, sanitize=sanitize)
    program = native.build_tests(COMPILER, sanitize)
    alone = {**os.environ, **OPTIONS, "ASAN_OPTIONS": OPTIONS["ASAN_OPTIONS"].replace("leaks=0", "leaks=1")}
    if status := subprocess.run(["setarch", "-R", str(program)], env=alone, check=False).returncode:
        return status
    ours = (native.ROOT / "core", native.ROOT, native.ROOT / "tests", sysconfig.get_path("purelib"))
    found = {"PYTHONHOME": sys.base_prefix, "PYTHONPATH": os.pathsep.join(map(str, ours))}
    # ThreadSanitizer needs memory where it expects it, hence no random addresses.
    command = ["setarch", "-R", str(launcher(sanitize, folder)), "-c", RUN, str(library), UNFIT]
    suppressed = folder / "suppressed.txt"
    suppressed.write_text(SUPPRESSED)
    environment = {**os.environ, **OPTIONS, **found}
    environment["TSAN_OPTIONS"] += f":suppressions={suppressed}"
    best, *older = instruction_sets()
    status = 0
    for chosen, these in [(best, tests), *((one, OLDER) for one in older if tuple(tests) == TESTS)]:
        print(sanitize, chosen, *these, flush=True)
        own = {**environment, "QSIM_EX_INSTRUCTION_SET": chosen}
        status = max(status, subprocess.run([*command, *these], env=own, cwd=native.ROOT, check=False).returncode)
    return status


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Run tests of the native library under sanitizers.")
    parser.add_argument("tests", nargs="*", default=TESTS, help="arguments for pytest")
    parser.add_argument("--only", choices=SANITIZERS, help="one choice of sanitizers; all by default")
    given, others = parser.parse_known_args()
    if shutil.which(COMPILER) is None:
        parser.error(f"expected {COMPILER} on this machine; install it with: apt-get install clang")
    chosen = [given.only] if given.only else list(SANITIZERS)
    return max(run(sanitize, [*given.tests, *others]) for sanitize in chosen)


if __name__ == "__main__":
    sys.exit(main())
