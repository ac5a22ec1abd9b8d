"""A readout error belongs to its measurement: what overwrites the bit later, in whatever way, is not misread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import numpy as np
import pytest

from qsim_ex import CircuitBuilder, ReadoutError, Simulator
from qsim_ex.errors import NotSupported

SHOTS = 4000
Method = Literal["automatic", "density_matrix"]
METHODS: tuple[Method, ...] = ("automatic", "density_matrix")
ONE = np.array([[0.6, 0.4], [0.3, 0.7]])
PAIR = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1], [0.0, 0.5, 0.5, 0.0], [0.2, 0.0, 0.2, 0.6]])
EACH = (
    ReadoutError((0,), ONE),
    ReadoutError((1,), ONE[::-1, ::-1]),
    ReadoutError((2,), ONE.T / ONE.sum(axis=0)[:, None]),
)
TOGETHER = (ReadoutError((0, 2), PAIR), ReadoutError((1,), ONE))


class Defined:
    """Writes a circuit on wires of which 1 is |1⟩, and knows the probability of each value of its bits."""

    def __init__(self, errors: Sequence[ReadoutError]) -> None:
        self.errors = tuple(errors)
        self.builder = CircuitBuilder(3, 3).gate("x", [1])
        self.chances = {0: 1.0}

    def measure(self, wires: Sequence[int], clbits: Sequence[int]) -> Defined:
        """Measure wires: their values are written, and then misread, each group as its row says."""
        self.builder.measure(wires, clbits)
        self._write(clbits, lambda _: sum((wire == 1) << k for k, wire in enumerate(wires)))
        for error in self.errors:
            if {*error.clbits} <= {*clbits}:
                self._misread(error)
        return self

    def store(self, clbits: Sequence[int], value: int) -> Defined:
        """Put a value into bits."""
        self.builder.store(self.builder.bits(clbits), self.builder.bits(clbits).constant(value, len(clbits)))
        self._write(clbits, lambda _: value)
        return self

    def copy(self, source: int, to: int) -> Defined:
        """Put a bit into another one."""
        self.builder.store(self.builder.bits([to]), self.builder.bits([source]))
        self._write([to], lambda bits: bits >> source & 1)
        return self

    @contextmanager
    def where(self, clbit: int) -> Iterator[None]:
        """Do what follows where a bit is 1."""
        others = {bits: p for bits, p in self.chances.items() if not bits >> clbit & 1}
        self.chances = {bits: p for bits, p in self.chances.items() if bits >> clbit & 1}
        with self.builder.branch(self.builder.bits([clbit])):
            yield
        self._add(others)

    @contextmanager
    def until(self, clbit: int) -> Iterator[None]:
        """Do what follows, which leaves a bit at 1, in a loop that ends where the bit is 1; it is 0 before."""
        with self.builder.loop(self.builder.bits([clbit]).invert()):
            yield

    def _write(self, clbits: Sequence[int], value: Callable[[int], int]) -> None:
        before, self.chances = self.chances, {}
        for bits, p in before.items():
            found, made = value(bits), bits
            for k, clbit in enumerate(clbits):
                made = made & ~(1 << clbit) | (found >> k & 1) << clbit
            self._add({made: p})

    def _misread(self, error: ReadoutError) -> None:
        before, self.chances = self.chances, {}
        for bits, p in before.items():
            true = sum((bits >> clbit & 1) << k for k, clbit in enumerate(error.clbits))
            for read, chance in enumerate(error.matrix[true]):
                made = bits
                for k, clbit in enumerate(error.clbits):
                    made = made & ~(1 << clbit) | (read >> k & 1) << clbit
                self._add({made: p * chance})

    def _add(self, more: dict[int, float]) -> None:
        for bits, p in more.items():
            self.chances[bits] = self.chances.get(bits, 0.0) + p


def stored(made: Defined) -> None:
    """A bit that was measured is overwritten."""
    made.measure([0, 1, 2], [0, 1, 2]).store([0], 0)


def register(made: Defined) -> None:
    """All bits are overwritten."""
    made.measure([0, 1, 2], [0, 1, 2]).store([0, 1, 2], 5)


def never_measured(made: Defined) -> None:
    """Bits that nothing measures are written."""
    made.store([0, 1, 2], 2)


def measured_again(made: Defined) -> None:
    """A measurement overwrites what was stored where another was measured."""
    made.measure([0, 2], [0, 2]).store([0, 1], 3).measure([1, 0], [0, 2])


def measured_on(made: Defined) -> None:
    """Another bit is measured after the store."""
    made.measure([0, 1], [0, 2]).store([2], 0).measure([1], [1])


def read_between(made: Defined) -> None:
    """A condition, and a store, read the bit before it is overwritten."""
    made.measure([0, 1], [0, 2]).copy(2, 1)
    with made.where(0):
        made.store([2], 1)
    made.store([0], 0)


def in_a_branch(made: Defined) -> None:
    """A bit is overwritten, and others are measured, where another bit is 1."""
    made.measure([0, 1], [0, 2]).measure([1], [1])
    with made.where(1):
        made.store([0], 1).measure([0], [1])


def measured_in_a_branch(made: Defined) -> None:
    """Bits are measured where another bit is 1, and one of them is overwritten in any case."""
    made.measure([1], [1])
    with made.where(1):
        made.measure([0, 1], [0, 2])
    made.store([2], 1)


def in_a_loop(made: Defined) -> None:
    """A loop measures bits and overwrites one of them."""
    with made.until(1):
        made.measure([0, 1], [0, 2]).store([2], 1).store([1], 1)


def before_a_loop(made: Defined) -> None:
    """A loop overwrites bits that were measured before it."""
    made.measure([0, 1], [0, 2])
    with made.until(1):
        made.store([1, 0], 1)


CIRCUITS = [
    stored, register, never_measured, measured_again, measured_on, read_between, in_a_branch, measured_in_a_branch,
    in_a_loop, before_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("errors", [EACH, TOGETHER], ids=["each", "together"])
@pytest.mark.parametrize("write", CIRCUITS, ids=lambda write: write.__name__)
def test_what_overwrites_a_measured_bit_is_not_misread(
    write: Callable[[Defined], None], errors: tuple[ReadoutError, ...], method: Method
) -> None:
    """Shots have the probabilities of the definition, where bits of one readout error are overwritten or all."""
    made = Defined(errors)
    write(made)
    result = Simulator(device="cpu", method=method).run(made.builder.build(), SHOTS, seed=3, readout=errors)
    counts = result.counts()
    for bits in range(8):
        p = made.chances.get(bits, 0.0)
        spread = np.sqrt(SHOTS * p * (1 - p))
        assert abs(counts.get(bits, 0) - SHOTS * p) <= 5 * spread + 1e-6, (bits, counts, made.chances)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("read", [False, True])
def test_a_bit_that_nothing_measures_is_not_misread(read: bool, method: Method) -> None:
    """Bits that nothing measures stay 0, and those of their readout error are read as beside a 0, by conditions too."""
    builder = CircuitBuilder(3, 4).gate("x", [1]).measure([1], [3])
    if read:
        with builder.condition([3], [1]):
            builder.gate("x", [2])
    errors = (ReadoutError((0,), ONE), ReadoutError((1, 3), PAIR))
    circuit = builder.measure([2], [2]).build()
    counts = Simulator(device="cpu", method=method).run(circuit, SHOTS, seed=3, readout=errors).counts()
    one = PAIR[2, 2] + PAIR[2, 3]  # that bit 3, which is 1, is read as 1
    assert set(counts) == ({0, 12} if read else {0, 8})
    assert abs(counts[0] - SHOTS * (1 - one)) <= 5 * np.sqrt(SHOTS * one * (1 - one))


@pytest.mark.parametrize("method", METHODS)
def test_bits_that_a_condition_read_are_not_read_anew(method: Method) -> None:
    """Where a part of a group is measured again after a condition read the group, the run is refused."""
    builder = CircuitBuilder(3, 3).measure([0, 1], [0, 2])
    with builder.condition([2], [1]):
        builder.gate("x", [2])
    simulator, errors = Simulator(device="cpu", method=method), (ReadoutError((0, 2), PAIR),)
    with pytest.raises(
        NotSupported, match=r"all bits of the readout error \[0, 2\] after a condition .* \[2, 1\] times"
    ):
        simulator.run(builder.measure([2], [0]).build(), 5, readout=errors)
    both = builder.measure([1], [2]).build()
    assert simulator.run(both, 5, readout=errors).shots == 5


@pytest.mark.parametrize("method", METHODS)
def test_a_condition_beside_blocks_acts_on_what_the_shot_tells(method: Method) -> None:
    """In a circuit with a block a bit is misread once, and a gate follows what was read then."""
    builder = CircuitBuilder(2, 2).gate("x", [0]).measure([0], [0])
    with builder.once():
        builder.reset([1])
    with builder.condition([0], [1]):
        builder.gate("x", [1])
    circuit, error = builder.measure([1], [1]).build(), (ReadoutError((0,), ONE),)
    counts = Simulator(device="cpu", method=method).run(circuit, SHOTS, seed=3, readout=error).counts()
    assert set(counts) == {0b00, 0b11}
    assert abs(counts[0b11] - SHOTS * ONE[1, 1]) <= 5 * np.sqrt(SHOTS * ONE[1, 0] * ONE[1, 1])
