"""Every parameter of the methods that a state and a batch of states have in common, and what was decided about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from contract.decided import Call, Decision, Method, after, chances, gives, held, in_order
from contract.engine_parameters import FLIP, Z
from numpy.typing import NDArray

from qsim_ex import PauliString, PauliSum

State = NDArray[Any]
Read = Callable[[Any, Any], Any]
Expected = Callable[[State], Any]


@dataclass(frozen=True)
class Changed:
    """A parameter's other value, and what is expected of each state then. also: what is given besides."""

    value: Any
    expected: Expected
    read: Read | None = None
    also: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Shared:
    """usual: the parameters of a method. changed: each of them. read: of the state and of what the method gave."""

    usual: Mapping[str, Any]
    changed: Mapping[str, Changed]
    read: Read | None = None

    def of(self, call: Callable[[Read | None], Call], expected: Callable[[Expected], Any]) -> Method:
        """The method of a state, or of a batch. expected: of what is expected of a state, what is of it, or of all."""
        decided: dict[str, Decision] = {
            name: gives(one.value, expected(one.expected), call(one.read or self.read), **one.also)
            for name, one in self.changed.items()
        }
        return Method(call(self.read), self.usual, decided)


def _ry(angle: float) -> NDArray[np.float64]:
    return np.array([[np.cos(angle / 2), -np.sin(angle / 2)], [np.sin(angle / 2), np.cos(angle / 2)]])


def _lies(state: Any, _: Any) -> Any:
    return state.array.copy()


def _itself(state: Any, _: Any) -> Any:
    return state.to_numpy()


def _value(matrix: Any, wire: int) -> Expected:
    return lambda state: np.vdot(state, after(state, matrix, wire))


def _sampled(_: Any, found: Any) -> Any:
    return found.shape[-2:]


_TURN = _ry(0.7)
_X0 = PauliSum((PauliString.parse("X", [0]),))
_CONTROLLED = {"controls": [1]}
_NUMBERS = [0.6, 0.8j]


def _set_at(start: int) -> Expected:
    return lambda state: np.concatenate([state[:start], _NUMBERS, state[start + 2 :]])


ASKED: Mapping[str, Shared] = {
    "gate": Shared(
        {"name": "rx", "wires": [0], "parameters": [0.7]},
        {
            "name": Changed("ry", lambda state: after(state, _TURN, 0)),
            "wires": Changed([2], lambda state: after(state, _TURN, 2), also={"name": "ry"}),
            "parameters": Changed([1.9], lambda state: after(state, _ry(1.9), 0), also={"name": "ry"}),
            "controls": Changed([1], lambda state: after(state, _TURN, 0, 1), also={"name": "ry"}),
            "control_values": Changed(
                0, lambda state: after(state, _TURN, 0, 1, 0), also={"name": "ry", **_CONTROLLED}
            ),
        },
    ),
    "unitary": Shared(
        {"matrix": FLIP, "wires": [0]},
        {
            "matrix": Changed(_TURN, lambda state: after(state, _TURN, 0)),
            "wires": Changed([2], lambda state: after(state, FLIP, 2)),
            "controls": Changed([1], lambda state: after(state, FLIP, 0, 1)),
            "control_values": Changed(0, lambda state: after(state, FLIP, 0, 1, 0), also=_CONTROLLED),
        },
    ),
    "set": Shared(
        {"values": [1.0, 0.0], "start": 0},
        {
            "values": Changed(_NUMBERS, _set_at(0)),
            "start": Changed(5, _set_at(5), also={"values": _NUMBERS}),
        },
        _itself,
    ),
    "probabilities": Shared(
        {"wires": [0]},
        {
            "wires": Changed([2], lambda state: chances(state, 2)),
            "where": Changed({2: 1}, lambda state: chances(state, 0, w2=1)),
        },
    ),
    "expectation": Shared(
        {"observable": Z[0]},
        {
            "observable": Changed(
                [Z[1], _X0], lambda state: [_value(np.diag([1, -1]), 1)(state), _value(FLIP, 0)(state)]
            )
        },
    ),
    "expectation_matrix": Shared(
        {"matrix": FLIP, "wires": [0]},
        {
            "matrix": Changed(_TURN, _value(_TURN, 0)),
            "wires": Changed([2], _value(FLIP, 2)),
        },
    ),
    "amplitudes": Shared(
        {"values": [0, 1]},
        {
            "values": Changed([6, 1, 1], lambda state: state[[6, 1, 1]]),
            "wires": Changed([2, 0, 1], lambda state: in_order(state, [2, 0, 1])[:2]),
        },
    ),
    "get": Shared(
        {},
        {
            "start": Changed(3, lambda state: state[3:]),
            "stop": Changed(5, lambda state: state[:5]),
        },
    ),
    "to_numpy": Shared({}, {"wires": Changed([1, 2, 0], lambda state: in_order(state, [1, 2, 0]))}),
    "permute": Shared(
        {"wires": [0, 1, 2]}, {"wires": Changed([1, 2, 0], lambda state: in_order(state, [1, 2, 0]))}, _lies
    ),
}


def collapsed(state: State, wire: int, value: int) -> State:
    """Return the state after a wire was found at a value, with norm 1."""
    return held(state, wire, value) / np.sqrt(chances(state, wire)[value])
