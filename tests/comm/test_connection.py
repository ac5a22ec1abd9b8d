"""Which states are divided follows from the option, the launcher and the number of wires; nothing is connected."""

from __future__ import annotations

import os

import pytest

from qsim_ex.comm import connection, launcher
from qsim_ex.comm.connection import LARGE, connected, planned, ranks_of
from qsim_ex.comm.launcher import Launched, launched
from qsim_ex.errors import CommunicationError
from tools.loopback import loopback

VARIABLES = ("OMPI_COMM_WORLD", "PMI", "MV2_COMM_WORLD", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMIX")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No launcher and no warning so far."""
    for name in [name for name in os.environ if name.startswith(VARIABLES)]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(launcher, "LAUNCHED", None)
    monkeypatch.setattr(connection, "_warned", set())


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, (2, 4)),
        ({"PMI_RANK": "0", "PMI_SIZE": "8"}, (0, 8)),
        ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6"}, (5, 6)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "6"}, None),
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, None),
        ({}, None),
    ],
)
def test_launchers(variables: dict[str, str], wanted: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank and size are those of the launcher; one process, or a batch script without srun, has none."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = launched()
    assert (None if found is None else (found.rank, found.size)) == wanted


def test_what_is_divided() -> None:
    """'auto' divides large states over a power of two of ranks, a number divides every state, 'never' none."""
    assert [planned(given, 40) for given in ("auto", "never", 1, 6)] == [1, 1, 1, 4]
    with connected(loopback(5)[0]):
        assert [planned("auto", wires) for wires in (LARGE + 1, LARGE + 2)] == [1, 4]
        ranks, _ = ranks_of("auto", LARGE + 2)
        assert ranks is not None
        assert ranks.used == 4
        assert ranks.describe() == "4 of 5 processes (5 is not a power of two) over threads of one process"
    assert planned("auto", 40) == 1


def test_small_states_warn_once_on_rank_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a launcher the first state that is not divided warns on rank 0, and each says why."""
    monkeypatch.setattr(launcher, "LAUNCHED", Launched("mpirun of Open MPI", 1, 4))
    assert ranks_of("auto", 8)[0] is None
    monkeypatch.setattr(launcher, "LAUNCHED", Launched("mpirun of Open MPI", 0, 4))
    with pytest.warns(RuntimeWarning, match="Every process computes such a state for itself"):
        ranks_of("auto", 8)
    assert ranks_of("auto", 8) == (
        None,
        "not divided over the 4 processes of mpirun of Open MPI: 8 wires are fewer than 22",
    )


def test_more_processes_than_there_are() -> None:
    """A number above that of the ranks is refused."""
    with connected(loopback(2)[0]), pytest.raises(CommunicationError, match="at least 4 processes, got 2"):
        ranks_of(4, 8)
