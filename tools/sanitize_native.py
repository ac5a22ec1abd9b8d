"""Run tests of the native library under a compiler's sanitizers: ``python -m tools.sanitize_native [TEST …]``.

It builds the library twice, by clang++ or ``--compiler g++``, once with AddressSanitizer and UBSan and once with
ThreadSanitizer, and runs the tests with each: those in C++, and then those in Python, in ``--processes N`` that share
the files of tests. A finding ends a process's tests at once and is printed.
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

TESTS = (
    "tests/devices/cpu",
    "tests/kernels/cpu",
    "tests/kernels/cuda/interpret",
    "tests/kernels/cuda/launch",
    "tests/circuit",
    "tests/planning/test_native_planner.py",
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
    # Python itself frees little at its end. Where GCC 13 looks for uses after a return, it puts vectors of 64 bytes at
    # addresses at which they fault.
    "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0:detect_stack_use_after_return=0",
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


def launcher(compiler: str, sanitize: str, folder: Path) -> Path:
    """Compile a Python whose process begins with the runtime of some sanitizers, as theirs have to."""
    source, made = folder / "python.cpp", folder / "python"
    source.write_text(LAUNCHER)
    config = sysconfig.get_config_vars()
    libraries = [f"-L{config['LIBDIR']}", f"-Wl,-rpath,{config['LIBDIR']}", f"-lpython{config['LDVERSION']}"]
    flags = [f"-fsanitize={sanitize}", "-rdynamic", f"-I{config['INCLUDEPY']}"]
    command = [compiler, *flags, str(source), *libraries, "-ldl", "-lm", "-lutil", "-o", str(made)]
    subprocess.run(command, check=True)
    return made


def started(compiler: str, sanitize: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command of a Python that begins with the runtime of some sanitizers, and what its environment adds."""
    if "clang" in compiler:
        return [str(launcher(compiler, sanitize, folder))], {"PYTHONHOME": sys.base_prefix}
    # The runtime is a library of its own with GCC, and looks for `throw` as soon as it begins.
    names = (f"lib{SANITIZERS[sanitize]}.so", "libstdc++.so.6")
    asked = (subprocess.check_output([compiler, f"-print-file-name={name}"], text=True).strip() for name in names)
    return [sys.executable], {"LD_PRELOAD": ":".join(asked)}


def shares(tests: Sequence[str], processes: int) -> list[list[str]]:
    """Return the files of tests that each process runs; the tests as they are given, for one process."""
    if processes == 1:
        return [list(tests)]
    files = [file for test in tests for file in ([test] if "test_" in test else sorted(Path(test).rglob("test_*.py")))]
    largest = sorted(map(str, files), key=lambda file: -Path(file.partition("::")[0]).stat().st_size)
    return [share for first in range(processes) if (share := largest[first::processes])]


def run(compiler: str, sanitize: str, tests: Sequence[str], processes: int) -> int:
    """Build with some sanitizers and run tests; return the exit status."""
    folder = native.ROOT / "build" / SANITIZERS[sanitize]
    library = native.build(output=folder / "libqsim_ex.so", compiler=compiler, sanitize=sanitize)
    program = native.build_tests(compiler, sanitize)
    alone = {**os.environ, **OPTIONS, "ASAN_OPTIONS": OPTIONS["ASAN_OPTIONS"].replace("leaks=0", "leaks=1")}
    if status := subprocess.run(["setarch", "-R", str(program)], env=alone, check=False).returncode:
        return status
    python, own = started(compiler, sanitize, folder)
    ours = (native.ROOT / "core", native.ROOT, native.ROOT / "tests", *filter(None, sys.path))
    suppressed = folder / "suppressed.txt"
    suppressed.write_text(SUPPRESSED)
    environment = {**os.environ, **OPTIONS, "PYTHONPATH": os.pathsep.join(map(str, ours))}
    environment["TSAN_OPTIONS"] += f":suppressions={suppressed}"
    # ThreadSanitizer needs memory where it expects it, hence no random addresses; setarch itself has no runtime.
    added = [f"{name}={value}" for name, value in own.items()]
    command = ["setarch", "-R", "env", *added, *python, "-c", RUN, str(library), UNFIT]
    best, *older = instruction_sets()
    status = 0
    for chosen, these in [(best, tests), *((one, OLDER) for one in older if tuple(tests) == TESTS)]:
        print(sanitize, chosen, *these, flush=True)
        environment["QSIM_EX_INSTRUCTION_SET"] = chosen
        begun = [
            subprocess.Popen([*command, *share], env=environment, cwd=native.ROOT) for share in shares(these, processes)
        ]
        status = max(status, *(process.wait() for process in begun))
    return status


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Run tests of the native library under sanitizers.")
    parser.add_argument("tests", nargs="*", default=TESTS, help="arguments for pytest")
    parser.add_argument("--only", choices=SANITIZERS, help="one choice of sanitizers; all by default")
    parser.add_argument("--compiler", default="clang++", help="clang++ by default, or g++")
    parser.add_argument("--processes", type=int, default=1, help="how many share the files of tests; 1 by default")
    given, others = parser.parse_known_args()
    if shutil.which(given.compiler) is None:
        parser.error(f"expected {given.compiler} on this machine; install it with: apt-get install clang")
    chosen = [given.only] if given.only else list(SANITIZERS)
    tests = [*given.tests, *others]
    return max(run(given.compiler, sanitize, tests, given.processes) for sanitize in chosen)


if __name__ == "__main__":
    sys.exit(main())
