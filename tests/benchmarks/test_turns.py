"""Whole calls in turn: which variant goes on, what is compared, and what is reported."""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import turns
from benchmarks.means import Means
from benchmarks.shares import Shares
from benchmarks.turns import Contestant, Times, Within


def contestant(name: str, variant: str, seconds: float, value: float = 0.5) -> Contestant:
    """Somebody who says that a call took so long, and finds a value."""
    return Contestant(name, variant, lambda _: lambda: value, lambda v: Means.exact(np.array([v])), lambda _: seconds)


def failing(turn: int) -> Callable[[], Any]:
    """A call that fails once it counts."""

    def work() -> float:
        if turn >= turns.WARMUP:
            raise RuntimeError("out of luck")
        return 0.5

    return work


def test_the_fastest_variant_goes_on() -> None:
    """A peer is measured with the fastest of its variants."""
    slow, quick = contestant("aer", "default", 5), contestant("aer", "branching", 3)
    found = turns.row("what", [contestant("ours", "default", 1), slow, quick], [Times("aer", 3.5)], 2)
    assert set(found["seconds"]) == {"ours/default", "aer/branching"}
    assert found["warm_up"]["aer/default"] == 5
    assert found["ratios"] == {"aer": 3}
    assert found["goals"][0]["met"] is False


def test_two_shares_tell_all_of_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    """A peer that pays 0.25 s once is given that once, in the median, in the JSON and below the table."""
    once, each = 0.25, 3e-4
    peer = Contestant.of_units(
        *("qsim", "few", lambda _, units: lambda: units, lambda _: Means.exact(np.array([0.5]))),
        *(Shares(50, 200, 1000), lambda units: once + units * each),
    )
    found = turns.row("what", [contestant("ours", "default", 0.1), peer], [], 3)
    assert found["medians"]["qsim"] == pytest.approx(0.55)
    assert found["ratios"]["qsim"] == pytest.approx(5.5)
    told = found["by_two_shares"]["qsim/few"]
    assert (told["units"], told["of"]) == ([50, 200], 1000)
    assert (told["once"], told["each"]) == (pytest.approx(once), pytest.approx(each))
    assert told["seconds"] == [[pytest.approx(0.265), pytest.approx(0.31)]] * 3
    assert _finished(found) == 0
    assert "- what: qsim/few from 50 and 200 of 1000 (250 ms once, 0.3 each)" in capsys.readouterr().out


def test_all_of_the_work_is_one_call() -> None:
    """A contestant that is not given shares does all units in one call, and the JSON names no shares."""
    asked: list[int] = []
    peer = Contestant.of_units(
        *("aer", "all", lambda _, units: lambda: asked.append(units), lambda _: Means.exact(np.array([0.5]))),
        *(1000, lambda _: 2.0),
    )
    found = turns.row("what", [contestant("ours", "default", 1), peer], [], 2)
    assert asked == [1000] * 3
    assert found["medians"]["aer"] == 2
    assert found["by_two_shares"] == {}


@pytest.mark.parametrize(
    ("goal", "medians", "met"),
    [
        (Within(0.005), {"ours": 0.004}, True),
        (Within(0.005), {"ours": 0.006}, False),
        (Times("aer", 3), {"ours": 1.0, "aer": 3.0}, True),
        (Times("aer", 3), {"ours": 1.0, "aer": 2.9}, False),
        (Times("aer", 3), {"ours": 1.0}, None),
        (Times("aer", 3), {"aer": 1.0}, None),
        (Within(1), {"aer": 1.0}, None),
    ],
)
def test_a_goal_is_judged(goal: turns.Goal, medians: dict[str, float], met: bool | None) -> None:
    """A goal is met or missed by its medians, and neither where nobody was measured."""
    assert turns.judged(goal, medians)["met"] is met


def test_another_physics_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    """A peer that simulates something else is reported as wrong."""
    found = turns.row("what", [contestant("ours", "a", 1), contestant("aer", "b", 1, value=0.6)], [], 1)
    assert not found["agreement"]["aer/b"]["agrees"]
    assert _finished(found) == 1
    assert "WRONG: what, aer/b" in capsys.readouterr().out


def test_chance_is_no_deviation_and_a_small_one_is() -> None:
    """Means over shots of one distribution agree, and those of two distributions do not."""
    rng = np.random.default_rng(1)
    one, other, apart = (Means.of_bits((rng.random((4000, 6)) < p).astype(np.uint8)) for p in (0.5, 0.5, 0.56))
    assert one.deviation(other) < one.allowed()
    assert one.deviation(apart) > 1
    many = [Means.of_bits((rng.random((200, 200, 6)) < p).astype(np.uint8)) for p in (0.5, 0.5, 0.56)]
    assert many[0].deviation(many[1]) < many[0].allowed() < many[0].deviation(many[2])


def test_one_that_fails_ends_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A peer that fails is reported, and the others are measured."""
    peer = Contestant("aer", "default", failing, lambda v: Means.exact(np.array([v])))
    found = turns.row("what", [contestant("ours", "default", 1), peer], [Times("aer", 2)], 2)
    assert len(found["seconds"]["ours/default"]) == 2
    assert found["goals"][0]["met"] is None
    assert _finished(found) == 1
    assert "FAILED: what, aer/default: RuntimeError: out of luck" in capsys.readouterr().out


def test_one_that_is_not_here_is_told() -> None:
    """A missing package is listed with its error, and the others are measured."""

    def absent() -> list[Contestant]:
        raise ModuleNotFoundError("No module named 'qiskit_aer'")

    missing: dict[str, str] = {}
    found = turns.gathered({"ours": lambda: [contestant("ours", "default", 1)], "aer": absent}, missing)
    assert [one.name for one in found] == ["ours"]
    assert missing == {"aer": "No module named 'qiskit_aer'"}


def _finished(row: dict[str, Any]) -> int:
    parser = argparse.ArgumentParser()
    turns.common(parser, repeat=2)
    made = turns.document("kind", parser.parse_args(["--commit", "c"]))
    turns.add(made, row, None)
    return turns.finish(made)
