"""Compile the kernels that come with the package: an archive for each architecture (`kernels/cuda/compile/shipped.py`).

    python tools/ship_kernels.py                compile what is not there yet, or not for the present texts
    python tools/ship_kernels.py --arch 90      only for these architectures
    python tools/ship_kernels.py --check WHEEL  compile nothing; fail if a wheel lacks a kernel (of these architectures)

The build backend (tools/backend.py) does the first for every wheel and sdist. No GPU is needed. The compiler is NVRTC
of the package nvidia-cuda-nvrtc-cu12 where that is installed, and otherwise the one that CuPy finds.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import sys
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "core"))  # this checkout's kernels, whatever is installed

from qsim_ex.kernels.cuda.adjoint import interpreter as adjoint  # noqa: E402
from qsim_ex.kernels.cuda.compile import compilation, shipped  # noqa: E402
from qsim_ex.kernels.cuda.fixed import fixed  # noqa: E402
from qsim_ex.kernels.cuda.interpret import interpreter  # noqa: E402
from qsim_ex.precision import PRECISIONS  # noqa: E402

Compiler = Callable[[str, str], bytes]
"""A function from a text and an architecture such as '90' to machine code."""


def codes() -> list[str]:
    """Return the shipped texts: all kernels that are not written for a circuit."""
    texts = [text for row in PRECISIONS.values() for text in (*interpreter.texts(row), *adjoint.shipped(row))]
    texts += [fixed.text(file, name, row) for file, name in fixed.KERNELS for row in PRECISIONS.values()]
    return list(dict.fromkeys(text.code for text in texts))


def make(folder: Path, architectures: Sequence[str] = shipped.ARCHITECTURES) -> None:
    """Write the archives that are missing, damaged, or of other texts; raises `MissingPackage` without a compiler."""
    texts = codes()
    compiler = None
    for arch in architectures:
        path = folder / f"sm_{arch}.zip"
        if is_whole(path, arch, texts):
            print(f"{path}: has all {len(texts)} kernels already")
            continue
        compiler = compiler or find_compiler()
        began = perf_counter()
        with ThreadPoolExecutor(compilation.cores()) as pool:
            made = list(pool.map(compiler, texts, [arch] * len(texts)))
        folder.mkdir(parents=True, exist_ok=True)
        write(path, {shipped.name(text, arch): code for text, code in zip(texts, made, strict=True)})
        print(
            f"{path}: {len(texts)} kernels, {path.stat().st_size:,} bytes, {perf_counter() - began:.1f} s", flush=True
        )


def write(path: Path, members: dict[str, bytes]) -> None:
    """Write an archive; the same members make the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, code in sorted(members.items()):
            archive.writestr(zipfile.ZipInfo(name), code, zipfile.ZIP_DEFLATED)


def is_whole(path: Path | zipfile.Path, arch: str, texts: Sequence[str]) -> bool:
    """Return whether an archive holds exactly these texts and is not damaged."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            return set(archive.namelist()) == {shipped.name(text, arch) for text in texts} and not archive.testzip()
    except (OSError, KeyError, zipfile.BadZipFile):
        return False


def check(wheel: Path, architectures: Sequence[str] = shipped.ARCHITECTURES) -> None:
    """Exit with a message if a wheel does not hold exactly the present kernels, for exactly these architectures."""
    texts = codes()
    with zipfile.ZipFile(wheel) as packed:
        folder = zipfile.Path(packed, f"{shipped.FOLDER.relative_to(ROOT / 'core').as_posix()}/")
        wanted = {f"sm_{arch}.zip": arch for arch in architectures}
        found = {path.name for path in folder.iterdir()} if folder.exists() else set()
        wrong = sorted(found ^ set(wanted))
        wrong += [name for name in sorted(found & set(wanted)) if not is_whole(folder / name, wanted[name], texts)]
    if wrong:
        raise SystemExit(f"{wheel}: missing, damaged, or not of the present sources: {', '.join(wrong)}")
    print(f"{wheel}: {len(texts)} kernels for each of {', '.join(architectures)}")


def find_compiler() -> Compiler:
    """Return NVRTC from its own package, else CuPy's; raises `MissingPackage` if there is neither."""
    spec = importlib.util.find_spec("nvidia")  # a namespace that NVIDIA's packages share
    places = [Path(place) for place in (spec.submodule_search_locations if spec else None) or ()]
    libraries = [library for place in places for library in sorted(place.glob("cuda_nvrtc/lib/libnvrtc.so.*"))]
    if libraries:
        return Nvrtc(libraries[0])
    compilation.compiler()
    return lambda code, arch: compilation.translate(code, arch)[0]


class Nvrtc:
    """NVRTC through ctypes, so that building needs no other package and works with every version of Python.

    Functions are those of the chapter "General" and "Compilation" of NVIDIA's NVRTC manual.
    """

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))

    def __call__(self, code: str, arch: str) -> bytes:
        """Compile a text; raises `RuntimeError` with the compiler's log."""
        program = ctypes.c_void_p()
        self._call("nvrtcCreateProgram", ctypes.byref(program), code.encode(), b"kernel.cu", 0, None, None)
        try:
            options = [option.encode() for option in (f"-arch=sm_{arch}", *shipped.OPTIONS)]
            given = (ctypes.c_char_p * len(options))(*options)
            if self._library.nvrtcCompileProgram(program, len(options), given):
                raise RuntimeError(f"a kernel does not compile for sm_{arch}:\n{self._get('ProgramLog', program)!r}")
            return self._get("CUBIN", program)
        finally:
            self._call("nvrtcDestroyProgram", ctypes.byref(program))

    def _get(self, what: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        room = ctypes.create_string_buffer(size.value)
        self._call(f"nvrtcGet{what}", program, room)
        return room.raw

    def _call(self, name: str, *arguments: object) -> None:
        if error := getattr(self._library, name)(*arguments):
            raise RuntimeError(f"{name} fails with nvrtcResult {error}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", nargs="+", choices=shipped.ARCHITECTURES, default=shipped.ARCHITECTURES)
    parser.add_argument("--out", type=Path, default=shipped.FOLDER, metavar="FOLDER", help="where archives are written")
    parser.add_argument("--check", type=Path, metavar="WHEEL")
    given = parser.parse_args()
    if given.check:
        check(given.check, given.arch)
    else:
        make(given.out, given.arch)


if __name__ == "__main__":
    main()
