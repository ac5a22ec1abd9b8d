"""Circuits of 16 to 20 wires against Aer: a slice of the campaign, and a fault that it must find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from qsim_ex.circuit import quarters
from tools.fuzz import __main__ as command_line
from tools.fuzz import kinds
from tools.fuzz.kinds import drawn
from tools.fuzz.run import outcome_of, quiet

AER = ("aer",)

MOST = 100
"""Circuits within which a fault must be found."""


@pytest.fixture(autouse=True)
def _quiet() -> None:
    """Frameworks may say what they like about their own gates."""
    quiet()


def with_aer() -> None:
    """Skip where Aer is not installed."""
    pytest.importorskip("qiskit_aer")


def circuits(count: int) -> Iterator[Any]:
    """Cases of the campaign whose state is in one piece and whose gates are few, which take milliseconds."""
    found = (drawn(seed, AER) for seed in range(100_000))
    whole = (case for case in found if "device_wires" not in case.options)
    small = (case for case in whole if case.wires < 18 and len(case.program) < 60)
    return (case for case, _ in zip(small, range(count), strict=False))


def test_wide_circuits_have_the_amplitudes_of_aer() -> None:
    """Circuits of 16 and 17 wires, by Qiskit and by Cirq, in both precisions, have all amplitudes as Aer has them."""
    with_aer()
    cases = list(circuits(40))
    assert {case.wires for case in cases} == {16, 17}
    assert {case.kind for case in cases} == set(kinds.kinds(AER))
    assert {case.options.get("precision") for case in cases} == {None, "single"}
    assert [outcome.trouble for case in cases if (outcome := outcome_of(case)).trouble] == []


def test_large_circuits_in_placements_and_over_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind of 22 to 26 wires, drawn with 14 here: in one piece, in several and over ranks nothing differs."""
    with_aer()
    from tools.fuzz import large_kinds

    monkeypatch.setattr(large_kinds, "SIZES", (14,))
    monkeypatch.setattr(large_kinds, "_LOCAL", 9)
    monkeypatch.setattr(large_kinds, "devices", lambda: ("cpu",))
    cases = [drawn(seed, ("large",)) for seed in range(20, 40)]
    assert {case.ask["ranks"] for case in cases} >= {1, 2}
    assert any("virtual_peers" in case.options for case in cases)
    assert [outcome.trouble for case in cases if (outcome := outcome_of(case)).trouble] == []


def test_a_tolerance_that_grows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tolerance of quarter turns that grows with the angle is found within a hundred circuits."""
    with_aer()
    right = quarters._left
    monkeypatch.setattr(quarters, "_LARGEST", 1e17)
    monkeypatch.setattr(quarters, "_left", lambda angle, turns: right(angle, turns) / np.maximum(1.0, np.abs(angle)))
    assert any(outcome_of(case).trouble for case in circuits(MOST))


def test_other_draws_do_not_need_aer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Kinds for Aer are drawn only if they are asked for; without Aer the command says what to install."""
    assert not any(name.startswith("aer") for name in kinds.kinds())
    monkeypatch.setattr(kinds, "installed", lambda package: package != "qiskit_aer")
    monkeypatch.setattr("sys.argv", ["fuzz", "--only", "aer"])
    assert command_line.main() == 2
    assert "pip install qiskit-aer" in capsys.readouterr().out
