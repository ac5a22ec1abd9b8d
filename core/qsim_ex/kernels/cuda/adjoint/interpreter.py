"""The text of the kernel that runs any sweep of adjoint differentiation."""

from __future__ import annotations

import functools
from importlib import resources

from qsim_ex.kernels.cuda.interpret import interpreter
from qsim_ex.kernels.cuda.interpret.interpreter import MANY, Capacity
from qsim_ex.kernels.cuda.runtime import KernelText
from qsim_ex.precision import Precision

NAME = "adjoint"

_BLOCKS = 2
"""The thread blocks that a multiprocessor holds at the same time: a thread has two states in its registers."""

_OTHERS = 96
"""The bytes of arguments that this kernel has besides those of the interpreter, or more."""


@functools.cache
def text(precision: Precision, capacity: Capacity | None, seldom: bool) -> KernelText:
    """Return the kernel for a precision; seldom: whether it has the operations that are seldom.

    capacity: what it takes by value, for states that share their numbers; None for the one that reads all from memory.
    """
    cuda, geometry = precision.storage.cuda, precision.geometry
    head = [*cuda.head(), "typedef unsigned long long u64;", f"typedef {cuda.pair or cuda.amplitude} quad;"]
    head += [f"#define TILE {geometry.tile_bits}", f"#define BOUNDS {geometry.threads}, {_BLOCKS}"]
    head += ["#define SELDOM"] if seldom else []
    if capacity:
        head += [f"#define WORDS {capacity.words}", f"#define NUMBERS {capacity.numbers // 16}"]
    return KernelText("\n".join([*head, ""]) + cuda.written(interpreter.part("functions.cu") + _own()), NAME)


def shipped(precision: Precision) -> list[KernelText]:
    """Return the kernels that come with the package: those without what is seldom."""
    return [text(precision, capacity, False) for capacity in (MANY, None)]


def texts(precision: Precision) -> list[KernelText]:
    """Return all kernels for a precision."""
    return [*shipped(precision), *(text(precision, capacity, True) for capacity in (MANY, None))]


def capacity_for(words: int, numbers: int, room: int) -> Capacity | None:
    """Return what the kernel takes by value that runs a program of so many words, with so many bytes of numbers.

    None if it has to read all from memory. room: the bytes that a kernel may take by value.
    """
    most = MANY
    fits = words <= most.words and numbers <= most.numbers and most.room + _OTHERS <= room
    return most if fits else None


def _own() -> str:
    folder = resources.files(__package__).joinpath("adjoint_kernels")
    return "".join(folder.joinpath(file).read_text(encoding="utf-8") for file in ("collect.cu", "adjoint.cu"))
