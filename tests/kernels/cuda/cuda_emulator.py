"""Runs the source text of kernels on the CPU: g++ compiles it behind `shim.h`, and threads are fibers.

So the same text that a GPU gets is compared with the definition where there is no GPU.
"""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
FOLDER = (
    Path(tempfile.gettempdir())
    / f"qsim-ex-emulator-{hashlib.sha256((HERE / 'fibers.cpp').read_bytes()).hexdigest()[:12]}"
)
_loaded: dict[str, ctypes.CDLL] = {}


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[:8000]}"


def library(source: str, optimise: str = "-O0") -> ctypes.CDLL:
    """Compile C++ into a shared library, or take it from a folder of those that were compiled before."""
    header = (HERE / "shim.h").read_text()
    key = hashlib.sha256((header + source + optimise).encode()).hexdigest()[:24]
    if key not in _loaded:
        FOLDER.mkdir(exist_ok=True)
        fibers = FOLDER / "fibers.o"
        if not fibers.exists():
            _run("g++", "-O1", "-fPIC", "-c", str(HERE / "fibers.cpp"), "-o", str(fibers))
        target = FOLDER / f"{key}.so"
        if not target.exists():
            text = FOLDER / f"{key}.cpp"
            text.write_text(f'#include "{HERE / "shim.h"}"\n{source}')
            partial = FOLDER / f"{key}.{id(source)}.tmp"
            _run("g++", optimise, "-w", "-std=c++17", "-fPIC", "-shared", str(text), str(fibers), "-o", str(partial))
            partial.rename(target)
        _loaded[key] = ctypes.CDLL(str(target))
    return _loaded[key]


def arguments(*values: object) -> list[object]:
    """Arrays as pointers, integers as 64-bit numbers."""
    return [
        value.ctypes.data_as(ctypes.c_void_p) if isinstance(value, np.ndarray) else ctypes.c_uint64(int(value))  # type: ignore[call-overload]
        for value in values
    ]


def launcher(name: str, kernel: str, parameters: str, call: str) -> str:
    """C++ of ``name(grid, block, backwards, …)``, which runs a kernel as a launch would."""
    return f"""
extern "C" void {name}(unsigned grid, unsigned block, int backwards, {parameters})
{{
    auto body = [&] {{ {kernel}({call}); }};
    emulate(grid, block, backwards, [](void* f) {{ (*(decltype(body)*)f)(); }}, &body);
}}
"""
