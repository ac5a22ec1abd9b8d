"""Build the native library out of core/native: ``python -m tools.native``.

The compiler is clang as the package ziglang brings it, so that a build needs no compiler on the machine, links against
an old glibc, and compiles for another architecture with ``--target aarch64``. Sources named in `KERNELS` are compiled
once for each instruction set. Nothing is done if the library fits its sources already.

    python -m tools.native --compiler clang++ --sanitize address,undefined --output build/asan
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "core/native"
FOLDER = ROOT / "core/qsim_ex/native/built"
OBJECTS = ROOT / "build/native"

KERNELS = frozenset({"narrow_density", "sums", "sweep", "trajectories"})
"""The sources that are compiled once for each instruction set."""

EXACT = frozenset({"sums"})
"""Those of them whose results are the same with each set, so that no product is fused with an addition."""

SETS = {
    "x86_64": {"v2": "x86_64_v2", "v3": "x86_64_v3", "v4": "x86_64_v4"},
    "aarch64": {"neon": "generic"},
}
"""For each architecture its instruction sets, the oldest first, with the compiler's name of a processor that has them.

Sources that are no kernels are compiled for the oldest one.
"""

WIDEST = {"v4": ("-mprefer-vector-width=512",)}
"""For each instruction set that clang would not use in full by itself, the flags that make it."""

GLIBC = "2.17"  # manylinux2014
FLAGS = ("-std=c++20", "-O3", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra")
FLAGS += ("-Werror", "-Wno-psabi", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-DNDEBUG")


def library(architecture: str = "") -> Path:
    """Return where the library of an architecture lies; this machine's by default."""
    return FOLDER / f"libqsim_ex_{architecture or platform.machine()}.so"


def build(architecture: str = "", output: Path | None = None, compiler: str = "", sanitize: str = "") -> Path:
    """Compile and link the library, and return its path; raises `subprocess.CalledProcessError` if that fails.

    architecture: "x86_64" or "aarch64"; this machine's by default. compiler: "" for the one of ziglang.
    """
    architecture = architecture or platform.machine()
    output = output or library(architecture)
    digest = source_digest()
    if not sanitize and built_digest(output) == digest:
        return output
    folder = OBJECTS / "-".join(filter(None, [architecture, compiler, sanitize.replace(",", "-")]))
    folder.mkdir(parents=True, exist_ok=True)
    jobs = list(_jobs(architecture, bool(compiler)))
    flags = [*FLAGS, f'-DQX_DIGEST="{digest}"']
    flags += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer", "-g"] if sanitize else ["-g0"]
    compile_, link = _commands(architecture, compiler)

    def make(job: tuple[Path, str, Sequence[str]]) -> Path:
        source, name, extra = job
        made = folder / f"{name}.o"
        _run([*compile_, *flags, *extra, "-c", str(source), "-o", str(made)])
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(make, jobs))
    output.parent.mkdir(parents=True, exist_ok=True)
    part = output.with_suffix(f".{os.getpid()}.tmp")
    linking = [f"-Wl,--version-script={SOURCES / 'exports.map'}"]
    linking += [f"-fsanitize={sanitize}"] if sanitize else ["-s", "-Wl,-z,defs"]
    _run([*link, "-shared", *linking, *map(str, made), "-lm", "-lpthread", "-o", str(part)])
    part.replace(output)
    return output


def compiler_present() -> bool:
    """Return whether the package ziglang is installed."""
    return importlib.util.find_spec("ziglang") is not None


def source_digest() -> str:
    """Return the digest of the sources as `qsim_ex.native.library` computes it, without importing the engine."""
    spec = importlib.util.spec_from_file_location("_library", ROOT / "core/qsim_ex/native/library.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError("core/qsim_ex/native/library.py")
    sys.path.insert(0, str(ROOT / "core"))
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "core"))
    return str(module.digest(SOURCES))


def built_digest(file: Path) -> str:
    """Return the digest of the sources that a library was built from, "" if none can be loaded here."""
    try:
        loaded = ctypes.CDLL(str(file))
    except OSError:
        return ""
    loaded.qx_digest.restype = ctypes.c_char_p
    return str(loaded.qx_digest().decode())


def _jobs(architecture: str, foreign: bool) -> list[tuple[Path, str, Sequence[str]]]:
    """Return each compilation: the source, the name of its object, its own flags."""
    found: list[tuple[Path, str, Sequence[str]]] = []
    for source in sorted(SOURCES.glob("*.cpp")):
        if source.stem not in KERNELS:
            oldest = next(iter(SETS[architecture].values()))
            found.append((source, source.stem, () if oldest == "generic" else (_for(oldest, foreign),)))
            continue
        for name, processor in SETS[architecture].items():
            how = _for(processor, foreign)
            fused = () if source.stem in EXACT else ("-ffp-contract=fast",)
            own = (how, f"-DQX_SET={name}", *fused, *WIDEST.get(name, ()))
            found.append((source, f"{source.stem}_{name}", own))
    return found


def _for(processor: str, foreign: bool) -> str:
    """Return the flag for a processor, as ziglang or another compiler calls it."""
    return f"-march={processor.replace('_v', '-v').replace('x86_', 'x86-')}" if foreign else f"-mcpu={processor}"


def _commands(architecture: str, compiler: str) -> tuple[list[str], list[str]]:
    """Return the commands that compile and link.

    Linking as C leaves the C++ library out, of which we use headers only: it would take a minute to compile.
    """
    if compiler:
        return [compiler], [compiler]
    zig = [sys.executable, "-m", "ziglang"]
    target = ["-target", f"{architecture}-linux-gnu.{GLIBC}"]
    return [*zig, "c++", *target], [*zig, "cc", *target]


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Build the native library.")
    parser.add_argument("--target", default="", help="x86_64 or aarch64; this machine's by default")
    parser.add_argument("--output", type=Path, help="where the library goes; core/qsim_ex/native/built by default")
    parser.add_argument("--compiler", default="", help="a C++ compiler of this machine; ziglang's by default")
    parser.add_argument("--sanitize", default="", help="address,undefined or thread; needs --compiler")
    given = parser.parse_args()
    print(build(given.target, given.output, given.compiler, given.sanitize))


if __name__ == "__main__":
    main()
