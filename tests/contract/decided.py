"""The decisions about a parameter: it has the effect it should, it is a seed, it ends the work, or it is refused.

A `Method` is called with its usual parameters and with another value for one of them. What is found then is held
against numbers that were worked out by hand, or by definition, and must differ from what is found without it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from contract.entries import numbers
from numpy.typing import ArrayLike, NDArray

from qsim_ex.errors import Cancelled

TOLERANCE = 1e-6

Call = Callable[..., Any]


@dataclass(frozen=True)
class Method:
    """call: takes the method's parameters by name. usual: those that it is given. decided: one for each parameter."""

    call: Call
    usual: Mapping[str, Any]
    decided: Mapping[str, Decision]


Decision = Callable[[Method, str], None]
"""Looks at one parameter of a method, and fails unless it is as was decided."""


def gives(value: Any, expected: ArrayLike, call: Call | None = None, **also: Any) -> Decision:
    """With this value the parameter gives these numbers, and without it others.

    call: reads something else of the method than usual. also: what is given besides, both times.
    """

    def decide(method: Method, name: str) -> None:
        ask = call or method.call
        usual = {**method.usual, **also}
        found, before = _array(ask(**{**usual, name: value})), _array(ask(**usual))
        wanted = np.asarray(expected)
        assert found.shape == wanted.shape
        assert np.allclose(found, wanted, rtol=0, atol=TOLERANCE)
        assert before.shape != wanted.shape or not np.allclose(before, wanted, rtol=0, atol=100 * TOLERANCE)

    return decide


def refuses(value: Any, error: type[Exception], words: str, call: Call | None = None, **also: Any) -> Decision:
    """This value is refused in words that say so, and the usual one is not."""

    def decide(method: Method, name: str) -> None:
        ask = call or method.call
        ask(**{**method.usual, **also})
        with pytest.raises(error, match=words):
            ask(**{**method.usual, **also, name: value})

    return decide


def seeded(call: Call | None = None, make: Callable[[int], Any] = int, **also: Any) -> Decision:
    """The same seed gives the same, another one something else. make: of a number, what is given as a seed."""

    def decide(method: Method, name: str) -> None:
        def drawn(seed: int) -> NDArray[Any]:
            return _array((call or method.call)(**{**method.usual, **also, name: make(seed)}))

        first = drawn(5)
        assert np.array_equal(first, drawn(5))
        assert any(not np.array_equal(first, drawn(other)) for other in range(6, 12))

    return decide


def cancels(**also: Any) -> Decision:
    """An event that is set ends the work; one that is not set leaves it as it is."""

    def decide(method: Method, name: str) -> None:
        usual = {**method.usual, **also}
        event = threading.Event()
        assert np.array_equal(_array(method.call(**{**usual, name: event})), _array(method.call(**usual)))
        event.set()
        with pytest.raises(Cancelled):
            method.call(**{**usual, name: event})

    return decide


def _array(found: Any) -> NDArray[Any]:
    return np.asarray(numbers(found))


# --- states to work with: every wire turned by an angle of its own ----------------------------------------------------

ANGLES = (0.6, 1.1, 2.0)
OTHERS = (1.4, 0.3, 2.6)


def product(*angles: float) -> NDArray[Any]:
    """Amplitudes [2^n] of wires that were turned by RY from |0>; wire 0 is least significant."""
    found = np.ones(1)
    for angle in angles:
        found = np.kron([np.cos(angle / 2), np.sin(angle / 2)], found)
    return found


def basis(wires: int, value: int) -> NDArray[Any]:
    """Amplitudes [2^wires] of a basis state."""
    return np.eye(1 << wires)[value]


def in_order(state: NDArray[Any], wires: list[int]) -> NDArray[Any]:
    """The amplitudes with bit k of their number being wire ``wires[k]``."""
    count = len(wires)
    return state.reshape((2,) * count).transpose([count - 1 - wire for wire in reversed(wires)]).reshape(-1)


def after(state: NDArray[Any], matrix: ArrayLike, wire: int, control: int | None = None, at: int = 1) -> NDArray[Any]:
    """The amplitudes after a matrix on one wire, where `control`, if there is one, is `at` its value."""
    number = np.arange(len(state))
    bit, entries = number >> wire & 1, np.asarray(matrix)
    new = entries[bit, 0] * state[number & ~(1 << wire)] + entries[bit, 1] * state[number | 1 << wire]
    return new if control is None else np.where(number >> control & 1 == at, new, state)


def held(state: NDArray[Any], wire: int, value: int) -> NDArray[Any]:
    """The amplitudes where a wire has a value, and 0 elsewhere."""
    return np.where(np.arange(len(state)) >> wire & 1 == value, state, 0)


def chances(state: NDArray[Any], wire: int, **where: int) -> NDArray[Any]:
    """The probabilities of a wire to be 0 and 1; where: ``w2=1`` holds wire 2 at 1."""
    for name, value in where.items():
        state = held(state, int(name[1:]), value)
    return np.array([np.sum(np.abs(held(state, wire, value)) ** 2) for value in (0, 1)])
