"""Kernels on disk by the structure of their sweeps, so that a first run finds them without writing their texts.

Machine code is kept by its text (`compilation`), which takes Python some milliseconds a sweep to write. Beside it an
entry is kept for each sweep, by a digest of all that its kernel depends on: the sweep (`key_of`), the precision, the
room for arguments and the tensor cores, the architecture, the compiler, and the sources of plans and texts. An entry is
the name of the machine code and the data of the launch. What is damaged, or lacks its machine code, is not there.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from qsim_ex.kernels import cache_folder
from qsim_ex.kernels.cuda.compile import compilation, compiler_library
from qsim_ex.kernels.cuda.compile.shipped import OPTIONS
from qsim_ex.kernels.cuda.write.kernel import Kernel
from qsim_ex.native.library import built_from
from qsim_ex.precision import Precision
from qsim_ex.steps.plan_arrays import Key

FORMAT = "qsim-ex index 1"
"""Raised when an entry comes to mean something else."""

ENDING = ".sweep"

ROOT = Path(__file__).parents[3]
"""The package."""

SOURCES = ("kernels/cuda/write", "kernels/cuda/write/tensor_kernels", "precision", "steps")
"""The folders of the package on whose files texts depend, with `FILES`, and with native code, which writes the keys."""

FILES = ("circuit/ops.py", "kernels/cuda/interpret/packing.py")

_HEAD = struct.Struct("<64s5q")
"""The name of the machine code; threads, skipped bits, and how many values, table entries and pivots there are."""


class StoredKernel(NamedTuple):
    """A kernel that was found on disk, and its machine code."""

    kernel: Kernel
    code: bytes


@functools.cache
def edition() -> str | None:
    """Return a digest of the sources that write texts and keys; None where they are not files."""
    found = hashlib.sha256(built_from().encode())
    with contextlib.suppress(OSError):
        folders = [sorted(os.scandir(ROOT / folder), key=lambda one: one.name) for folder in SOURCES]
        listed = [str(one.path) for folder in folders for one in folder if one.name.endswith((".py", ".cu"))]
        for path in (*listed, *(str(ROOT / file) for file in FILES)):
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - half the time of Path's
                found.update(hashlib.sha256(file.read()).digest())
        return found.hexdigest()
    return None


class KernelIndex:
    """The entries for one kind of GPU.

    arch: its compute capability, such as '90'. room: the bytes that a kernel may take by value. tensor: whether dense
    blocks run on tensor cores.
    """

    def __init__(self, arch: str, room: int, tensor: bool) -> None:
        self._what = FORMAT, arch, repr(OPTIONS), str(room), str(tensor)

    def found(self, keys: Sequence[Key], precision: Precision) -> list[StoredKernel | None]:
        """Return the kernels of some sweeps, by their `key_of`; None for each that is not on disk."""
        folder = cache_folder.made("kernels") if any(isinstance(key, bytes) for key in keys) else None
        begun = None if folder is None else self._begun(precision)
        if folder is None or begun is None:
            return [None] * len(keys)
        return [_read(folder, begun, key) if isinstance(key, bytes) else None for key in keys]

    def count(self, keys: Sequence[Key], precision: Precision) -> int:
        """Return for how many sweeps there is an entry, whether or not it may be trusted."""
        begun = self._begun(precision) if keys else None
        if begun is None:
            return 0
        folder = compilation.folder()
        return sum(isinstance(key, bytes) and (folder / _name(begun, key)).exists() for key in keys)

    def keep(self, key: Key, precision: Precision, kernel: Kernel, name: str) -> None:
        """Keep the entry of a sweep. name: that of its machine code among `compilation`'s."""
        begun = self._begun(precision) if isinstance(key, bytes) else None
        if begun is None or not isinstance(key, bytes):
            return
        takes = kernel.values.astype("<i8"), kernel.table.astype("<i8"), kernel.pivots.astype("<i4")
        head = _HEAD.pack(name.encode(), kernel.threads, kernel.skipped_bits, *map(len, takes))
        compilation.keep_whole(_name(begun, key), head + b"".join(one.tobytes() for one in takes))

    def _begun(self, precision: Precision) -> bytes | None:
        """Return a digest of all that a kernel depends on but its sweep; None if that is not known."""
        written = edition()
        if written is None:
            return None
        what = *self._what, written, str(compiler_library.size()), precision.name
        return hashlib.sha256("\0".join(what).encode()).digest()


def _name(begun: bytes, key: bytes) -> str:
    return hashlib.sha256(begun + key).hexdigest() + ENDING


def _read(folder: Path, begun: bytes, key: bytes) -> StoredKernel | None:
    """Return the kernel of an entry, if both are there and whole."""
    data = compilation.whole_file(folder / _name(begun, key))
    if data is None or len(data) < _HEAD.size:
        return None
    name, threads, skipped_bits, *counts = _HEAD.unpack_from(data)
    ends = np.cumsum([_HEAD.size, *(size * count for size, count in zip((8, 8, 4), counts, strict=True))])
    if min(counts) < 0 or ends[-1] != len(data) or re.fullmatch(rb"[0-9a-f]{64}", name) is None:
        return None
    code = compilation.whole_file(folder / f"{name.decode()}.cubin")
    if code is None:
        return None
    kinds = zip(("<i8", "<i8", "<i4"), counts, ends[:-1].tolist(), strict=True)
    values, table, pivots = (np.frombuffer(data, kind, count, at) for kind, count, at in kinds)
    return StoredKernel(Kernel("", threads, skipped_bits, values, table, pivots, file=name.decode()), code)
