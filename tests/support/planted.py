"""Faults that are planted in the engine, one at a time, and how many circuits the fuzzer needs to find one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from tools.fuzz.kinds import drawn, installed
from tools.fuzz.options import DEVICES, devices
from tools.fuzz.run import outcome_of, quiet

Plant = Callable[[pytest.MonkeyPatch], None]


class Fault(NamedTuple):
    """A fault, what plants it, the kinds of cases that it concerns, and a package without which it cannot be.

    seed: of the first case that showed it when it was last searched for, where the search takes long.
    """

    name: str
    plant: Plant
    kinds: tuple[str, ...]
    needs: str = "numpy"
    seed: int = 0


def instead(patch: pytest.MonkeyPatch, original: Any, wrong: Any) -> None:
    """Put a function in the place of another, wherever a module has taken it by name."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("qsim_ex.", "qsim_ex_provider.", "qsim_ex_cirq.")):
            for attribute, value in list(vars(module).items()):
                if value is original:
                    patch.setattr(module, attribute, wrong)


def method(patch: pytest.MonkeyPatch, owner: type, name: str, wrong: Callable[..., Any]) -> None:
    """Put a method in the place of another; it is given the right one as its first argument."""
    right = getattr(owner, name)
    patch.setattr(owner, name, lambda *given, **named: wrong(right, *given, **named))


@contextmanager
def on_the_cpu() -> Iterator[None]:
    """Let all cases run on the CPU, where the faults are planted."""
    quiet()
    devices.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DEVICES, "cpu")
        yield
    devices.cache_clear()


def first_found(fault: Fault, most: int) -> int | None:
    """The seed of the first case that shows a fault, of so many; None if there is none.

    The one where it was found last time is tried before the search, which takes minutes for some faults.
    """
    for seed in (fault.seed, *range(most)):
        if outcome_of(drawn(seed, fault.kinds)).trouble is not None:
            return seed
    return None


def check_found(fault: Fault, most: int) -> None:
    """Assert that a fault shows within so many circuits, and is gone when it is taken out again."""
    if not installed(fault.needs):
        pytest.skip(f"needs {fault.needs}")
    assert fault.seed < most
    with pytest.MonkeyPatch.context() as patch:
        fault.plant(patch)
        seed = first_found(fault, most)
    assert seed is not None
    assert outcome_of(drawn(seed, fault.kinds)).trouble is None
