"""What ranks agree on before a run: who shows its progress, and whose seeds count."""

from __future__ import annotations

import pytest

from qsim_ex import CircuitBuilder, Options
from qsim_ex.comm import connection, launcher
from qsim_ex.comm.launcher import Launched
from qsim_ex.errors import MissingPackage
from qsim_ex.run.over_ranks import quiet, with_agreed_seeds
from qsim_ex.run.pipeline import BatchCall
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
