"""A campaign knows on which sides of every threshold it was, in Python and in native code."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest

from qsim_ex import CircuitBuilder, Simulator, thresholds
from tools.fuzz.run import Tally
from tools.fuzz.sides import BEYOND, NATIVE, PYTHON, WITHIN, Asked, missed, watched


@pytest.mark.parametrize(
    ("compare", "within", "beyond"),
    [(operator.lt, 4, 5), (operator.le, 5, 6), (operator.gt, 5, 6), (operator.ge, 4, 5)],
)
def test_a_comparison_notes_its_side(compare: Callable[[int, int], bool], within: int, beyond: int) -> None:
    """Whichever operator compares a number with a threshold of 5, it answers as for an int and notes one side."""
    for number, side in ((within, WITHIN), (beyond, BEYOND)):
        met: dict[str, int] = {}
        assert compare(number, Asked.of(5, "row", met)) is compare(number, 5)
        assert met == {"row": side}


def test_what_is_made_of_a_threshold_notes_for_it() -> None:
    """Quotients, shifts, sums and the least of a number and these note the threshold's sides."""
    for make, most in ((lambda row: row // 2, 4), (lambda row: 1 << row, 256), (lambda row: 3 + row, 11)):
        met: dict[str, int] = {}
        made = make(Asked.of(8, "row", met))
        assert (min(most - 1, made), min(most + 1, made)) == (most - 1, most)
        assert met == {"row": WITHIN | BEYOND}


def test_a_run_is_watched() -> None:
    """A run meets thresholds of Python and of native code, and what it did not meet is named."""
    builder = CircuitBuilder(3, 3)
    for layer in range(4):
        for wire in range(3):
            builder.gate("ry", [wire], 0.1 + layer).gate("cx", [wire, (wire + 1) % 3])
    met: dict[str, int] = {}
    before = thresholds.now
    with thresholds.instead(looked_at=0), watched(met):
        Simulator(device="cpu").run(builder.measure(range(3), range(3)).build(), shots=5, seed=1)
    assert thresholds.now == before
    assert met["unasked_bytes"] == WITHIN  # a state of 128 bytes
    assert met["looked_at"] == BEYOND
    never = missed(met)
    assert "stim_records: never beyond" in never
    assert "looked_at: never within" in never
    assert "looked_at: never beyond" not in never
    assert Tally(met=dict.fromkeys((*PYTHON, *NATIVE), WITHIN | BEYOND)).ways_not_taken() == []
