"""The CUDA emulator: runs the source text of kernels on the CPU; g++ compiles it behind `shim.h`, threads are fibers.

The same text that a GPU gets is so compared with the definition where there is no GPU.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qsim_ex.kernels.cuda.runtime import ByValue
from qsim_ex.kernels.cuda.write import tensor

HERE = Path(__file__).parent
FOLDER = (
    Path(tempfile.gettempdir())
    / f"qsim-ex-emulator-{hashlib.sha256((HERE / 'fibers.cpp').read_bytes()).hexdigest()[:12]}"
)
_loaded: dict[str, ctypes.CDLL] = {}


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[:8000]}"


def needs_compiler() -> None:
    """Skip what needs a C++ compiler where there is none; the checks install one."""
    if shutil.which("g++") is None:
        pytest.skip("kernels are emulated through g++, which is not installed")


def library(source: str, optimise: str = "-O0") -> ctypes.CDLL:
    """Compile C++ into a shared library, or take it from a folder of those that were compiled before."""
    needs_compiler()
    header = (HERE / "shim.h").read_text()
    key = hashlib.sha256((header + source + optimise).encode()).hexdigest()[:24]
    if key not in _loaded:
        FOLDER.mkdir(exist_ok=True)
        load_fibers()
        target = FOLDER / f"{key}.so"
        if not target.exists():
            text = FOLDER / f"{key}.cpp"
            text.write_text(f'#include "{HERE / "shim.h"}"\n{source}')
            partial = FOLDER / f"{key}.{os.getpid()}-{threading.get_ident()}.tmp"
            alone = ("-nostdlib", "-lgcc")  # what it calls is loaded already, and need not be looked for
            _run("g++", optimise, "-w", "-std=c++17", "-fPIC", "-shared", str(text), *alone, "-o", str(partial))
            partial.rename(target)
        _loaded[key] = ctypes.CDLL(str(target))
    return _loaded[key]


@functools.cache
def load_fibers() -> None:
    """Load what all compiled kernels call: barriers, and the turns of threads."""
    target = FOLDER / "fibers.so"
    if not target.exists():
        partial = FOLDER / f"fibers.{os.getpid()}-{threading.get_ident()}.tmp"
        _run("g++", "-O1", "-fPIC", "-shared", str(HERE / "fibers.cpp"), "-o", str(partial))
        partial.rename(target)
    ctypes.CDLL(str(target), ctypes.RTLD_GLOBAL)


def parameters(code: str, name: str) -> list[str]:
    """The declarations of a kernel's parameters, without comments and qualifiers."""
    text = re.sub(r"//[^\n]*", "", code)
    found = re.search(rf'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?{name}\(([^)]*)\)', text)
    assert found, f"no kernel {name}"
    plain = re.sub(
        r"__restrict__|__grid_constant__|\bconst (?!real\*|amp\*|double\*|u64\*|int\*|long|double2\*)", "", found[1]
    )
    return [" ".join(part.split()) for part in plain.split(",")]


def emulated(code: str) -> str:
    """A text with the tensor cores' instructions replaced by what their documentation says of them."""
    units = (HERE / "units.h").read_text()
    for file, kind in (("f16.cu", "F16"), ("f64.cu", "DOUBLE")):
        code = code.replace(tensor.part(file).strip(), f"#define {kind}\n{units}")
    return code


def wrapped(code: str, name: str, launcher: str) -> str:
    """A kernel and a function that launches it, given pointers to its arguments as a driver takes them."""
    kinds = [
        part.rsplit(" ", 1)[0] if "*" not in part else part[: part.rindex("*") + 1] for part in parameters(code, name)
    ]
    passed = ", ".join(f"*({kind}*)with[{k}]" for k, kind in enumerate(kinds))
    return f"""{emulated(code)}
extern "C" void {launcher}(unsigned grid, unsigned block, int backwards, void** with)
{{
    emulate(grid, block, backwards, [](void* p) {{ void** with = (void**)p; {name}({passed}); }}, with);
}}
"""


def call(function: Any, blocks: int, threads: int, backwards: bool, *arguments: Any) -> None:
    """Launch an emulated kernel: arrays are passed as pointers, NumPy scalars and structs by value."""
    kept = []
    for argument in arguments:
        if argument is None:
            kept.append(np.zeros(1, dtype=np.uint64))
        elif isinstance(argument, ByValue):
            assert argument.array.nbytes, "a struct is never empty"
            kept.append(np.ascontiguousarray(argument.array))
        elif isinstance(argument, np.ndarray):
            kept.append(np.array([argument.ctypes.data], dtype=np.uint64))
        else:
            assert isinstance(argument, np.generic), f"{type(argument)} is not an argument of kernels"
            kept.append(np.array([argument]))
    pointers = (ctypes.c_void_p * len(kept))(*[array.ctypes.data for array in kept])
    emulate(function, blocks, threads, backwards, pointers)


def emulate(function: Any, blocks: int, threads: int, backwards: bool, pointers: Any) -> None:
    """Launch an emulated kernel; one at a time, since all fibers of the process share their stacks."""
    with _one_at_a_time:
        function(ctypes.c_uint(blocks), ctypes.c_uint(threads), ctypes.c_int(backwards), pointers)


_one_at_a_time = threading.Lock()
