"""Choices among Kraus matrices by random numbers, readings of classical bits, and operations that depend on them.

Outcomes are stored in columns, one for each choice (see `run.branches`): choice k in column k, and readings, which
have no matrix, in the last columns, counted from the end.

With probability p_k = ‖K_k ψ‖² / ‖ψ‖² matrix K_k is applied. p_k is at least the least eigenvalue λ_k of K_k†K_k. So
with a number u in [0, 1) the choice is k, whatever the state, if u is in the k-th of adjacent intervals of length λ_k.
Only beyond their end, with probability 1 − Σ λ_k, does the choice depend on the state; k then has the weight
p_k − λ_k. (Isakov et al., arXiv:2111.02396, section on noise, call it the deferral of normalisation.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.known_channels import factors
from qsim_ex.circuit.ops import Entry, Op, Pattern, plain

if TYPE_CHECKING:
    from qsim_ex.program.program import Program


# It is never changed; but a noisy circuit has many, and a frozen one takes three times as long to make.
@dataclass(eq=False, slots=True)
class Choice:
    """A random choice among some matrices, one of which is applied.

    kind: 'measure' (|0⟩⟨0| or |1⟩⟨1|), 'reset' (|0⟩⟨0| or |0⟩⟨1|), or 'channel'.
    number: its place among the choices of the program, and its column of outcomes.
    stream: the key of its random numbers, see `Answers.streams`.
    wires: one for a measurement or reset. operand, count: of a channel, see `ops.Channel`.
    mixed: whether it is chosen before the first segment runs. product: whether each matrix is a product of 2×2
        matrices.
    """

    kind: Literal["measure", "reset", "channel"]
    number: int
    stream: int
    wires: tuple[int, ...]
    operand: int = 0
    count: int = 2
    mixed: bool = False
    product: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for choices among the same matrices."""
        return self.kind, self.operand, self.count, len(self.wires), self.product

    @property
    def width(self) -> int:
        """The number of operands of the chosen matrix."""
        return sum(4 ** len(wires) for wires in self.groups)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The wires of each operation that applies the chosen matrix; a product has one operation for each wire."""
        return tuple((wire,) for wire in self.wires) if self.product else (self.wires,)


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """A reading of classical bits with their readout error, for a condition on them.

    clbits: the group of bits of one readout error. sources: the column of each bit's measurement; None for a bit that
        is 0. columns: the column of each bit's read value: −1, −2, … .
    measurement: which measurement into these bits is read, from 0. last: whether it is the last one of the circuit.
    given: the number of the bit among those that other parts of a circuit have measured, which is taken as it is; None
        for bits that are read with their error.
    """

    clbits: tuple[int, ...]
    sources: tuple[int | None, ...]
    columns: tuple[int, ...]
    measurement: int
    last: bool
    given: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Conditioned:
    """An operation under a condition on earlier outcomes; its operands are its matrix or 1.

    sources: for each bit of the condition the column that holds it; None for a bit that is 0.
    values: the values for which the operation is applied.
    """

    operation: Op
    sources: tuple[int | None, ...]
    values: tuple[int, ...]

    @property
    def width(self) -> int:
        """The number of operands of the operation."""
        return len(self.operation.pattern)

    def holds(self, outcomes: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether the condition holds in each branch, for outcomes [branches, columns]."""
        return np.isin(value_of(self.sources, outcomes), self.values)

    def identity(self) -> NDArray[np.complex128]:
        """Return the operands of a branch in which the condition does not hold."""
        size = 1 << len(self.operation.mixes)
        return np.tile(np.eye(size, dtype=np.complex128).reshape(-1), self.width // size**2)

    def classes(self) -> Pattern:
        """Return the class of each entry, which is the operation's entry or that of 1."""
        known = []
        for entry, is_one in zip(plain(self.operation.pattern), self.identity() == 1, strict=True):
            match Entry(entry):
                case Entry.ZERO:
                    known.append(Entry.REAL if is_one else Entry.ZERO)
                case Entry.ONE:
                    known.append(Entry.ONE if is_one else Entry.REAL)
                case Entry.MINUS_ONE | Entry.REAL:
                    known.append(Entry.REAL)
                case Entry.IMAG:
                    known.append(Entry.COMPLEX if is_one else Entry.IMAG)
                case Entry.COMPLEX:
                    known.append(Entry.COMPLEX)
        return bytes(known)


def value_of(sources: tuple[int | None, ...], outcomes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the value of some classical bits in each branch, int64 [branches]; bit k is in column ``sources[k]``."""
    value = np.zeros(len(outcomes), dtype=np.int64)
    for k, source in enumerate(sources):
        if source is not None:
            value |= outcomes[:, source].astype(np.int64) << k
    return value


@dataclass(frozen=True, eq=False, slots=True)
class GatheredOperands:
    """The layout of a segment's operands: 0 and 1, some of the circuit's operands, and the chosen matrices.

    taken: which of the circuit's operands follow the constants 0 and 1.
    inserted: what follows them, each with its `width`: matrices that were chosen, and operations under a condition.
    total: the number of operands.
    """

    taken: NDArray[np.int64]
    inserted: tuple[Choice | Conditioned, ...]
    total: int


Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
Values = NDArray[np.int64]

_ROUNDING = 1e-14
"""Entries of K†K off the diagonal that are smaller than this are taken for zero."""


@dataclass(frozen=True, eq=False, slots=True)
class Kraus:
    """The matrices of a choice.

    matrices: complex128 [count, d, d]. entries: complex128 [count, width], the operands of a trajectory for each of
    them: the matrix, or its factors.
    first: the number of entries of the first operation, which are multiplied by the scale.
    grams: K†K, complex128 [count, d, d]. gains: their diagonals, float64 [count, d]. diagonal: whether all grams are
    diagonal, so that probabilities depend on populations alone. least: the least eigenvalue of each gram.
    mean: tr(K†K)/d, the probability in the completely mixed state, and in every state if the channel is mixed-unitary.
    """

    matrices: Complex
    entries: Complex
    first: int
    grams: Complex
    gains: Floats
    diagonal: bool
    least: Floats
    mean: Floats

    def state_free(self, numbers: Floats) -> tuple[Values, Floats]:
        """Choose by numbers in [0, 1) without the state.

        Return the choices, −1 where a choice depends on the state, and the rest of each number, rescaled to [0, 1).
        """
        order = np.argsort(-self.least, kind="stable")
        ends = np.cumsum(self.least[order])
        found = np.searchsorted(ends, numbers, side="right")
        asks = found == len(ends)
        chosen = np.where(asks, -1, order[np.minimum(found, len(ends) - 1)])
        rest = np.where(asks, (numbers - ends[-1]) / max(1 - ends[-1], 1e-300), 0.0)
        return chosen.astype(np.int64), rest

    def populated(self, populations: Floats) -> Floats:
        """Return the probability of each matrix, [numbers, count], from populations of any sum, [numbers, d]."""
        found: Floats = populations @ self.gains.T / populations.sum(axis=1, keepdims=True)
        return found

    def dense(self, densities: Complex) -> Floats:
        """Return the probability of each matrix, [numbers, count], from density matrices of any trace.

        densities: complex128 [numbers, d, d].
        """
        traces = np.trace(densities, axis1=1, axis2=2).real
        found: Floats = np.einsum("kji,sij->sk", self.grams, densities).real / traces[:, None]
        return found

    def state_dependent(self, p: Floats, rest: Floats) -> tuple[Values, Floats]:
        """Return the choices that depend on the state, and the probability of each.

        p: the probability of each matrix, [numbers, count]. rest: the rest of the numbers, as `state_free` returns it.
        """
        ends = np.cumsum(np.maximum(p - self.least, 0), axis=1)
        chosen = (ends <= np.minimum(rest * ends[:, -1], np.nextafter(ends[:, -1], -1))[:, None]).sum(axis=1)
        return chosen, p[np.arange(len(p)), chosen]

    def mixed(self, numbers: Floats) -> Values:
        """Return the choices of a mixed-unitary channel for numbers in [0, 1)."""
        ends = np.cumsum(self.mean)
        found = np.searchsorted(ends, numbers * ends[-1], side="right")
        return np.asarray(np.minimum(found, len(ends) - 1), dtype=np.int64)


def entropy(program: Program, operands: Complex) -> float:
    """Return the approximate entropy of the choices at branch points in bits: 2^entropy shots choose differently."""
    channels, of = channels_of(program)
    found = 0.0
    for choice, times in zip(channels, np.bincount(of, minlength=len(channels)).tolist(), strict=True):
        if not choice.mixed:
            p = kraus_of(choice, operands).mean
            found -= times * float((p * np.log2(np.maximum(p, 1e-300))).sum())
    return found


def unlikely(program: Program, operands: Complex) -> float:
    """Return about the share of trajectories that do not make the most likely choice everywhere."""
    channels, of = channels_of(program)
    found = 1.0
    for choice, times in zip(channels, np.bincount(of, minlength=len(channels)).tolist(), strict=True):
        found *= float(kraus_of(choice, operands).mean.max()) ** times
    return 1 - found


@Kept
def channels_of(program: Program) -> tuple[tuple[Choice, ...], tuple[int, ...]]:
    """Return the choices of a program that are among different matrices, and for every choice the number of its own."""
    known: dict[tuple[object, ...], int] = {}
    found: list[Choice] = []
    numbers = []
    for choice in program.choices:
        number = known.setdefault(choice.key, len(found))
        if number == len(found):
            found.append(choice)
        numbers.append(number)
    return tuple(found), tuple(numbers)


_PROJECTIONS = np.array([[1, 0, 0, 0], [0, 0, 0, 1]], dtype=np.complex128)
_RESETS = np.array([[1, 0, 0, 0], [0, 1, 0, 0]], dtype=np.complex128)


def every_kraus(program: Program, operands: Complex) -> list[Kraus]:
    """Return the matrices of all choices of a program; equal channels of a circuit share their operands."""
    channels, of = channels_of(program)
    found = [kraus_of(channel, operands) for channel in channels]
    return [found[number] for number in of]


def kraus_of(choice: Choice, operands: Complex) -> Kraus:
    """Return the matrices of a choice, for a circuit's operands [total]."""
    if choice.kind != "channel":
        return _projections(choice.kind)
    at, width = choice.operand, choice.count * 4 ** len(choice.wires)
    return _kraus(operands[at : at + width].tobytes(), choice.count, choice.product and len(choice.wires) > 1)


@lru_cache(maxsize=2)
def _projections(kind: str) -> Kraus:
    return _kraus((_PROJECTIONS if kind == "measure" else _RESETS).tobytes(), 2, product=False)


@lru_cache(maxsize=4096)
def _kraus(data: bytes, count: int, product: bool) -> Kraus:
    """Return the matrices with given bytes; cached, since the channels of a noisy machine are in many circuits."""
    size = math.isqrt(len(data) // (16 * count))
    matrices = np.frombuffer(data, dtype=np.complex128).reshape(count, size, size)
    grams = matrices.conj().transpose(0, 2, 1) @ matrices
    mean = np.trace(grams, axis1=1, axis2=2).real / size
    # Rounding must not choose, without the state, a matrix of probability zero in it.
    least = np.maximum(np.linalg.eigvalsh(grams)[:, 0] - 1e-14, 0)
    entries = matrices.reshape(count, -1)
    if product:
        entries = np.array([np.concatenate([f.reshape(-1) for f in factors(one)]) for one in matrices])
    gains = np.diagonal(grams, axis1=1, axis2=2).real.copy()
    diagonal = bool(np.abs(grams - gains[:, :, None] * np.eye(size)).max() < _ROUNDING)
    return Kraus(matrices, entries, 4 if product else size * size, grams, gains, diagonal, least, mean)
