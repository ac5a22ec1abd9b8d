"""Builds the package: hatchling, and before it the machine code that comes with the package (a PEP 517 backend).

hatchling has hooks for this, but they would bring NVIDIA's compiler into editable installs too, which do not need it.
"""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path
from typing import Any

from hatchling import build as hatchling
from hatchling.build import *  # noqa: F403 - editable installs and metadata are hatchling's alone

ROOT = Path(__file__).parents[1]
COMPILER = ("numpy", "nvidia-cuda-nvrtc-cu12==12.9.*")
"""The packages that compile the kernels. The oldest supported compiler makes kernels that most drivers take."""
NATIVE = ("ziglang==0.17.1",)
"""The package that compiles the native library."""
KERNELS = ROOT / "core/qsim_ex/kernels/cuda/compile/shipped_kernels"
"""Where archives of kernels are packed from."""

Settings = dict[str, Any] | None


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    """Return hatchling's requirements, and the compiler."""
    return [*hatchling.get_requires_for_build_sdist(config_settings), *_compiler(config_settings)]


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return hatchling's requirements, and the compilers of what is not there yet."""
    compiler = _compiler(config_settings) if _wanted(config_settings) else ()
    native = () if _built() and not (config_settings or {}).get("target") else NATIVE
    return [*hatchling.get_requires_for_build_wheel(config_settings), *compiler, *native]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """Return hatchling's requirements, and the compiler of the native library, 400 MB, unless it is built."""
    return [*hatchling.get_requires_for_build_editable(config_settings), *(() if _built() else NATIVE)]


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Build an sdist with the kernels; the setting ``kernels=80,90`` is for these architectures alone, or ``none``."""
    _ship(config_settings)
    return hatchling.build_sdist(sdist_directory, config_settings)


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """Build a wheel with the native library, and with GPU kernels where `_wanted` says so.

    The setting ``target=aarch64``, or ``arm64`` for macOS, is for another machine, ``kernels=all`` for one with a GPU
    where this one has none, ``kernels=80,90`` for these architectures alone, and ``kernels=none`` for no kernels.
    """
    if _wanted(config_settings):
        _ship(config_settings)
    else:
        print(
            "qsim-ex: there is no NVIDIA driver here, so GPU kernels are left to be compiled at first use; "
            "`--config-settings kernels=all` compiles them now."
        )
    os.environ["QSIM_EX_PLATFORM"] = _native((config_settings or {}).get("target", ""))  # for tools/wheel_tag.py
    return hatchling.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build an editable wheel; the native library goes into the checkout."""
    if not _built():
        _native()
    return hatchling.build_editable(wheel_directory, config_settings, metadata_directory)


def _built() -> bool:
    """Return whether the checkout has the native library of its sources."""
    import native  # lies beside this file

    return native.built_digest(native.library()) == native.source_digest()


def _native(architecture: str = "") -> str:
    """Compile the native library if its sources changed, say so in one line, and return the platform it is for."""
    import native  # lies beside this file

    file, compiler = native.library(architecture), native.compiler_here(architecture)
    if compiler:
        print(f"qsim-ex: ziglang is not installed; {compiler} of this machine compiles for this machine.", flush=True)
    if native.built_digest(file) != native.source_digest():
        print("qsim-ex: compiling the native library; this takes up to a minute.", flush=True)
        native.build(architecture, compiler=compiler)
    print(f"qsim-ex: {file.name} has {file.stat().st_size >> 10} KiB.")
    machine = architecture or platform.machine()
    return native.PLATFORMS.get(machine) or f"{'linux' if compiler else 'manylinux_2_17'}_{machine}"


def _wanted(settings: Settings) -> bool:
    """Return whether a wheel has kernels: of an sdist, on a machine that may run them, or by a setting.

    Half of the time of an installation is theirs, which a machine without a GPU would spend for nothing.
    """
    return bool((settings or {}).get("kernels")) or _came() or _driver()


def _driver() -> bool:
    """Return whether there is a driver of NVIDIA's."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _compiler(settings: Settings) -> tuple[str, ...]:
    """Return the compiler's packages, where it is needed and NVIDIA has one."""
    if (settings or {}).get("kernels") == "none":
        return ()
    known = platform.system() == "Linux" and platform.machine() in ("x86_64", "aarch64")
    return COMPILER if known and platform.libc_ver()[0] == "glibc" and not _came() else ()


def _came() -> bool:
    """Return whether this is an unpacked sdist with its kernels, which are used as they are."""
    return (ROOT / "PKG-INFO").exists() and any(KERNELS.glob("*.zip"))


def _ship(settings: Settings = None) -> None:
    """Compile the kernels that are missing; without a compiler the package is complete too, and slower at first.

    Raises `ValueError` if the setting ``kernels`` names an architecture that has no archive.
    """
    named = (settings or {}).get("kernels", "all")
    if _came():
        return
    if named == "none":
        for archive in KERNELS.glob("*.zip"):
            archive.unlink()
        return
    try:
        import ship_kernels  # lies beside this file; needs NumPy

        from qsim_ex.errors import MissingPackage
    except ModuleNotFoundError as error:
        print(f"qsim-ex: GPU kernels are left to be compiled at first use, since {error.name} is not installed here.")
        return
    shipped = ship_kernels.shipped
    wanted = shipped.ARCHITECTURES if named == "all" else tuple(named.split(","))
    if not set(wanted) <= set(shipped.ARCHITECTURES):
        raise ValueError(f"kernels={named}: expected all, none, or some of {','.join(shipped.ARCHITECTURES)}.")
    for archive in shipped.FOLDER.glob("*.zip"):
        if archive.stem.removeprefix("sm_") not in wanted:
            archive.unlink()
    try:
        ship_kernels.make(shipped.FOLDER, wanted)
    except MissingPackage:
        print("qsim-ex: GPU kernels are left to be compiled at first use, since there is no NVRTC here.")
