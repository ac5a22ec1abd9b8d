"""Build the native library out of core/native: ``python -m tools.native``.

The compiler is clang as the package ziglang brings it, so that a build needs no compiler on the machine, links against
an old glibc, and compiles for another architecture with ``--target aarch64``. Sources named in `KERNELS` are compiled
once for each instruction set. Nothing is done if the library fits its sources already; else only those sources are
compiled that changed, or whose headers did, since their objects were made.

    python -m tools.native --compiler clang++ --sanitize address,undefined --output build/asan
    python -m tools.native --test [ARGUMENT …]   # builds and runs the tests in C++; --help tells of arguments
    python -m tools.native --commands   # writes build/compile_commands.json for editors, clangd and clang-tidy

core/native/CMakeLists.txt builds the same library with CMake; it asks this file (``--jobs``) what is compiled how.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "core/native"
FOLDER = ROOT / "core/qsim_ex/native/built"
OBJECTS = Path(os.environ.get("QSIM_EX_OBJECTS", ROOT / "build/native"))
"""Where objects lie. Another copy of the sources may use them too: each says what it was made from."""

KERNELS = frozenset(
    f"kernels/{name}.cpp"
    for name in (
        "gradients/adjoint",
        "narrow_density",
        "gradients/pauli_products",
        "sums",
        "sweep",
        "tile_sums",
        "trajectories/trajectories",
    )
)
"""The sources that are compiled once for each instruction set."""

EXACT = frozenset({"kernels/sums.cpp", "kernels/tile_sums.cpp"})
"""Those of them whose results are the same with each set, so that no product is fused with an addition."""

TEST = ".test.cpp"
"""How the names of tests end, which stand beside what they test."""

HEADERS, READ = {False: "headers.hpp", True: "headers.test.hpp"}, ".pch"
"""What sources that are no kernels are compiled behind, and tests, and how its name ends once it is read, which would
take half of the time of compiling them."""

MAIN = "main.test.cpp"
"""The program, in which doctest itself is compiled."""

SETS = {
    "x86_64": {"v2": "x86_64_v2", "v3": "x86_64_v3", "v4": "x86_64_v4"},
    "aarch64": {"neon": "generic"},
    "arm64": {"neon": "apple_m1"},
}
"""For each architecture its instruction sets, the oldest first, with the compiler's name of a processor that has them.

Sources that are no kernels are compiled for the oldest one. "arm64" is what macOS calls aarch64, and means macOS here.
"""

PLATFORMS = {"arm64": "macosx_11_0_arm64"}
"""The platforms of wheels for architectures that are not Linux's."""

WIDEST = {"v4": ("-mprefer-vector-width=512",)}
"""For each instruction set that clang would not use in full by itself, the flags that make it."""

GLIBC = "2.17"  # manylinux2014
FLAGS: tuple[str, ...] = ("-std=c++20", "-O3", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti")
FLAGS += ("-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-DNDEBUG", "-I.")
FLAGS += ("-D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES",)  # clang's library reads a quarter of its headers then
_INCLUDED = re.compile(rb'^#include "(.+)"$', re.MULTILINE)

STRICT = ("-Wall", "-Wextra", "-Werror", "-Wno-psabi")
"""For clang alone: others warn of its loop hints, which they do not know. Vectors never leave the library."""


def library(architecture: str = "") -> Path:
    """Return where the library of an architecture lies; this machine's by default."""
    return FOLDER / f"libqsim_ex_{architecture or platform.machine()}.so"


def build(architecture: str = "", output: Path | None = None, compiler: str = "", sanitize: str = "") -> Path:
    """Compile and link the library, and return its path; raises `subprocess.CalledProcessError` if that fails.

    architecture: "x86_64", "aarch64" or "arm64"; this machine's by default. compiler: "" for the one of ziglang.
    """
    architecture = architecture or platform.machine()
    output = output or library(architecture)
    if not sanitize and built_digest(output) == source_digest():
        return output
    made = objects(architecture, compiler, sanitize)
    _, link = _commands(architecture, compiler)
    output.parent.mkdir(parents=True, exist_ok=True)
    part = output.with_suffix(f".{os.getpid()}.tmp")
    linking = [] if architecture in PLATFORMS else [f"-Wl,--version-script={SOURCES / 'exports.map'}"]
    linking += [f"-fsanitize={sanitize}"] if sanitize else [] if architecture in PLATFORMS else ["-s", "-Wl,-z,defs"]
    _run([*link, "-shared", *linking, *map(str, made), "-lm", "-lpthread", "-o", str(part)])
    part.replace(output)
    return output


def objects(architecture: str, compiler: str, sanitize: str, *, tests: bool = False) -> list[Path]:
    """Compile what has changed, and return all objects of the library, or those of the tests alone."""
    folder = _folder(architecture, compiler, sanitize)
    flags = [*FLAGS, *(STRICT if "clang" in (compiler or "clang") else ("-w", "-Wno-psabi"))]
    flags += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer", "-g1"] if sanitize else ["-g0"]
    # At -O3 GCC 12 drops a test of `own & high_` in planner/stages/parities/on_bits.cpp (its pass dominator-opts does).
    flags += ["-O1"] if sanitize and "clang" not in (compiler or "clang") else []
    # Tests in C++ call kernels as Python does, with addresses of no type.
    flags += ["-fno-sanitize=function"] if "undefined" in sanitize and "clang" in compiler else []
    command, _ = _commands(architecture, compiler)
    version = _version(compiler)
    chosen = jobs_of_tests if tests else jobs
    todo = list(chosen(architecture, bool(compiler), source_digest()))
    if tests or not compiler:  # other compilers show that a source includes what it needs
        todo = _behind(HEADERS[tests], todo)
        if "clang" in (compiler or "clang") and not all(job.is_made(folder, flags, version) for job in todo):
            first = next(job for job in todo if job.also)
            behind = ("-include-pch", str(_read(first, folder, command, flags, version, _headers(compiler))))
            todo = [replace(job, behind=behind) if job.also else job for job in todo]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda job: job.make(folder, command, flags, version), todo))


def _behind(header: str, todo: Sequence[Job]) -> list[Job]:
    """Return the jobs, those of kernels and of the tests' program as they are and the others behind a header."""
    alone = KERNELS | {MAIN}
    return [job if job.source in alone else replace(job, also=header, behind=("-include", header)) for job in todo]


def _read(job: Job, folder: Path, command: Sequence[str], flags: Sequence[str], version: str, place: str) -> Path:
    """Return the file of the header that a job is compiled behind, once clang has read it.

    The file names our sources by their place, so those of another copy need another one. The key tells what changed:
    clang, which would go by the time of each source, knows nothing of a header that was written again as it was. Zig
    knows nothing of the place of its own headers, and would give what it read where they lay before: a flag that
    changes nothing names it.
    """
    named = [f"-fmacro-prefix-map={place}="] if place else []
    flags = [*flags, *named, "-Xclang", "-fno-pch-timestamp"]
    header = replace(job, source=job.also, suffix=READ, also="", behind=("-x", "c++-header"))
    return header.make(folder, command, flags, f"{version}{place}\0{SOURCES}")


def _headers(compiler: str) -> str:
    """Return where the headers of the compiler lie; "" for one of the machine, whose version tells it."""
    spec = None if compiler else importlib.util.find_spec("ziglang")
    return str(spec.origin) if spec else ""


def build_tests(compiler: str = "", sanitize: str = "") -> Path:
    """Compile the tests, link them with the library's objects, and return the program.

    Raises `FileNotFoundError` if the header of doctest is not on this machine.
    """
    architecture = platform.machine()
    made = [*objects(architecture, compiler, sanitize), *objects(architecture, compiler, sanitize, tests=True)]
    command, _ = _commands(architecture, compiler)
    program = _folder(architecture, compiler, sanitize) / "tests"
    own = [f"-fsanitize={sanitize}"] if sanitize else []
    if (
        sanitize == "thread" and "clang" in compiler
    ):  # whose runtime for C++ has operators new and delete, which those of the library replace
        own += ["--driver-mode=gcc", "-lstdc++", "-lm"]
    _run([*command, *map(str, made), *own, "-lpthread", "-o", str(program)])
    return program


def _folder(architecture: str, compiler: str, sanitize: str) -> Path:
    """Return where the objects of a way of compiling lie."""
    return OBJECTS / "-".join(filter(None, [architecture, compiler, sanitize.replace(",", "-")]))


def doctest() -> Path:
    """Return the folder with doctest's header: $DOCTEST, or where a package of the system or of conda puts it."""
    folders = [os.environ.get("DOCTEST", ""), "/usr/include/doctest", f"{sys.prefix}/include/doctest"]
    for folder in filter(None, folders):
        if Path(folder, "doctest.h").is_file():
            return Path(folder)
    raise FileNotFoundError(
        f"expected the header doctest.h in {' or '.join(filter(None, folders))}; run `apt-get install doctest-dev`, or "
        "set DOCTEST to its folder."
    )


def write_commands() -> Path:
    """Write how clang compiles each source, as clangd and clang-tidy read it, and return the file."""
    file = ROOT / "build/compile_commands.json"
    rows = [
        {
            "directory": str(SOURCES),
            "file": job.source,
            "arguments": ["clang++", *FLAGS, *STRICT, *job.flags, "-c", job.source],
        }
        for job in jobs(platform.machine(), foreign=True, digest="")
    ]
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(rows, indent=1))
    return file


def compiler_present() -> bool:
    """Return whether the package ziglang is installed."""
    return importlib.util.find_spec("ziglang") is not None


def compiler_here(architecture: str = "") -> str:
    """Return "" if ziglang is installed, else a C++ compiler of this machine: that of $CXX, clang++ or g++.

    Raises `FileNotFoundError` if there is none, or none for that architecture.
    """
    if compiler_present():
        return ""
    names = () if architecture not in ("", platform.machine()) else (os.environ.get("CXX"), "clang++", "g++")
    for name in filter(None, names):
        if shutil.which(name):
            return name
    raise FileNotFoundError(
        f"qsim-ex: expected a C++ compiler for {architecture or platform.machine()}, found "
        + ("neither ziglang, $CXX, clang++ nor g++" if names else "no ziglang, which alone compiles for other machines")
        + "; run `pip install ziglang==0.17.1`"
        + (", or install clang++ (14 or later) or g++ (11 or later)" if names else "")
        + ", and try again."
    )


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


@dataclass(frozen=True)
class Job:
    """One compilation. source: from the folder of sources, with slashes. flags: its own. suffix: of its object.

    also: the header that it is compiled behind, "" for none. behind: the flags that say so, which make no other object.
    """

    source: str
    suffix: str
    flags: tuple[str, ...]
    also: str = ""
    behind: tuple[str, ...] = ()

    def is_made(self, folder: Path, flags: Sequence[str], version: str) -> bool:
        """Return whether the object is there, made from what is there now, as `make` would make it."""
        made = folder / Path(self.source).with_suffix(self.suffix)
        stored = made.with_suffix(".key")
        return made.exists() and stored.exists() and stored.read_text() == self.key([*flags, *self.flags], version)

    def make(self, folder: Path, command: Sequence[str], flags: Sequence[str], version: str) -> Path:
        """Compile the source into a folder unless its object is there, made from what is there now; return the object.

        command: the compiler and its target. version: of the compiler.
        """
        made = folder / Path(self.source).with_suffix(self.suffix)
        if self.is_made(folder, flags, version):
            return made
        words, stored = [*flags, *self.flags], made.with_suffix(".key")
        key = self.key(words, version)
        made.parent.mkdir(parents=True, exist_ok=True)
        stored.unlink(missing_ok=True)
        _run([*command, *words, *self.behind, *(() if self.suffix == READ else ("-c",)), self.source, "-o", str(made)])
        stored.write_text(key)
        return made

    def key(self, words: Sequence[str], version: str) -> str:
        """Return a digest of what is read: flags, the version of the reader, the source, and headers of ours."""
        sha = hashlib.sha256("\0".join([*words, version]).encode())
        names = [self.source, *filter(None, [self.also])]
        for name in names:  # which grows meanwhile
            file = SOURCES / name
            text = file.read_bytes() if file.exists() else b""  # the compiler says what is missing
            sha.update(name.encode() + b"\0" + text)
            names += [found for found in map(bytes.decode, _INCLUDED.findall(text)) if found not in names]
        return sha.hexdigest()


def _version(compiler: str) -> str:
    """Return which compiler it is, so that another one makes all objects anew."""
    if not compiler:
        return importlib.metadata.version("ziglang")
    return subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout


def jobs(architecture: str, foreign: bool, digest: str) -> Iterator[Job]:
    """Yield each compilation. digest: of all sources, which one of them tells."""
    sets = SETS[architecture]
    oldest = next(iter(sets.values()))
    own = () if oldest == "generic" else (_for(oldest, foreign),)
    for file in sorted(SOURCES.rglob("*.cpp")):
        source = file.relative_to(SOURCES).as_posix()
        if source.endswith(TEST):
            continue
        if source not in KERNELS:
            yield Job(source, ".o", (*own, *((f"-DQX_DIGEST={digest}",) if source == "library.cpp" else ())))
            continue
        for name, processor in sets.items():
            fused = () if source in EXACT else ("-ffp-contract=fast",)
            flags = (_for(processor, foreign), f"-DQX_SET={name}", *fused, *WIDEST.get(name, ()))
            yield Job(source, f".{name}.o", flags)


def jobs_of_tests(architecture: str, foreign: bool, digest: str) -> Iterator[Job]:  # noqa: ARG001 - as `jobs`
    """Yield the compilation of each test, for the processor of sources that are no kernels, as fast as it can be."""
    oldest = next(iter(SETS[architecture].values()))
    own = () if oldest == "generic" else (_for(oldest, foreign),)
    found = ("-DDOCTEST_CONFIG_NO_EXCEPTIONS_BUT_WITH_ALL_ASSERTS", "-DDOCTEST_CONFIG_USE_STD_HEADERS")
    rows = re.findall(r"^    \w+: int = (.+)$", (ROOT / "core/qsim_ex/native/thresholds.py").read_text(), re.MULTILINE)
    found += (f"-DQX_NUMBERS={','.join(rows).replace('_', '')}",)
    for file in sorted(SOURCES.rglob(f"*{TEST}")):
        yield Job(file.relative_to(SOURCES).as_posix(), ".o", (*own, *found, "-isystem", str(doctest()), "-O0"))


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
    target = ["-target", "aarch64-macos.11.0" if architecture in PLATFORMS else f"{architecture}-linux-gnu.{GLIBC}"]
    return [*zig, "c++", *target], [*zig, "cc", *target]


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, cwd=SOURCES)


def main() -> None:
    """Run the command line; what a compiler says of an error is printed already."""
    try:
        _main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)


def _main() -> None:
    parser = argparse.ArgumentParser(description="Build the native library.")
    parser.add_argument("--target", default="", help="x86_64, aarch64, or arm64 for macOS; this machine's by default")
    parser.add_argument("--output", type=Path, help="where the library goes; core/qsim_ex/native/built by default")
    parser.add_argument("--compiler", default="", help="a C++ compiler of this machine; ziglang's by default")
    parser.add_argument("--sanitize", default="", help="address,undefined or thread; needs --compiler")
    parser.add_argument(
        "--commands", action="store_true", help="write build/compile_commands.json, and compile nothing"
    )
    parser.add_argument(
        "--jobs", action="store_true", help="print what is compiled how, for CMake, and compile nothing"
    )
    parser.add_argument("--test", action="store_true", help="build and run the tests; other arguments are doctest's")
    given, others = parser.parse_known_args()
    if given.test:
        sys.exit(subprocess.run([build_tests(given.compiler, given.sanitize), *others], check=False).returncode)
    if others:
        parser.error(f"unknown arguments: {' '.join(others)}")
    if given.commands:
        print(write_commands())
    elif given.jobs:
        print(" ".join(FLAGS))
        for job in jobs(given.target or platform.machine(), foreign=True, digest=source_digest()):
            print(job.source, *job.flags)
    else:
        print(build(given.target, given.output, given.compiler, given.sanitize))


if __name__ == "__main__":
    main()
