"""One loop executes steps: in order, on all targets in lockstep, cancelled between two steps, with a bounded queue."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.held import Hold

from qsim_ex.errors import PlanError
from qsim_ex.placement import executor
from qsim_ex.steps import ZeroFill
from qsim_ex.steps.plan import fresh_after, written
from qsim_ex.steps.step import BasisPermutation, InitialAmplitudes, RegisterBlock, Sweep


class Noting:
    """A device that notes its calls."""

    def __init__(self, name: str, notes: list[Any]) -> None:
        self.name, self.notes = name, notes

    def run(self, _buffer: Any, bits: int, step: ZeroFill, numbers: Any, prepared: Any, high: int = 0) -> None:
        """A step on one state."""
        self.notes.append((self.name, step.fresh, numbers, prepared, bits, high))

    def run_batch(self, _buffer: Any, bits: int, step: ZeroFill, numbers: Any, prepared: Any) -> None:
        """A step on many."""
        self.notes.append((self.name, step.fresh, numbers, prepared, bits, "rows"))

    def synchronize(self) -> None:
        """Wait."""
        self.notes.append((self.name, "waits"))


BUFFER = np.zeros(4, dtype=np.complex64)
STEPS = [ZeroFill(1), ZeroFill(2)]


def test_devices_work_in_lockstep() -> None:
    """Each step is launched on every target, with that target's numbers, before the next one; first comes a tick."""
    notes: list[Any] = []
    one, two = Noting("one", notes), Noting("two", notes)
    targets = [
        executor.OneState(one, BUFFER, 2, "p", iter("ab"), 5),
        executor.ManyStates(two, BUFFER, 2, "q", ["c", "d"]),
    ]
    executor.execute(STEPS, targets, lambda: notes.append("tick"))
    first = [("one", 1, "a", "p", 2, 5), ("two", 1, "c", "q", 2, "rows")]
    second = [("one", 2, "b", "p", 2, 5), ("two", 2, "d", "q", 2, "rows")]
    assert notes == ["tick", *first, "tick", *second]


def test_nothing_is_launched_after_a_tick_that_raises() -> None:
    """Where `tick` raises before the second step, the first was launched and the second is not."""
    notes: list[Any] = []
    ticks = iter([None])
    with pytest.raises(StopIteration):
        executor.execute(STEPS, [executor.OneState(Noting("one", notes), BUFFER, 2, None, "ab")], lambda: next(ticks))
    assert [note[1] for note in notes] == [1]


@pytest.mark.parametrize(
    ("names", "expected"),
    [("aa", [1, 1, "waits", "waits", 2, 2, "waits", "waits"]), ("ab", [1, 1, 2, 2, "waits", "waits"])],
)
def test_no_more_is_queued_than_may_be(hold: Hold, names: str, expected: list[Any]) -> None:
    """Devices are waited for once more is queued on one than may be; targets on one device count together."""
    hold(queued_work=3 * BUFFER.nbytes)
    notes: list[Any] = []
    targets = [executor.OneState(Noting(name, notes), BUFFER, 2, None, "ab") for name in names]
    executor.execute(STEPS, targets, lambda: None)
    assert [note[1] for note in notes] == expected


def test_numbers_for_other_steps_are_refused() -> None:
    """A target with numbers for fewer or more steps than there are raises `PlanError`."""
    for numbers, how in (("a", "fewer"), ("abc", "more")):
        with pytest.raises(PlanError, match=how):
            executor.execute(STEPS, [executor.OneState(Noting("one", []), BUFFER, 2, None, numbers)], lambda: None)


def test_what_a_step_writes_is_fresh_no_longer() -> None:
    """A sweep writes its tile and a clearing its positions; steps that know nothing of fresh positions write none."""
    sweep = Sweep((0, 2), (RegisterBlock((0,), ()),), 0, 0, fresh=0b1110)
    assert written(sweep) == 0b101
    assert written(ZeroFill(0b10)) == 0b10
    assert written(BasisPermutation((0,), (1, 0))) == written(InitialAmplitudes((3,), 0)) == 0
    assert fresh_after(0b11110, [sweep, ZeroFill(0b10)]) == 0b11000
