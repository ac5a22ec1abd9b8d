"""CUDA C++ to machine code: from the package, from a cache on disk that survives upgrades, or by NVRTC in threads.

NVRTC is a large library, so it is loaded only for a text that did not come with the package (see `shipped`). The
cache's key holds everything that the result depends on: the text (kernels include nothing), the architecture, the
options and the compiler's version. A damaged file is recognised by its checksum and compiled anew. The folder is
``kernels`` in that of `cache_folder`; deleting it is always safe.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import struct
import tempfile
import zlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from qsim_ex.display.log import LOGGER
from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.kernels import cache_folder, fork
from qsim_ex.kernels.cuda.compile import compiler_library, shipped
from qsim_ex.kernels.cuda.compile.shipped import FORMAT, OPTIONS
from qsim_ex.kernels.giving_way import SPARED, be_nice

MOST_FILES = 5_000
_CHECK = struct.Struct("<QI")
"""Bytes of a file that was kept, and their checksum, which finds damage in a third of the time of a digest."""


class KernelResources(NamedTuple):
    """The assembler's report of a kernel: registers of a thread, and bytes that did not fit into them."""

    registers: int
    spilled: int


def report(log: str) -> KernelResources:
    """Read the assembler's log of a text with one kernel."""
    registers = re.search(r"Used (\d+) registers", log)
    spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", log)
    return KernelResources(int(registers[1]) if registers else 0, max(map(int, spills), default=0))


@functools.cache
def cores() -> int:
    """Return how many kernels are compiled at the same time."""
    return min(16, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@functools.cache
def compiler() -> Any:
    """Return CuPy's binding of NVRTC; raises `MissingPackage` if there is none."""
    try:
        from cupy.cuda import runtime

        compiler_library.load_ahead(runtime.runtimeGetVersion() // 1000)
        from cupy.cuda import nvrtc

        nvrtc.getVersion()
    except (ImportError, OSError, RuntimeError) as error:
        raise MissingPackage(
            f"GPU kernels need CuPy and the compiler NVRTC ({error}). Install both with: pip install 'qsim-ex[cuda13]' "
            "(or 'qsim-ex[cuda12]' for a driver of CUDA 12)."
        ) from error
    return nvrtc


def translate(code: str, arch: str) -> tuple[bytes, str]:
    """Compile a text for an architecture such as '90'; return the machine code and the assembler's log."""
    nvrtc = compiler()
    if int(arch) not in nvrtc.getSupportedArchs():
        version = ".".join(map(str, nvrtc.getVersion()))
        raise DeviceError(f"NVRTC {version} cannot compile for this GPU (sm_{arch}); install a newer NVRTC and CuPy.")
    program = nvrtc.createProgram(code, "kernel.cu", (), ())
    try:
        nvrtc.compileProgram(program, (f"-arch=sm_{arch}", *OPTIONS))
        return nvrtc.getCUBIN(program), nvrtc.getProgramLog(program)
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program)
        raise DeviceError(
            f"a kernel does not compile ({error}). This is a bug of qsim-ex; please report it:\n{log}"
        ) from error
    finally:
        nvrtc.destroyProgram(program)


def key(code: str, arch: str) -> str:
    """Return the name of a compiled text in the cache."""
    parts = (FORMAT, repr(compiler().getVersion()), arch, repr(OPTIONS), code)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def folder() -> Path:
    """Return the folder of compiled kernels, whether or not it exists."""
    return cache_folder.base() / "kernels"


def stored(name: str) -> bytes | None:
    """Return the machine code kept under a key, if it is there and complete."""
    kept = cache_folder.made("kernels")
    return None if kept is None else whole_file(kept / f"{name}.cubin")


def kept(name: str) -> bytes:
    """Return machine code that was on disk when its kernel was chosen; raises `DeviceError` if it is not any more."""
    code = stored(name)
    if code is None:
        raise DeviceError(
            f"expected machine code in {folder()}, where a file was deleted or damaged while it was used "
            f"({name}.cubin); run again, and it is compiled."
        )
    return code


def whole_file(path: Path) -> bytes | None:
    """Return what was kept in a file, if it is there and whole."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - half the time of Path's
            check, data = file.read(_CHECK.size), file.read()
    except OSError:
        return None
    return data if check == _CHECK.pack(len(data), zlib.crc32(data)) else None


def is_stored(name: str) -> bool:
    """Return whether machine code is kept under a key."""
    kept = cache_folder.made("kernels")
    return kept is not None and (kept / f"{name}.cubin").exists()


def at_hand(code: str, arch: str) -> bool:
    """Return whether a text need not be compiled: it came with the package, or is in the cache."""
    return shipped.is_there(code, arch) or is_stored(key(code, arch))


def store(name: str, code: bytes) -> None:
    """Keep machine code; if the folder cannot be written to, the next process compiles again."""
    keep_whole(f"{name}.cubin", code)


def keep_whole(name: str, data: bytes) -> None:
    """Keep a file with its checksum, whole or not at all."""
    kept = cache_folder.made("kernels")
    if kept is None:
        return
    with contextlib.suppress(OSError):
        with _pruning:  # a cached function may run in several threads before the first result is there
            _prune()
        handle, partial = tempfile.mkstemp(dir=kept, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(_CHECK.pack(len(data), zlib.crc32(data)) + data)
        Path(partial).replace(kept / name)


_pruning = fork.lock()


@functools.cache
def _prune() -> None:
    """Drop the older half of a cache that has grown too large, once in a process."""
    for kind in ("*.cubin", "*.sweep"):
        files = sorted(folder().glob(kind), key=lambda path: path.stat().st_mtime)
        if len(files) > MOST_FILES:
            for path in files[: MOST_FILES // 2]:
                path.unlink(missing_ok=True)


def machine_code(code: str, arch: str) -> bytes:
    """Return the machine code of a text: from the package, a compilation under way, the cache, or the compiler."""
    came = shipped.find(code, arch)
    if came is not None:
        return came
    name = key(code, arch)
    with _lock:
        begun = _begun.pop(name, None)
    if begun is not None and not begun.cancel():
        return begun.result()
    return _machine_code(name, code, arch)


def _machine_code(name: str, code: str, arch: str) -> bytes:
    kept = stored(name)
    if kept is not None:
        LOGGER.debug("GPU kernel %s was in the cache", name)
        return kept
    began = perf_counter()
    made, _ = translate(code, arch)
    LOGGER.debug("GPU kernel %s was compiled in %.3g s", name, perf_counter() - began)
    store(name, made)
    return made


_begun: dict[str, Future[bytes]] = {}
_lock = fork.lock()

if hasattr(os, "register_at_fork"):  # the threads that compile these do not exist in the child
    os.register_at_fork(after_in_child=_begun.clear)


def begin(codes: Sequence[str], arch: str) -> None:
    """Start to compile texts that are needed soon and are not at hand, and return at once."""
    codes = [code for code in codes if not shipped.is_there(code, arch)]
    with _lock:
        missing = {name: code for name, code in ((key(code, arch), code) for code in codes) if name not in _begun}
        missing = {name: code for name, code in missing.items() if not is_stored(name)}
        if missing:
            threads = min(len(missing), max(1, cores() - SPARED))
            pool = ThreadPoolExecutor(threads, "qsim-ex-ahead", initializer=be_nice)
            for name, code in missing.items():
                _begun[name] = pool.submit(_machine_code, name, code, arch)
            pool.shutdown(wait=False)


def machine_codes(codes: Sequence[str], arch: str) -> list[bytes]:
    """Return the machine code of several texts, compiled at the same time."""
    if len(codes) < 2:
        return [machine_code(code, arch) for code in codes]
    with ThreadPoolExecutor(min(len(codes), cores()), thread_name_prefix="qsim-ex-nvrtc") as pool:
        return list(pool.map(machine_code, codes, [arch] * len(codes)))
