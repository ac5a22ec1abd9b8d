"""A row of the gate table: a gate by its structure, its matrix, and its names in Qiskit and Cirq."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.cirq_gates import CirqGates
from qsim_ex.circuit.derivatives import Derivative
from qsim_ex.circuit.ops import Pattern
from qsim_ex.circuit.rotations import Angles, Entry

Entries = Sequence[Entry]
"""The entries of a matrix, flat in C order: each a number, or an array of one for each set of parameters."""


def constantly(entries: Entries) -> Callable[[], Entries]:
    """Return the function of a row without parameters, whose entries are always the same."""
    return lambda: entries


class Factor(NamedTuple):
    """A gate of the table with its parameters, on the same arguments or, a global phase, on none."""

    name: str
    parameters: tuple[Angles, ...]


@dataclass(frozen=True)
class Gate:
    """One row of the gate table; the head of `gates.py` describes the columns."""

    name: str
    qubits: int
    mixes: tuple[int, ...]
    reads: tuple[int, ...]
    when: tuple[int, ...]
    pattern: Pattern
    matrix: Callable[..., Entries]
    parameters: tuple[str, ...] = ()
    qiskit: str | None = None
    cirq: tuple[CirqGates, ...] = ()
    factors: Callable[..., tuple[Factor, ...]] | None = None
    derivative: Derivative | None = None
    controls: int = 0
    of: str = ""

    @cached_property
    def constants(self) -> NDArray[np.complex128]:
        """The flat entries [size] of a row without parameters, read only."""
        out: NDArray[np.complex128] = self.entries(np.empty((1, 0)))[0]
        out.setflags(write=False)
        return out

    def entries(self, parameters: NDArray[np.float64]) -> NDArray[np.complex128]:
        """Return the flat entries [count, size] for an array [count, number of parameters]."""
        columns = self.matrix(*(parameters[:, k] for k in range(len(self.parameters))))
        out = np.empty((len(parameters), len(columns)), dtype=np.complex128)
        for k, column in enumerate(columns):
            out[:, k] = column
        return out

    def derivatives(self, parameters: NDArray[np.float64]) -> NDArray[np.complex128]:
        """Return the derivatives of the entries, [count, parameters, size], for parameters [count, parameters]."""
        assert self.derivative is not None
        count, size = len(parameters), len(self.pattern)
        out = np.empty((count, len(self.parameters), size), dtype=np.complex128)
        columns = (parameters[:, k] for k in range(len(self.parameters)))
        for k, entries in enumerate(self.derivative(*columns)):
            for e, column in enumerate(entries):
                out[:, k, e] = column
        return out
