"""Files that version 0.1 wrote, kept in tests/data/written_by_0_1, still load with the same meaning."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.paths import DATA
from support.written_by_0_1 import RUNS, STATES, circuit_of, run_circuit, run_of

from qsim_ex import StateVector, reference
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.files import saved_state
from qsim_ex.planning import planner
from qsim_ex.planning.cost import step_cost
from qsim_ex.planning.cost.stage_cost import H200, stage_costs
from qsim_ex.planning.stages import staging
from qsim_ex.run import checkpointed
from qsim_ex.steps import Shape
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


@pytest.fixture
def _plans_of_0_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan with the tiles and the costs of 0.1: a run goes on only with the plan that it began with."""
    monkeypatch.setattr("qsim_ex.devices.cpu.device._TILE_BYTES", 1 << 18)
    monkeypatch.setattr(CpuDevice, "shape", lambda self, dtype, now=CpuDevice.shape: replace(now(self, dtype), low=5))
    rates = replace(H200, fma=27e12, double=0.5, seen=0.4)
    monkeypatch.setattr(planner, "compiled_stages", lambda *_: None)  # Python plans with the costs of then
    monkeypatch.setattr(staging, "stage_costs", partial(stage_costs, rates=rates))
    monkeypatch.setattr(step_cost, "exchange_work", lambda sweep, _itemsize: 4.0 if sweep.store else 0.0)
    named = Shape.__repr__  # plans are named by it, and a field had another name
    monkeypatch.setattr(Shape, "__repr__", lambda self: named(self).replace("block_made=", "blocks_from="))
    monkeypatch.setattr(checkpointed, "EDITION", 1)


@pytest.mark.usefixtures("_plans_of_0_1")
@pytest.mark.parametrize("name", RUNS)
def test_a_run_goes_on(tmp_path: Path, name: str) -> None:
    """A run that 0.1 left continues where it stopped, and ends with the amplitudes of the definition and the same
    shots.
    """
    run = RUNS[name]
    for file in FILES.glob(f"{name}.qsx*"):
        shutil.copy(file, tmp_path)
    told: list[int] = []
    result = run_of(run, tmp_path / f"{name}.qsx", progress=lambda done, _total: told.append(done))
    assert told[0] > 0  # it did not begin anew
    assert result.seed == 11
    assert np.array_equal(result.packed, run_of(run, None, seed=11).packed)
    assert set(result.saved) == ({"after 0", "after 2", "end"} if run.saves else {"end"})
    for label in result.saved:
        amplitudes = reference.simulate(run_circuit(run, until=label))
        assert np.linalg.norm(result.saved[label] - amplitudes) < (1e-12 if run.precision == "double" else 1e-5)
    assert list(tmp_path.iterdir()) == []
