"""Runs the source text of kernels on the CPU: g++ compiles it behind `shim.h`, and threads are fibers.

So the same text that a GPU gets is compared with the definition where there is no GPU.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest

from qsim_ex.kernels.cuda.runtime import ByValue, KernelText
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
    for file, kind in (("tf32.cu", "TF32"), ("f64.cu", "DOUBLE")):
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


DRIVER = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int64, *[ctypes.c_uint] * 7, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
)
"""The signature of `cuLaunchKernel`: kernel, grid, block, shared memory, stream, arguments, extras."""


class Kernel:
    """A kernel that was loaded."""

    def __init__(self, function: Any) -> None:
        self.function = function


class EmulatedRuntime:
    """The GPU that the engine asks for, played by NumPy and g++."""

    name = "gpu:emulated"
    description = "an emulated GPU"

    def __init__(self, room: int = 32_764, free: int = 1 << 30, tensor: bool = False) -> None:
        self.room = room
        self.tensor = tensor
        self.free = free
        self.backwards = False
        self.compiled: list[KernelText] = []
        self.status = 0
        self.natively_launched = 0
        self._handles: WeakValueDictionary[int, Kernel] = WeakValueDictionary()

    def memory(self) -> tuple[int, int]:
        """What it claims to have."""
        return self.free, self.free

    def empty(self, count: int, dtype: Any) -> Any:
        """An array of NaN, so that a test sees what was never written."""
        return np.full(count, np.nan, dtype=dtype) if np.dtype(dtype).kind in "fc" else np.zeros(count, dtype=dtype)

    def clear(self, array: Any) -> None:
        """Set all to 0."""
        array[...] = 0

    def upload(self, host: Any) -> Any:
        """A copy."""
        return np.array(host).ravel()

    def download(self, array: Any) -> Any:
        """A copy."""
        return array.copy()

    def copy_in(self, array: Any, host: Any) -> None:
        """Overwrite."""
        assert array.dtype == host.dtype
        array[...] = host

    def copy(self, array: Any, source: Any) -> None:
        """Overwrite by another array of the GPU."""
        assert (array.dtype, array.shape) == (source.dtype, source.shape)
        array[...] = source

    def at_hand(self, text: KernelText) -> bool:
        """Whether this text was compiled before."""
        return text in self.compiled

    def kernels(self, texts: Any) -> list[Any]:
        """Compile with g++."""
        found = []
        for text in texts:
            if text not in self.compiled:
                self.compiled.append(text)
            level = "-O0" if text.name == "sweep" else "-O1"
            found.append(Kernel(library(wrapped(text.code, text.name, "launch"), level).launch))
        return found

    def launch(self, kernel: Any, blocks: int, threads: int, *arguments: Any) -> None:
        """Run a kernel to its end."""
        call(kernel.function, blocks, threads, self.backwards, *arguments)

    def handle(self, kernel: Any) -> int:
        """A number for a kernel, as the driver has one."""
        self._handles[id(kernel)] = kernel  # weakly: a kernel that nobody holds is unloaded
        return id(kernel)

    def address(self, array: Any) -> int:
        """Where an array begins."""
        return int(array.ctypes.data)

    def stream(self) -> int:
        """There is one queue."""
        return 0

    def natively(self, work: Any, *arguments: Any) -> None:
        """Let compiled code launch kernels through a function of the driver's signature."""

        def launch(handle, grid, _y, _z, block, *others):
            pointers = ctypes.cast(others[-2], ctypes.POINTER(ctypes.c_void_p))
            emulate(self._handles[handle].function, grid, block, self.backwards, pointers)
            self.natively_launched += 1
            return self.status

        driver = DRIVER(launch)
        status = work(ctypes.cast(driver, ctypes.c_void_p).value, 0, *arguments)
        if status:
            raise RuntimeError(f"the driver said {status}")

    def synchronize(self) -> None:
        """Nothing is ever under way."""
