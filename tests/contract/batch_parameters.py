"""Every parameter of `BatchedStateVector`, and what was decided about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from contract.asked_parameters import ASKED, Shared, collapsed
from contract.decided import ANGLES, OTHERS, Call, Method, basis, cancels, gives, product, seeded
from contract.engine_parameters import OPERANDS, turned
from contract.state_parameters import asked

from qsim_ex import BatchedStateVector, Options

ROWS = (product(*ANGLES), product(*OTHERS))


def _both(expected: Callable[[Any], Any]) -> Any:
    return np.array([expected(row) for row in ROWS])


def ours() -> BatchedStateVector:
    """Two states of three wires; the wires of each are turned by angles of their own."""
    return BatchedStateVector(2, 3, device="cpu").apply(turned(*ANGLES), OPERANDS)


def _batch(method: str, read: Callable[[Any, Any], Any] | None = None) -> Call:
    """read: of the batch and of what the method gave."""

    def call(**given: Any) -> Any:
        with ours() as states:
            found = asked(states, method, given)
            found = read(states, found) if read else found
            return np.array(found.to_numpy() if isinstance(found, BatchedStateVector) else found)

    return call


def _itself(states: Any, _: Any) -> Any:
    return states.to_numpy()


def _density(wire: int) -> Any:
    """Reduced density matrices of product states: of each, that of the wire alone."""
    alone = [product(angles[wire]) for angles in (ANGLES, OTHERS)]
    return np.array([np.outer(one, one) for one in alone])


def _alone(name: str, shared: Shared) -> Method:
    return shared.of(lambda read: _batch(name, read), _both)


_BITS = {"wires": [0, 1, 2]}
_RESET = np.array([product(0.0, *angles[1:]) for angles in (ANGLES, OTHERS)])
BATCH: Mapping[str, Method] = {
    "BatchedStateVector": Method(
        lambda **given: BatchedStateVector(**given, device="cpu"),
        {"rows": 1, "num_wires": 2},
        {
            "rows": gives(2, [basis(2, 0)] * 2),
            "num_wires": gives(3, [basis(3, 0)]),
            "initial": gives([1, 2], [basis(2, 1), basis(2, 2)], rows=2),
            "options": gives(Options(precision="single"), 32, lambda **g: BatchedStateVector(**g, device="cpu").nbytes),
            "array": gives(np.array([product(*ANGLES[:2])], dtype=complex), [product(*ANGLES[:2])]),
        },
    ),
    "BatchedStateVector.apply": Method(
        lambda **given: BatchedStateVector(2, 3, device="cpu").apply(**given),
        {"circuit": turned(*ANGLES)},
        {
            "circuit": gives(turned(*OTHERS), [product(*OTHERS)] * 2),
            "operands": gives(OPERANDS, ROWS),
            "cancel": cancels(),
        },
    ),
    "BatchedStateVector.measure": Method(
        _batch("measure"),
        {"wires": [0], "random": 0.5},
        {
            "wires": gives([2, 0], [3, 3], random=0.99),  # the last of the values is found above 0.94
            "random": gives([0.95, 0.5], [1, 0]),
            "seed": seeded(**_BITS, random=None),
            "collapse": gives("reset", _RESET, _batch("measure", _itself), random=0.95),
        },
    ),
    "BatchedStateVector.collapse": Method(
        _batch("collapse", _itself),
        {"wires": [0], "values": 1},
        {
            "wires": gives([2], _both(lambda row: collapsed(row, 2, 1))),
            "values": gives([0, 1], [collapsed(ROWS[0], 0, 0), collapsed(ROWS[1], 0, 1)]),
            "mode": gives("reset", _RESET),
        },
    ),
    "BatchedStateVector.density": Method(_batch("density"), {"wires": [0]}, {"wires": gives([1], _density(1))}),
    "BatchedStateVector.draw": Method(
        lambda **given: BatchedStateVector(2, 3, device="cpu", initial=[5, 2]).draw(**given),
        {"shots": 2},
        {
            "shots": gives(3, [[5] * 3, [2] * 3]),
            "seed": seeded(lambda **given: ours().draw(**given), shots=40),
        },
    ),
    "BatchedStateVector.sample": Method(
        lambda **given: BatchedStateVector(2, 3, device="cpu", initial=[5, 2]).sample(**given),
        {"shots": 2},
        {
            "shots": gives(3, [[[1, 0, 1]] * 3, [[0, 1, 0]] * 3]),
            "wires": gives([1, 2], [[[0, 1]] * 2, [[1, 0]] * 2]),
            "seed": seeded(lambda **given: ours().sample(**given), shots=40),
            "packed": gives(True, [[[5]] * 2, [[2]] * 2]),
        },
    ),
    "BatchedStateVector.take": Method(
        _batch("take"), {"rows": [0]}, {"rows": gives([1, 0, 1], [ROWS[1], ROWS[0], ROWS[1]])}
    ),
    "BatchedStateVector.row": Method(lambda **given: ours().row(**given), {"row": 0}, {"row": gives(1, ROWS[1])}),
    **{f"BatchedStateVector.{name}": _alone(name, shared) for name, shared in ASKED.items()},
}
