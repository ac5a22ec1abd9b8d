"""Files that version 0.1 wrote, kept in tests/data/written_by_0_1, still load with the same meaning."""

from __future__ import annotations

import numpy as np
import pytest
from support.paths import DATA
from support.written_by_0_1 import STATES, circuit_of

from qsim_ex import StateVector, reference
from qsim_ex.files import saved_state
from qsim_ex.steps.algebra import units

FILES = DATA / "written_by_0_1"


@pytest.mark.parametrize("to", [{}, {"virtual_peers": 2}, {"device_wires": 2}], ids=["single", "peers", "migrated"])
@pytest.mark.parametrize("name", STATES)
def test_a_state_loads(name: str, to: dict[str, int]) -> None:
    """The file's amplitudes are those of its circuit by the definition of the gates, in every placement."""
    state = STATES[name]
    with StateVector.load(FILES / f"{name}.qsx", device="cpu", **to) as back:
        assert back.num_wires == state.wires
        wanted = reference.simulate(circuit_of(state))
        assert np.linalg.norm(back.to_numpy() - wanted) < (1e-12 if state.precision == "double" else 1e-5)


def test_the_files_are_unlike_one_another() -> None:
    """The files have layouts in another order, inverted wires, both precisions, and missing pieces."""
    found = [saved_state.look(FILES / f"{name}.qsx") for name in STATES]
    assert any(file.index_map.parities != units(range(file.num_wires)) for file in found)
    assert any(file.index_map.flip for file in found)
    assert {file.dtype.name for file in found} == {"complex64", "complex128"}
    assert any(len(file.offsets) < (1 << file.num_wires) // file.piece for file in found)
