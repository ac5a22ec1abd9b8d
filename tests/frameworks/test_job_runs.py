"""The runs behind one call, and their checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from qsim_ex import Options, Simulator
from qsim_ex.errors import SavedStateError
from qsim_ex.frameworks import JobRuns, digest


def never() -> str:
    """Stand for a key that nobody may ask for."""
    raise AssertionError("a job without a checkpoint needs no key")


def test_without_a_checkpoint_there_is_one_simulator() -> None:
    """All runs have the same simulator, no key is made, and the seed is the given one or a fresh one."""
    simulator = Simulator(device="cpu")
    runs = JobRuns(simulator)
    assert not runs.waits_for_checkpoint
    assert runs.begin(never, 2, 7) == 7
    assert runs.begin(never, 2, None) != runs.begin(never, 2, None)
    assert runs.next() is runs.next() is runs.unkept() is simulator
    runs.end()


def test_each_run_has_a_checkpoint_of_its_own(tmp_path: Path) -> None:
    """Runs have different files beside the job's, a state that was found has none, and the end removes all."""
    runs = JobRuns(Simulator(device="cpu", checkpoint=tmp_path / "job"))
    assert runs.waits_for_checkpoint
    runs.begin(lambda: "key", 2, 7)
    assert not runs.waits_for_checkpoint
    first, second = (str(runs.next().options.checkpoint) for _ in range(2))
    assert first != second
    assert runs.unkept().options.checkpoint is None
    assert [path.name for path in tmp_path.iterdir()] == ["job"]
    runs.end()
    assert not [*tmp_path.iterdir()]


def test_the_seed_is_that_of_the_file(tmp_path: Path) -> None:
    """A job that is begun again without a seed has the one that it had; another job is refused."""
    options = Options(device="cpu", checkpoint=tmp_path / "job")
    seed = JobRuns(Simulator(options)).begin(lambda: "key", 2, None)
    assert JobRuns(Simulator(options)).begin(lambda: "key", 2, None) == seed
    with pytest.raises(SavedStateError, match="another job"):
        JobRuns(Simulator(options)).begin(lambda: "another", 2, None)


def test_digests_tell_parts_apart() -> None:
    """The same parts have the same digest; where one part ends counts."""
    assert digest("ab", 1) == digest("ab", 1)
    assert len({digest("ab", 1), digest("a", "b1"), digest("ab1"), digest()}) == 4
