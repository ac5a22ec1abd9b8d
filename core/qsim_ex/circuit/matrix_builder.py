"""The part of the builder that appends what is given by matrices: gates, diagonals, multiplexers and channels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.circuit import check, many
from qsim_ex.circuit.known_channels import checked_kraus, kind_of
from qsim_ex.circuit.matrices import UnitaryMatrix, kept_pattern, kept_wires
from qsim_ex.circuit.ops import ALWAYS, Channel, Entry, Instruction, Op, Pattern, When, mask_of, pattern
from qsim_ex.circuit.placed_gate import OperandBuilder
from qsim_ex.errors import MatrixError

_wires = lru_cache(maxsize=4096)(check.wires)  # of matrices, whose wires come again


@lru_cache(maxsize=64)
def _full(num_mixes: int, num_reads: int) -> Pattern:
    return bytes([Entry.COMPLEX]) * (1 << (2 * num_mixes + num_reads))


class MatrixBuilder:
    """The part of a `CircuitBuilder` that appends matrices: its attributes are the builder's."""

    num_qubits: int
    _instructions: list[Instruction]
    _operands: OperandBuilder
    # Equal channels share their operands, since noise adds the same channel many times.
    _channels: dict[tuple[int, bytes], tuple[int, int, bool, bool]]
    # Constant arrays that were checked, with their contents, by identity, wires and tolerance.
    _checked: dict[tuple[int, int, float | None], tuple[NDArray[np.complex128], tuple[int, bytes], ArrayLike]]
    # Channels by the identity of their array, which is kept so that no other has it, their wires and their name.
    _repeated: dict[tuple[int, tuple[int, ...], str], tuple[ArrayLike, Instruction]]

    if TYPE_CHECKING:  # the builder's

        def gate(self, name: str, wires: Sequence[int], *parameters: float) -> Self:
            """Append a gate of the table."""

        def _check_finite(self, parameters: tuple[float, ...], name: str) -> None: ...

    def unitary(
        self,
        matrix: ArrayLike | UnitaryMatrix,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
        name: str = "unitary",
        tolerance: float | None = None,
    ) -> Self:
        """Append a unitary matrix [2^k, 2^k] on k wires; raises `MatrixError` if it is not unitary.

        Exact zeros are kept as structure; a diagonal matrix mixes nothing. `unitary_matrices` checks many at once.
        """
        if isinstance(matrix, UnitaryMatrix):
            if matrix.size == 1 << len(wires):
                self._append_checked(matrix, tuple(wires), tuple(controls), control_values, name)
                return self
            matrix = matrix.array()
        array = check.unitary(matrix, len(wires), name, tolerance)
        if not (array - np.diag(np.diagonal(array))).any():
            return self.diagonal(np.diagonal(array), wires, controls=controls, control_values=control_values, name=name)
        of = np.where(array == 0, int(Entry.ZERO), int(Entry.COMPLEX)).astype(np.uint8).tobytes()
        self._append_literal(tuple(wires), (), controls, control_values, of, array, name)
        return self

    def unitaries(
        self, matrices: Sequence[UnitaryMatrix], wires: Sequence[tuple[int, ...]], *, name: str = "unitary"
    ) -> Self:
        """Append many checked matrices, ``matrices[k]`` on ``wires[k]``; it is faster than as many calls of `unitary`.

        Raises what `unitary` raises, and appends nothing then.
        """
        for matrix, on in zip(matrices, wires, strict=True):
            if matrix.size != 1 << len(on):
                self.unitary(matrix, on, name=name)
        mixes = [_wires(on, self.num_qubits, name) for on in wires]
        many.append_matrices(self._instructions, self._operands, matrices, mixes, name)
        return self

    def diagonal(
        self,
        entries: ArrayLike,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
        name: str = "diagonal",
    ) -> Self:
        """Append a diagonal unitary matrix, given by its 2^k entries, on k wires; raises `MatrixError`."""
        array = check.diagonal(entries, len(wires), name)
        reads = tuple(1 << check.wire(w, self.num_qubits, name) for w in wires)
        self._append_literal((), reads, controls, control_values, _full(0, len(wires)), array, name, tuple(wires))
        return self

    def multiplexer(
        self,
        matrices: ArrayLike,
        selectors: Sequence[int],
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
        name: str = "multiplexer",
    ) -> Self:
        """Append a unitary matrix on k wires for each value of s selector wires.

        matrices: [2^s, 2^k, 2^k], one for each value. Raises `MatrixError`.
        """
        blocks = np.asarray(matrices)
        if blocks.ndim != 3:
            raise MatrixError(
                f"{name}: expected matrices of shape [2^s, 2^k, 2^k], got {blocks.shape}; pass one matrix for each "
                "value of the selectors."
            )
        if len(blocks) != 1 << len(selectors):
            raise MatrixError(
                f"{name}: expected {1 << len(selectors)} matrices for {len(selectors)} selectors, got {len(blocks)}; "
                "pass one for each value."
            )
        array = np.array([check.unitary(block, len(wires), name, None) for block in blocks])
        reads = tuple(1 << check.wire(w, self.num_qubits, name) for w in selectors)
        of = _full(len(wires), len(selectors))
        self._append_literal(tuple(wires), reads, controls, control_values, of, array, name, tuple(selectors))
        return self

    def channel(
        self, kraus: ArrayLike, wires: Sequence[int], *, name: str = "channel", tolerance: float | None = None
    ) -> Self:
        """Append a channel ρ → Σ K ρ K† on k wires, given by its Kraus matrices [count, 2^k, 2^k].

        Zero matrices are dropped; a channel with one matrix is appended as a unitary operation.
        tolerance: the largest entry of Σ K†K − 1 that is taken for rounding. Raises `MatrixError` for a wrong shape
        and for NaN, `NoiseError` for a sum that is not 1, for no matrix at all, and for too many wires.
        """
        repeats = id(kraus), tuple(wires), name
        if repeats in self._repeated:
            self._instructions.append(self._repeated[repeats][1])
            return self
        constant = isinstance(kraus, np.ndarray) and not kraus.flags.writeable
        checked = self._checked.get((id(kraus), len(wires), tolerance)) if constant else None
        if checked is None:
            how = len(wires), name, tolerance
            if constant and (given := np.asarray(kraus)).dtype.char == "D":
                array, entries = checked_kraus(given.tobytes(), given.shape, *how)
            else:
                array = check.kraus(kraus, *how)
                entries = array.tobytes()
            checked = array, (len(wires), entries), kraus
            if constant:
                self._checked[id(kraus), len(wires), tolerance] = checked
        array, known, _ = checked
        if len(array) == 1:
            return self.unitary(array[0], wires, name=name, tolerance=tolerance)
        numbers = check.wires(wires, self.num_qubits, name)
        if known not in self._channels:
            self._channels[known] = self._operands.literal(array), len(array), *kind_of(known[1], len(array))
        offset, count, mixed, product = self._channels[known]
        self._instructions.append(Channel(numbers, count, offset, mixed, name, product))
        if constant:
            self._repeated[repeats] = kraus, self._instructions[-1]
        return self

    def pauli_rotation(
        self,
        angle: float,
        paulis: str,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Self:
        """Append exp(−i·angle/2·P); ``paulis[k]`` in "IXYZ" acts on ``wires[k]``.

        It is one read of a parity between basis changes (Nielsen and Chuang, section 4.7.3). Controls act on the
        parity's phases alone, since the basis changes cancel where the controls do not hold.
        """
        check.paulis(paulis, wires)
        self._check_finite((angle,), "pauli_rotation")
        acting = [(p, w) for p, w in zip(paulis, wires, strict=True) if p != "I"]
        check.wires((*wires, *controls), self.num_qubits, "pauli_rotation")
        for p, w in acting:
            if p == "Y":
                self.gate("sdg", [w])
            if p != "Z":
                self.gate("h", [w])
        entries = np.exp(np.array([-0.5j, 0.5j]) * angle)
        reads = (mask_of(tuple(w for _, w in acting)),) if acting else ()
        if not acting:
            entries = entries[:1]
        self._append_parametric_parity(entries, reads, controls, control_values)
        for p, w in acting:
            if p != "Z":
                self.gate("h", [w])
            if p == "Y":
                self.gate("s", [w])
        return self

    def _when(self, controls: Sequence[int], control_values: int | None) -> When:
        if not controls:
            return ALWAYS
        values = -1 if control_values is None else control_values
        held = tuple(w for k, w in enumerate(controls) if values >> k & 1)
        return When(mask_of(tuple(controls)), mask_of(held))

    def _append_checked(
        self, matrix: UnitaryMatrix, wires: tuple[int, ...], controls: tuple[int, ...], values: int | None, name: str
    ) -> None:
        mixes = _wires((*wires, *controls), self.num_qubits, name)[: len(wires)]
        offset = self._operands.row_of(matrix.entries, matrix.row)
        when = self._when(controls, values)
        if matrix.pattern is None:
            of, reads = _full(0, len(wires)), tuple([1 << wire for wire in mixes])
            self._instructions.append(Op((), reads, when, of, offset, name))
        else:
            self._instructions.append(Op(mixes, (), when, matrix.pattern, offset, name))

    def _append_parametric_parity(
        self,
        entries: NDArray[np.complex128],
        reads: tuple[int, ...],
        controls: Sequence[int],
        control_values: int | None,
    ) -> None:
        offset = self._operands.literal(entries)
        when = self._when(controls, control_values)
        self._instructions.append(Op((), reads, when, pattern("c" * entries.size), offset, "pauli_rotation"))

    def _append_literal(
        self,
        mixes: tuple[int, ...],
        reads: tuple[int, ...],
        controls: Sequence[int],
        control_values: int | None,
        of: Pattern,
        entries: NDArray[np.complex128],
        name: str,
        read_wires: tuple[int, ...] = (),
    ) -> None:
        mixes = check.wires((*mixes, *read_wires, *controls), self.num_qubits, name)[: len(mixes)]
        offset = self._operands.literal(entries)
        when = self._when(controls, control_values)
        self._instructions.append(Op(kept_wires(mixes), reads, when, kept_pattern(of), offset, name))
