"""What ranks agree on before a run: who shows its progress, and whose seeds count."""

from __future__ import annotations

import numpy as np
import pytest
from support.held import Hold

from benchmarks.gates import haar
from qsim_ex import CircuitBuilder, Options, Simulator
from qsim_ex.comm import connection, launcher
from qsim_ex.comm.launcher import Launched
from qsim_ex.errors import MissingPackage, NotSupported
from qsim_ex.run.over_ranks import quiet, with_agreed_seeds
from qsim_ex.run.pipeline import BatchCall
from tools.fuzz.engine_ranks import on_ranks
from tools.fuzz.thresholds import WRITTEN
from tools.loopback import loopback


def call(**options: object) -> BatchCall:
    """A call for a shot."""
    circuit = CircuitBuilder(1, 1).gate("h", [0]).measure([0], [0]).build()
    return BatchCall.of_shots(circuit, Options(device="cpu", **options))  # type: ignore[arg-type]


def test_one_rank_shows_a_bar() -> None:
    """Of all ranks the first shows the progress of a run, and each calls a function of the user's."""

    def own(_done: int, _total: int) -> None:
        raise AssertionError("nothing runs here")

    ends = loopback(3)
    assert [quiet(end, call(progress=True)).options.progress for end in ends] == [True, False, False]
    assert [quiet(end, call(progress=own)).options.progress for end in ends] == [own] * 3


def toffoli(made: CircuitBuilder) -> None:
    """Add one as a transpiler writes it, whose phases joint rotations of two wires are."""
    made.gate("h", [1])
    for control, turn in ((2, "tdg"), (3, "t"), (2, "tdg"), (3, "t")):
        made.gate("cx", [control, 1]).gate(turn, [1])
    made.gate("h", [1])


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("resets", [False, True])
def test_what_is_written_runs_only_where_it_can(ranks: int, resets: bool, hold: Hold) -> None:
    """What mixes more bits than a sub state vector has is refused nowhere if the circuit itself mixes fewer."""
    hold(**WRITTEN)
    made = CircuitBuilder(4, 1).gate("sx", [3]).gate("sx", [1]).gate("cx", [3, 1]).gate("rz", [1], 0.3)
    if resets:
        made.gate("h", [3]).measure([3], [0]).reset([3])
    toffoli(made)
    circuit = made.measure([1], [0]).build()
    alone = Simulator(device="cpu").run(circuit, shots=20, seed=1)

    def shots() -> object:
        return Simulator(device="cpu", device_wires=1, processes=ranks).run(circuit, shots=20, seed=1).packed

    for found in on_ranks(ranks, shots):
        np.testing.assert_array_equal(found, alone.packed)


@pytest.mark.parametrize("measures", [False, True])
def test_what_no_rank_can_plan_is_refused_by_each(measures: bool, hold: Hold) -> None:
    """All ranks refuse in the same words, though rank 0 looks for something faster while the others plan."""
    hold(**WRITTEN)
    made = CircuitBuilder(5, 1)
    if measures:
        made.gate("h", [3]).measure([3], [0]).reset([3])
    circuit = made.unitary(haar(np.random.default_rng(1), 3), [1, 0, 2]).measure([0], [0]).build()

    def refused() -> None:
        with pytest.raises(NotSupported, match="mixes 3 bits at once"):
            Simulator(device="cpu", device_wires=2, processes=2).run(circuit, shots=5, seed=1)

    on_ranks(2, refused)


def test_processes_that_are_not_connected_draw_their_own_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without mpi4py each process of a launcher keeps its call as it is, and is warned that it works for itself."""

    def missing() -> None:
        raise MissingPackage("mpi4py is not installed.")

    monkeypatch.setattr(launcher, "LAUNCHED", Launched("mpirun of Open MPI", 0, 4))
    monkeypatch.setattr(connection, "_warned", set())
    monkeypatch.setattr(connection, "_connect", missing)
    given = call()
    with pytest.warns(RuntimeWarning, match="Every process computes the whole state for itself"):
        assert with_agreed_seeds(given, 40) is given
