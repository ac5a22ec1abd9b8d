"""The benchmark of batches measures what it says, and the peer gets the circuits that are meant."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import batched
from benchmarks.dense import simulate
from benchmarks.families import structure_of
from benchmarks.gates import Gate
from benchmarks.peers import custatevec_library as cu
from benchmarks.peers.base import COMPLEX
from benchmarks.peers.custatevec_batched import BatchedSession

SMALL = ["--device", "cpu", "--n", "5", "--states", "3", "--gates", "30", "--small", "4", "--rows", "7", "--shots", "5"]


class HostMemory:
    """NumPy's arrays stand for the GPU's."""

    def put(self, array: Any) -> Any:
        """A copy."""
        return array.copy()

    def zeros(self, size: int, dtype: Any) -> Any:
        """Zeros."""
        return np.zeros(size, dtype)

    def get(self, array: Any) -> Any:
        """A copy."""
        return array.copy()

    def address(self, array: Any) -> int:
        """Where it begins."""
        return int(array.ctypes.data)

    def synchronize(self) -> None:
        """Nothing is under way."""


class Definition:
    """In place of the library: batched gates by definition, on arguments in the order of the declared types."""

    def plain(self, name: str, *arguments: Any) -> None:
        """Check every argument against the declared types; answer and work."""
        declared = cu._SIGNATURES[f"custatevec{name}"]
        assert len(declared) == len(arguments), name
        for kind, argument in zip(declared, arguments, strict=True):
            kind.from_param(argument)  # type: ignore[attr-defined]  # raises what ctypes would raise
        if name == "ApplyMatrixBatchedGetWorkspaceSize":
            arguments[-1]._obj.value = 64
        if name == "ApplyMatrixBatched":
            self.apply(*arguments)

    def apply(self, *arguments: Any) -> None:
        """A matrix for each state on some targets, where the controls are 1; the first target least significant."""
        _, states, kind, n, count, stride, mapped, indices, matrices, matrix_kind, layout, adjoint, *rest = arguments
        number, targets, num_targets, controls, values, num_controls, compute, workspace, size = rest
        dtype = np.dtype(np.complex64 if kind == 4 else np.complex128)
        assert (kind, layout, adjoint, values, size) == (matrix_kind, cu.LAYOUT_ROW, 0, None, 64)
        assert compute == (4 if kind == 4 else 16)
        assert workspace
        psi = held(states, stride * count, dtype).reshape(count, -1)
        side = 1 << num_targets
        of = held(matrices, number * side * side, dtype).reshape(number, side, side)
        chosen = held(indices, count, np.dtype(np.int32)) if mapped == cu.MAP_INDEXED else np.zeros(count, dtype=int)
        on, when = list(targets[:num_targets]), list(controls[:num_controls]) if num_controls else []
        every = np.arange(1 << n)
        base = every[[all(i >> w & 1 for w in when) and not any(i >> w & 1 for w in on) for i in every.tolist()]]
        places = base + np.array([[sum((x >> k & 1) << w for k, w in enumerate(on))] for x in range(side)])
        for row, which in zip(psi, chosen, strict=True):
            row[places] = of[which] @ row[places]


def held(address: int, count: int, dtype: Any) -> Any:
    """Return the memory at an address."""
    return np.frombuffer((ctypes.c_byte * (count * dtype.itemsize)).from_address(address), dtype)


def test_a_seed_changes_angles_alone() -> None:
    """States of a batch share one structure and differ in their angles."""
    first, second = batched.mixed(5, 40, 1), batched.mixed(5, 40, 2)
    assert structure_of(first) == structure_of(second)
    assert {gate.name for gate in first} == {"rx", "ry", "rz", "cx", "cz", "rzz"}
    assert first != second


@pytest.mark.parametrize("precision", ["single", "double"])
def test_every_part_is_measured_and_right(precision: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every part of a batch has its times, and the states are checked and right."""
    out = tmp_path / "batched.json"
    asked = [*SMALL, "--precision", precision, "--repeat", "2", "--commit", "c", "--out", str(out)]
    assert batched.main(asked) == 0
    found = json.loads(out.read_text())
    gates, shots = found["cells"]
    assert (set(gates["parts"]), set(shots["parts"])) == ({"bind", "load", "run"}, {"bind", "load", "run", "draw"})
    assert all(len(cell["seconds"]) == 2 and cell["correct"] for cell in (gates, shots))
    assert (gates["states"], gates["gates"], shots["states"], shots["shots"]) == (3, 30, 7, 5)
    assert "3 states of 5 qubits" in capsys.readouterr().out


def test_a_wrong_state_is_noticed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows that changed places are reported as wrong."""
    right = batched.OurBatch.row
    monkeypatch.setattr(batched.OurBatch, "row", lambda self, state: right(self, 1 if state == 0 else state))
    assert batched.main([*SMALL, "--repeat", "1"]) == 1
    assert "WRONG" in capsys.readouterr().out


@pytest.mark.parametrize("precision", ["single", "double"])
def test_the_peer_is_told_every_gate(precision: Any) -> None:
    """The peer applies every gate to its own state, with its controls and its order of wires."""
    circuits = [
        [*batched.mixed(4, 30, seed), Gate("swap", (2, 0)), Gate("cp", (3, 1), (0.1 * seed,))] for seed in range(5)
    ]
    session = BatchedSession(Definition(), 4, 5, precision, HostMemory())  # type: ignore[arg-type]
    assert session.load(circuits) >= 0
    session.run()
    assert session.run() > 0
    for state, gates in enumerate(circuits):
        row = session.row(state)
        assert row.dtype == COMPLEX[precision]
        assert np.linalg.norm(row - simulate(gates, 4)) < (1e-5 if precision == "single" else 1e-12)
    session.close()


def test_both_take_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The peer's times stand beside ours, and the ratio is the peer's over ours."""
    monkeypatch.setattr(
        batched, "peer_of", lambda given: BatchedSession(Definition(), given.n, given.states, "single", HostMemory())
    )
    out = tmp_path / "batched.json"
    assert batched.main([*SMALL, "--repeat", "2", "--commit", "c", "--out", str(out)]) == 0
    gates = json.loads(out.read_text())["cells"][0]
    assert len(gates["peer"]["seconds"]) == 2
    assert gates["ratio"] == pytest.approx(gates["peer"]["median"] / gates["median"])
    assert set(gates["deviations"]) == {"ours", "custatevec"}
