"""What is paid once is told from what is paid for each unit of work."""

import argparse

import pytest

from benchmarks import shares
from benchmarks.shares import Shares


@pytest.mark.parametrize("once", [0.0, 0.27, 12.0])
@pytest.mark.parametrize("each", [1e-5, 0.3])
@pytest.mark.parametrize("given", [Shares(1, 2, 3), Shares(50, 200, 1000), Shares(10, 9000, 10_000)])
def test_parts_of_a_straight_line_are_found(given: Shares, once: float, each: float) -> None:
    """Calls of a + b·k seconds give a and b, and the time of all units; a multiple of one share would not."""
    parts = shares.separated(given, once + given.few * each, once + given.more * each)
    assert parts.once == pytest.approx(once, abs=1e-9)
    assert parts.each == pytest.approx(each)
    assert parts.seconds(given.whole) == pytest.approx(once + given.whole * each)


def test_noise_leaves_the_sum_right_on_average() -> None:
    """Errors of both signs cancel: a start below zero is kept as it is."""
    given = Shares(10, 20, 100)
    both = [shares.separated(given, 1 + error, 2) for error in (-0.1, 0.1)]
    assert both[0].once < 0 < both[1].once or both[1].once < 0 < both[0].once
    assert sum(one.seconds(100) for one in both) / 2 == pytest.approx(10)


@pytest.mark.parametrize(("few", "more"), [(1.0, 1.0), (1.0, 0.9)])
def test_more_that_takes_no_longer_is_refused(few: float, more: float) -> None:
    """Where more work took no longer, no time of a unit is told, and the error says what to do."""
    with pytest.raises(ValueError, match="give shares that are farther apart"):
        shares.separated(Shares(10, 11, 100), few, more)


@pytest.mark.parametrize("given", [(0, 5, 10), (5, 5, 10), (6, 5, 10), (5, 10, 10)])
def test_shares_grow(given: tuple[int, int, int]) -> None:
    """Shares that are no two growing numbers below all of the work are refused."""
    with pytest.raises(ValueError, match="expected two growing numbers below all of them"):
        Shares(*given)


@pytest.mark.parametrize(
    ("words", "wanted"), [([], 40), (["--few", "5", "20"], Shares(5, 20, 40)), (["--few", "5", "40"], 40)]
)
def test_an_option_asks_for_all_or_for_two_shares(words: list[str], wanted: int | Shares) -> None:
    """Without the option, or with as many units as there are, all of the work is done."""
    parser = argparse.ArgumentParser()
    shares.option(parser, "--few", "units")
    assert shares.asked(parser.parse_args(words).few, 40) == wanted
