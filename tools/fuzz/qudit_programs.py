"""Draws programs of qudits for Cirq: matrices, shifts and clocks, controls by levels, channels, measured digits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from random import Random
from typing import Any

import cirq
import numpy as np
from numpy.typing import NDArray

from tools.fuzz.case import Line
from tools.fuzz.numbers import NAMES, Matrix

MOST_LEVELS = 5
MOST_VALUES = 40
"""The most values of all qids together, whose density matrix the oracle has."""


@lru_cache(maxsize=512)
def isometry(count: int, size: int, seed: int) -> Matrix:
    """Kraus matrices [count, size, size] without structure; one is a unitary matrix."""
    random = np.random.default_rng(seed)
    given = random.normal(size=(count * size, size)) + 1j * random.normal(size=(count * size, size))
    return np.linalg.qr(given)[0].reshape(count, size, size)


@lru_cache(maxsize=512)
def misreads(size: int, seed: int) -> NDArray[np.float64]:
    """P(read | true) [size, size] of a bad detector."""
    rows = np.eye(size) + 0.7 * np.random.default_rng(seed).random((size, size))
    return rows / rows.sum(axis=1, keepdims=True)


class Channel(cirq.Gate):
    """A channel on qids with some levels, of Kraus matrices or of unitary ones that are equally likely."""

    def __init__(self, shape: tuple[int, ...], count: int, seed: int, *, mixed: bool = False) -> None:
        self._shape, self._mixed = shape, mixed
        size = prod(shape)
        self._matrices = (
            np.array([isometry(1, size, seed + k)[0] for k in range(count)]) if mixed else isometry(count, size, seed)
        )

    def _qid_shape_(self) -> tuple[int, ...]:
        return self._shape

    def _has_mixture_(self) -> bool:
        return self._mixed

    def _mixture_(self) -> Any:
        return [(1 / len(self._matrices), one) for one in self._matrices] if self._mixed else NotImplemented

    def _kraus_(self) -> Any:
        return NotImplemented if self._mixed else list(self._matrices)


PROGRAM_NAMES = NAMES | {"cirq": cirq, "Channel": Channel, "isometry": isometry, "misreads": misreads}
"""What a program of qudits may name besides its own circuit."""


def shape_of(random: Random) -> tuple[int, ...]:
    """The levels of one to four qids, one of which has not two."""
    while True:
        shape = tuple(random.choice([2, 2, 3, 3, 4, 5, 1]) for _ in range(random.randint(1, 4)))
        if prod(shape) <= MOST_VALUES and {*shape} - {2, 1}:
            return shape


class QuditDraw:
    """A source of lines that append to the circuit `qc` on the qids `q`; keys: the levels of each that was measured."""

    def __init__(self, random: Random, shape: Sequence[int]) -> None:
        self.random, self.shape = random, shape
        self.keys: dict[str, tuple[int, ...]] = {}

    def some(self, most: int) -> list[int]:
        """Some qids, in any order."""
        return self.random.sample(range(len(self.shape)), self.random.randint(1, min(most, len(self.shape))))

    def on(self, qids: Sequence[int]) -> str:
        """Qids as arguments."""
        return ", ".join(f"q[{k}]" for k in qids)

    def levels(self, qids: Sequence[int]) -> tuple[int, ...]:
        """The levels of some qids."""
        return tuple(self.shape[k] for k in qids)

    def seed(self) -> int:
        """The seed of a matrix."""
        return self.random.randrange(50)

    def operation(self, exponent: str | None = None) -> str:
        """A unitary operation; exponent: of a power of a shift or of a clock, in place of a number."""
        random = self.random
        if random.random() < 0.5 or exponent is not None:
            (k,) = self.some(1)
            power = random.choice(["1", "2", "-1", str(round(random.uniform(-3, 3), 3))])
            kind = random.choice(["X", "Z", "Z"]) if self.shape[k] > 1 else "Z"
            dimension = f", dimension={self.shape[k]}" if self.shape[k] != 2 else ""
            made, taken = f"cirq.{kind}PowGate(exponent={exponent or power}{dimension})(q[{k}])", [k]
            if self.shape[k] == 1:
                made = f"cirq.IdentityGate(qid_shape=(1,))(q[{k}])"
        else:
            taken = self.some(2)
            shape = self.levels(taken)
            made = f"cirq.MatrixGate(isometry(1, {prod(shape)}, {self.seed()})[0], qid_shape={shape})({self.on(taken)})"
        free = [k for k in range(len(self.shape)) if k not in taken]
        if free and random.random() < 0.3:
            held = random.sample(free, random.randint(1, min(2, len(free))))
            values = [tuple(sorted(random.sample(range(d), random.randint(1, d)))) for d in self.levels(held)]
            made = f"cirq.ControlledOperation([{self.on(held)}], {made}, {values})"  # a shift forgets its levels
        return made

    def channel(self) -> str:
        """A channel, or a reset."""
        random, taken = self.random, self.some(1)
        if random.random() < 0.3:
            return f"qc.append(cirq.reset(q[{taken[0]}]))"
        mixed = ", mixed=True" if random.random() < 0.4 else ""
        return (
            f"qc.append(Channel({self.levels(taken)}, {random.randint(1, 3)}, {self.seed()}{mixed})({self.on(taken)}))"
        )

    def measurement(self, *, confused: bool = True) -> str:
        """A measurement under a key, inverted here and there, and confused if that may be."""
        random, more = self.random, ""
        if len(self.keys) >= 3:
            return f"qc.append({self.operation()})"
        taken = self.some(2)
        if random.random() < 0.3:
            more += f", invert_mask={tuple(random.random() < 0.5 and self.shape[k] > 1 for k in taken)}"
        if confused and random.random() < 0.2 and self.shape[taken[0]] > 1:
            more += f", confusion_map={{(0,): misreads({self.shape[taken[0]]}, {self.seed()})}}"
        name = f"k{len(self.keys)}"
        self.keys[name] = self.levels(taken)
        return f"qc.append(cirq.measure({self.on(taken)}, key={name!r}{more}))"

    def conditional(self) -> str:
        """An operation under a condition on a key."""
        if not self.keys:
            return f"qc.append({self.operation()})"
        name, shape = self.random.choice([*self.keys.items()])
        equal = f"sympy.Eq(sympy.Symbol({name!r}), {self.random.randrange(prod(shape))})"
        first = f"sympy.IndexedBase({name!r})[0] > {self.random.randrange(max(shape[0], 1))}"
        condition = self.random.choice([repr(name), equal, first])
        return f"qc.append(({self.operation()}).with_classical_controls({condition}))"

    def unitary(self, most: int, exponents: Sequence[str] = ()) -> list[Line]:
        """Unitary operations; exponents: of powers among them."""
        made = [self.operation() for _ in range(self.random.randint(1, most))]
        made += [self.operation(exponent) for exponent in exponents]
        self.random.shuffle(made)
        return [Line(f"qc.append({one})") for one in made]

    def noisy(self, most: int) -> list[Line]:
        """Unitary operations and channels."""
        kinds = [self.channel, lambda: f"qc.append({self.operation()})", lambda: f"qc.append({self.operation()})"]
        return [Line(self.random.choice(kinds)()) for _ in range(self.random.randint(1, most))]

    def chance(self, most: int, *, noisy: bool = True) -> list[Line]:
        """Unitary operations, measurements, conditions; noisy: and what leaves a mixed state of each record."""
        kinds = [lambda: f"qc.append({self.operation()})", lambda: self.measurement(confused=noisy), self.conditional]
        kinds += [self.channel] if noisy else []
        return [Line(self.random.choice(kinds)()) for _ in range(self.random.randint(2, most))]
