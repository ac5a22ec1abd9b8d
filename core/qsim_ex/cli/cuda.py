"""The installed parts of CUDA, and the one command that installs the missing ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from qsim_ex.frameworks import packages

OLDEST = 12
"""The oldest CUDA version that qsim-ex works with."""

NEWEST = 13
"""The newest CUDA version that has an extra."""


@dataclass(frozen=True, slots=True)
class CudaPart:
    """A part of CUDA; `version` is None if it is missing, and then `why` has the error."""

    name: str
    use: str
    version: str | None
    why: str = ""


def parts() -> tuple[CudaPart, ...]:
    """Look for CuPy, the CUDA runtime, and the compiler NVRTC. Needs no GPU."""
    return (
        _part("CuPy", "arrays on the GPU", lambda: str(import_module("cupy").__version__)),
        _part("runtime", "launches kernels", lambda: _number(_cupy().cuda.runtime.runtimeGetVersion())),
        _part("NVRTC", "compiles kernels", lambda: "{}.{}".format(*_cupy().cuda.nvrtc.getVersion())),
    )


def generation(driver: tuple[int, int]) -> int:
    """Return the CUDA version whose packages fit: that of the installed CuPy, else the newest that the driver runs."""
    try:
        return int(_cupy().cuda.runtime.runtimeGetVersion()) // 1000
    except Exception:  # noqa: BLE001 - CuPy fails to load in many ways, and all mean: choose by the driver
        return min(driver[0], NEWEST)


def command(found: Sequence[CudaPart], cuda: int) -> str | None:
    """Return the command that installs the missing parts; None if nothing is missing."""
    missing = any(part.version is None for part in found)
    return packages.install_command(f"cuda{cuda}") if missing else None


def _part(name: str, use: str, version: Callable[[], str]) -> CudaPart:
    try:
        return CudaPart(name, use, version())
    except Exception as error:  # noqa: BLE001 - a library that does not load may raise anything
        return CudaPart(name, use, None, " ".join(str(error).split()) or type(error).__name__)


def _cupy() -> Any:
    return import_module("cupy")


def _number(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"
