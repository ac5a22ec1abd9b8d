"""What is written out of a structure, once for all bindings that come.

Which numbers of a structure are angles nobody says, so bindings are compared: what has differed is taken to be a phase
that varies, and what has not is a number. A binding that is other than those before adds to what varies, and the
circuit is written again, a few times at most.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Op
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.structure import Structure
from qsim_ex.native.library import check_cancelled, function
from qsim_ex.planning.written.out import WrittenCircuit

Operands = NDArray[np.complex128]


class WrittenBindings:
    """Writes gates for all bindings that come; see `of`. It may be asked by several threads.

    gates: the structure. write: returns what is written for some bindings of it, None if that cannot be.
    """

    def __init__(self, gates: Structure, write: Callable[[Circuit], WrittenCircuit | None]) -> None:
        self._gates, self._write = gates, write
        self._samples: Operands | None = None  # numbers of bindings, matrix by matrix; see `_compare`
        self._latest: WrittenCircuit | None = None
        self._over = self._differ = False
        self._lock = Lock()

    @property
    def compares_nothing(self) -> bool:
        """Whether all bindings so far are one, which is all that is written, if that can be."""
        return not self._differ

    def after(self, other: WrittenBindings) -> None:
        """Compare the bindings that another one has compared, if those differ and none came here; it is given up."""
        with self._lock:
            if self._samples is None and not other.compares_nothing:
                self._samples, self._differ = other._samples, True

    def of(self, bound: Bindings) -> WrittenCircuit | None:
        """Return what is written for some bindings and for those before; None if there is no such circuit."""
        bound = self._read_of(bound)
        with self._lock:
            rounds = 0 if self._over else thresholds.now.written_bindings + 1
            for _ in range(rounds):
                alone = self._samples is None and bound.count == 1
                if self._samples is None:
                    self._samples = bound.operands(0, 1)
                other = None if alone else self._other(bound)
                if other is None and self._latest is not None:
                    return self._latest
                self._differ |= other is not None
                if other is not None and not self._compare(*other):
                    break
                self._latest = self._write(Circuit.of_structure(self._gates, self._samples))
                if self._latest is None:
                    break
                if alone:
                    return self._latest
            self._over = True
            return None

    def _read_of(self, bound: Bindings) -> Bindings:
        """Leave out operands behind all that gates read; other circuits of the structure may have more or fewer."""
        total = self._total
        return Bindings(bound.count, lambda begin, end: bound.operands(begin, end)[:, :total])

    @cached_property
    def _total(self) -> int:
        """How many operands there are up to the last one that a gate reads."""
        return int(function("structure_operands")(self._gates.instructions, Op))  # since each first run asks

    @cached_property
    def _matrices(self) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Where matrices begin among the operands, and what is between them; and whether a gate reads each operand."""
        assert self._samples is not None
        matrices = {(one.operand, one.operand + len(one.pattern)) for one in self._gates.operations}
        begins, ends = np.array([*matrices], dtype=np.intp).reshape(-1, 2).T
        total = self._samples.shape[1]
        depth, edges = np.zeros(total + 1, dtype=np.int64), np.zeros(total + 1, dtype=np.bool_)
        np.add.at(depth, begins, 1)
        np.add.at(depth, ends, -1)
        edges[begins] = edges[ends] = edges[0] = True
        return np.flatnonzero(edges[:-1]), np.cumsum(depth[:-1]) > 0

    def _other(self, bound: Bindings) -> tuple[Operands, NDArray[np.bool_]] | None:
        """Return numbers of bindings that are not what they were taken to be, and which matrices; None if all fit.

        Each matrix is that of the first binding in which it is not.
        """
        assert self._samples is not None
        starts, read = self._matrices
        found, matrices = self._samples[0].copy(), np.zeros(len(starts), dtype=np.bool_)
        some = thresholds.now.operands_at_once // max(1, len(self._samples[0]))
        for begin, end in thresholds.pieces(bound.count, max(1, min(some, thresholds.now.bindings_at_once))):
            check_cancelled()
            operands = bound.operands(begin, end)
            known = self._latest
            wrong = operands != self._samples[0] if known is None else known.numbers.unfit(operands)
            wrong &= read
            if not wrong.any():
                continue
            of_matrix = np.logical_or.reduceat(wrong, starts, axis=1)
            new = of_matrix.any(axis=0) & ~matrices
            places = self._places(new)
            found[places] = operands[self._spread(of_matrix.argmax(axis=0))[places], places]
            matrices |= new
        return (found, matrices) if matrices.any() else None

    def _compare(self, operands: Operands, matrices: NDArray[np.bool_]) -> bool:
        """Take some matrices among those that are compared; return whether there is room.

        A matrix that was always the same so far has its place in the second row.
        """
        assert self._samples is not None
        starts, _ = self._matrices
        for sample in self._samples[1:]:
            same = np.logical_and.reduceat(sample == self._samples[0], starts) & matrices
            places = self._places(same)
            sample[places] = operands[places]
            matrices = matrices & ~same
        if not matrices.any():
            return True
        if len(self._samples) >= thresholds.now.written_bindings:
            return False
        places, row = self._places(matrices), self._samples[0].copy()
        row[places] = operands[places]
        self._samples = np.concatenate([self._samples, row[None]])
        return True

    def _spread(self, of_matrices: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return for each place of the operands what its matrix has."""
        assert self._samples is not None
        return np.repeat(of_matrices, np.diff(self._matrices[0], append=self._samples.shape[1]))

    def _places(self, matrices: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the places of the numbers of some matrices."""
        return np.flatnonzero(self._spread(matrices))
