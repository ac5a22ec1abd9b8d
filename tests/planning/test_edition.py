"""The edition of the planner is raised whenever plans change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.stopped_runs import run_over_peers, stop_after

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.errors import SavedStateError
from qsim_ex.planning.edition import EDITION
from qsim_ex.planning.planner import make_plan
from qsim_ex.run import checkpointed
from qsim_ex.steps import Layout, Levels, Plan, Shape

SHAPES = (
    Shape(tile=9, registers=9, low=4, edge=0, most_blocks=3, dense=5, thin=7, item_work=2.0, floats=True),
    Shape(
        tile=9, registers=4, low=4, edge=4, most_blocks=None, dense=4, start=3, floats=True, counted=72.0, exchanged=8.0
    ),
    replace(
        Shape(tile=8, registers=4, low=3, edge=3, most_blocks=None, dense=4, start=3, thin=7, balance=30.0, block=27.0),
        counted=36.0,
        exchanged=3.0,
        fewer=2,
        scattered=1.05,
    ),
)
LINEAR = Shape(
    tile=6, registers=6, low=2, edge=0, most_blocks=3, dense=3, start=1, item_work=2.0, floats=True, linear=True
)
LEVELS = (None, Levels(10, 2), Levels(9, 0), Levels(9, 1), Levels(9, 1, 2, ranks=1))
WIRES = 12

PLANS = {14: "15f27da58bbeabad"}
"""For the present edition, the digest of the steps of all plans below."""


def circuit(number: int) -> Circuit:
    """A circuit of rotations, phases, CX, SWAP and Toffoli gates on wires that follow from numbers alone."""
    builder = CircuitBuilder(WIRES)
    kinds = ("ry", "cx", "rz", "rzz", "sx", "cx", "swap", "ccx", "cp", "rxx")[number % 3 :]
    for k in range(60 + 20 * number):
        a = (7 * k * k + 3 * k + number) % WIRES
        b = (a + 1 + k % (WIRES - 1)) % WIRES
        c = next(w for w in range(WIRES) if w not in (a, b))
        name = kinds[(k * (number + 2) + k // 9) % len(kinds)]
        wires = {"ry": 1, "rz": 1, "sx": 1, "ccx": 3}.get(name, 2)
        angles = [0.1 + k] if name in ("ry", "rz", "rzz", "cp", "rxx") else []
        builder.gate(name, [a, b, c][:wires], *angles)
    return builder.build()


def full_of_cx(number: int) -> Circuit:
    """A circuit of CX, and a few turns and phases."""
    builder = CircuitBuilder(WIRES)
    for k in range(100 + 40 * number):
        a = (5 * k * k + 7 * k + number) % WIRES
        name = "ry" if k < WIRES else "rz" if k % 9 == 4 else "sx" if k % 17 == 8 else "cx"
        wires = [a, (a + 1 + 3 * k % (WIRES - 1)) % WIRES] if name == "cx" else [k if k < WIRES else a]
        builder.gate(name, wires, *([0.1 + k] if name in ("ry", "rz") else []))
    return builder.build()


def transpiled(number: int) -> Circuit:
    """A circuit of RXX·RYY on neighbours as transpilers write them, between turns."""
    builder = CircuitBuilder(WIRES)
    for k in range(30 + 10 * number):
        a = (3 * k + k // 4 + number) % (WIRES - 1)
        for name in ("h", "sx"):
            for turn in (name, "", name + "dg" if name == "sx" else name):
                for wire in (a, a + 1) if turn else ():
                    builder.gate(turn, [wire])
                if not turn:
                    builder.gate("cx", [a, a + 1]).gate("rz", [a + 1], 0.1 + k).gate("cx", [a, a + 1])
        builder.gate("rz" if k % 3 else "ry", [a], 0.3)
    return builder.build()


def plans() -> Iterator[Plan]:
    """Plans on a CPU's shape and on GPUs', in one piece and divided, from |0…0⟩ and from a full state.

    And plans in a CNOT frame, of states that may end in another layout and of some that may not; and plans of circuits
    that are mostly CX between known quarter turns.
    """
    for number in range(3):
        for shape, fresh in ((LINEAR, (1 << WIRES) - 1), (LINEAR, 0), (LINEAR.staying(), 0)):
            yield make_plan(full_of_cx(number).instructions, WIRES, Layout.identity(WIRES), shape, fresh, None, True)
    for number in range(2):
        for shape in SHAPES:
            yield make_plan(transpiled(number).instructions, WIRES, Layout.identity(WIRES), shape, (1 << WIRES) - 1)
    for number in range(6):
        for shape in SHAPES:
            for fresh in (0, (1 << WIRES) - 1):
                given = circuit(number).instructions, WIRES, Layout.identity(WIRES), shape, fresh
                for levels in LEVELS:
                    yield make_plan(*given, levels, True)


def test_plans_are_those_of_their_edition() -> None:
    """The steps of many plans are as they were when the edition was last raised.

    If this fails, plans have changed, and a checkpoint of a run before must not be continued: raise `EDITION`, and put
    the new digest here.
    """
    digest = hashlib.blake2b(digest_size=8)
    for plan in plans():
        told = {**plan.to_json(), "shape": None}
        digest.update(json.dumps(told, sort_keys=True).encode())
    assert {EDITION: digest.hexdigest()} == PLANS


def test_some_of_them_are_in_a_cnot_frame() -> None:
    """Of three circuits full of CX those of a new state, of two those of a state that is there, and no others.

    In some plans of states on several levels parities are far.
    """
    made = [plan.made_from[-1] for plan in plans()]
    found = [last == "linear" for last in made]
    assert found[:9] == [True, False, False, *[True] * 6]
    assert not any(found[9:])
    assert made.count("far parities") > 3


def test_a_run_of_another_edition_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that began with plans of another edition says so, and does not go on with a state that fits no plan."""
    path = tmp_path / "run.qsx"
    with monkeypatch.context() as before:
        before.setattr(checkpointed, "EDITION", EDITION - 1)
        with pytest.raises(KeyboardInterrupt):
            run_over_peers(path, progress=stop_after(2))
    with pytest.raises(SavedStateError, match=r"is the checkpoint of another run \(plan "):
        run_over_peers(path)
