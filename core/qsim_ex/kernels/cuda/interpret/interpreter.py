"""The interpreter: kernels that run any sweep without compiling anything, given its program as data.

The program and the numbers that all amplitudes share are arguments of the kernel, so that threads read them through the
constant cache; tables are in the device's memory. A kernel's arguments have a size that is fixed when it is compiled,
hence two sizes, and a kernel that reads everything from memory, for sweeps with more numbers and for batches.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import NamedTuple

from qsim_ex.kernels.cuda.interpret.sweep_program import SweepProgram
from qsim_ex.kernels.cuda.runtime import TENSOR, KernelText
from qsim_ex.kernels.cuda.write import tensor
from qsim_ex.precision import Precision

NAME = "interpret"

_BLOCKS = 3
"""The thread blocks that a multiprocessor holds at the same time, which limits the registers of a thread."""

_BLOCKS_FROM_MEMORY = 2
"""The same for the kernel that reads numbers from memory into registers; with three it spills on sm_75."""


_TENSOR = " || ".join(["!defined(__CUDA_ARCH__)", *(f"__CUDA_ARCH__ == {arch}0" for arch in TENSOR)])
"""The condition under which a kernel has a body for the tensor cores; emulated ones always do."""


class Capacity(NamedTuple):
    """What a kernel takes by value: words of 4 bytes, and bytes of numbers."""

    words: int
    numbers: int

    @property
    def room(self) -> int:
        """The bytes of the kernel's arguments."""
        return 32 + 4 * self.words + self.numbers


FEW = Capacity(384, 2_512)
"""What fits into the arguments of a kernel before CUDA 12.1. An argument of 32 kB costs a launch 20 µs."""

MANY = Capacity(2_400, 22_976)
"""What fits into them from then on."""


@functools.cache
def source(precision: Precision, capacity: Capacity | None = FEW) -> str:
    """Return the interpreter's CUDA C++ for a precision.

    capacity: what it takes by value; None for the kernel that reads all from memory, for one state or a batch.
    """
    cuda, geometry = precision.storage.cuda, precision.geometry
    blocks = _BLOCKS if capacity else _BLOCKS_FROM_MEMORY
    constants: dict[str, object] = {"TILE": geometry.tile_bits, "BOUNDS": f"{geometry.threads}, {blocks}"}
    constants["TOGETHER"] = precision.tensor.loops
    if capacity:
        constants |= {"WORDS": capacity.words, "NUMBERS": capacity.numbers // 16}
    head = [*cuda.head(), "typedef unsigned long long u64;", f"typedef {cuda.pair or cuda.amplitude} quad;"]
    head += [f"#define {name} {value}" for name, value in constants.items()]
    head += [f"#if {_TENSOR}", "#define TENSOR", tensor.functions(precision), "#endif"]
    with_tensor = "#ifdef TENSOR\n", part("fragments.cu"), "#endif\n"
    text = "".join(
        [part("functions.cu"), *with_tensor, part("single.cu" if capacity else "rows.cu"), part("program.cu")]
    )
    return "\n".join([*head, "", cuda.written(text)])


def part(file: str) -> str:
    """Return the text of a file of `interpreter_kernels`."""
    return resources.files(__package__).joinpath("interpreter_kernels", file).read_text(encoding="utf-8")


def text(precision: Precision, capacity: Capacity | None = FEW) -> KernelText:
    """Return the interpreter as a kernel to be compiled."""
    return KernelText(source(precision, capacity), NAME)


def texts(precision: Precision) -> list[KernelText]:
    """Return all kernels of the interpreter for one precision."""
    return [text(precision, capacity) for capacity in (FEW, MANY, None)]


def capacity_for(program: SweepProgram, precision: Precision, room: int) -> Capacity | None:
    """Return what the kernel takes by value that runs a program; None if it has to read all from memory.

    room: the bytes that a kernel may take by value.
    """
    numbers = program.shared.size * precision.storage.real_bytes
    for capacity in (FEW, MANY):
        if program.words.size <= capacity.words and numbers <= capacity.numbers and capacity.room <= room:
            return capacity
    return None
