"""A state over processes gets other wires where its parts are, also after processes have got other numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.states import random_state
from support.together import together

from qsim_ex import StateVector
from qsim_ex.comm.connection import connected
from qsim_ex.comm.protocol import Communicator

WIRES = 6
PSI = random_state(WIRES)


def with_other_wires(state: StateVector) -> np.ndarray:
    """Give processes other numbers, then clone the state, add two wires and remove them again, and a third at 1."""
    state.permute([3, 5, 0, 4, 1, 2])
    with state.clone() as other:
        other.add_wires(2)
        other.gate("x", [7]).permute([7, 1, 5, 3, 4, 2, 6, 0])
        other.remove_wires([7, 6])
        assert np.allclose(other.to_numpy(), state.to_numpy(), rtol=0, atol=1e-12)
    return state.to_numpy()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"virtual_peers": 2},
        {"device_wires": 3, "host_memory": "whole"},
        {"device_wires": 3, "host_memory": "spread"},
    ],
)
def test_other_wires_after_other_numbers(options: dict[str, Any]) -> None:
    """Whichever process has which part, cloning, adding and removing wires leave every amplitude what it was."""

    def run(end: Communicator) -> np.ndarray:
        given: Any = {"device": "cpu", "threads": 1, "processes": 4, **options}
        with connected(end, this_thread=True), StateVector(WIRES, initial=PSI, **given) as state:
            return with_other_wires(state)

    for found in together(4, run):
        assert np.allclose(found, PSI, rtol=0, atol=1e-12)
