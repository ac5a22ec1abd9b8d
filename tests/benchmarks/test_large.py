"""The benchmark of large states knows the amplitudes of a QFT, and finds wrong ones."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import large
from qsim_ex import StateVector

DIVISIONS = {
    "single": [],
    "whole": ["--device-wires", "8", "--host-memory", "whole"],
    "spread": ["--device-wires", "8", "--host-memory", "spread", "--in-flight", "2"],
    "peers": ["--gpus", "4"],
    "peers over host": ["--gpus", "2", "--device-wires", "7"],
}


@pytest.mark.parametrize("x", [0, 1, 512, 693, 1023])
def test_the_circuit_is_the_transform(x: int) -> None:
    """The circuit has the amplitudes of the formula, in the order of its bits and in its sign."""
    everything = np.arange(1 << 10)
    matrix_row = np.exp(2j * np.pi * x * everything / 2**10) / 2**5
    assert np.allclose(large.known(10, x, everything), matrix_row, atol=1e-12)
    with StateVector(10, initial=x, device="cpu") as state:
        assert np.allclose(state.apply(large.qft(10)).to_numpy(), matrix_row, atol=1e-12)


@pytest.mark.parametrize("n", [35, 40, 62])
def test_phases_of_large_indices_are_exact(n: int) -> None:
    """The phase of the product of two large indices is exact to its lowest bits."""
    x, y = (1 << n) - 3, (1 << n) - 5
    angle = 2 * np.pi * 15 / 2**n  # (−3)·(−5) modulo 2^n
    assert large.known(n, x, np.array([y]))[0] * 2 ** (n / 2) == pytest.approx(np.exp(1j * angle), abs=1e-15)


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("precision", ["single", "double"])
def test_every_division_is_right(
    division: str, precision: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command runs the division that it is given, and compares slices of the state."""
    out = tmp_path / "large.json"
    asked = ["cpu", "--n", "11", "--precision", precision, "--slices", "5", "--slice-bits", "6", "--repeat", "2"]
    asked += ["--commit", "c"]
    assert large.main([*asked, *DIVISIONS[division], "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    deployment = found["deployment"]
    assert {deployment["kind"], deployment["host_memory"]} & {division}
    assert 0 < found["relative_error"] < found["allowed"]
    assert found["right"]
    assert len(found["runs"]) == 2
    assert found["planned"]["gates"] == 11 + 55 + 5
    assert "5 slices of 64 amplitudes" in capsys.readouterr().out


def test_slices_are_apart_and_reach_both_ends() -> None:
    """The slices that are compared differ, and reach from the first amplitude to the last."""
    chosen = large.sampled(35, 16, 16, 35)
    assert chosen.shape == (16, 1 << 16)
    assert chosen.min() == 0
    assert chosen.max() == (1 << 35) - 1
    assert (np.diff(chosen, axis=1) == 1).all()
    assert len(np.unique(chosen[:, 0])) == 16


def test_one_wrong_slice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two slices that changed places end the command with code 1."""
    right = large.known

    def swapped(n: int, x: int, indices: np.ndarray) -> np.ndarray:
        return right(n, x, np.where(indices >> 6 == 0, indices + 64, indices))

    monkeypatch.setattr(large, "known", swapped)
    assert large.main(["cpu", "--n", "11", "--slices", "5", "--slice-bits", "6", "--x", "3"]) == 1


def test_a_state_that_cannot_be_made_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Too little memory ends the command with code 2 and the error's text."""
    asked = ["cpu", "--n", "20", "--device-wires", "16", "--max-memory", "1000", "--max-host-memory", "1000"]
    assert large.main(asked) == 2
    assert "OutOfMemory" in capsys.readouterr().err
