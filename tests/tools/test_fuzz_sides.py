"""A campaign knows on which sides of every threshold it was, in Python and in native code."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.late_device import LateDevice, Machine
from support.migrated_states import Division, amplitudes, random_filled
from support.ranks_in_threads import RanksInThreads
from support.sharing_cpu import SharingCpu
from support.states import random_state

from qsim_ex import CircuitBuilder, Simulator, thresholds
from qsim_ex.comm import gathering
from qsim_ex.kernels.cuda.compile import policy
from qsim_ex.precision import DOUBLE
from qsim_ex.run.tried import Tried
from qsim_ex.steps import Layout, Levels
from tools.fuzz.run import Tally
from tools.fuzz.sides import BEYOND, ELSEWHERE, NATIVE, PYTHON, WITHIN, Asked, missed, watched


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


def windows() -> None:
    """Visit a state whose copies wait in queues."""
    state = Division(6, Levels(4, slice=1), 2, "whole", 2, 16).state(LateDevice(Machine(0)))
    assert np.array_equal(random_filled(state), amplitudes(state))


class FarMemory(SharingCpu):
    """A device whose memory ranks map, and which is not the host's."""

    in_host_memory = False


def mapped() -> None:
    """Make a state over two ranks whose memory is a device's."""
    state = RanksInThreads([FarMemory(), FarMemory()], 5, np.dtype(np.complex128), Levels(4, 1, 1))
    psi = random_state(5)
    state.write(0, psi)
    assert np.array_equal(state.stored(0, 32), psi)
    state.arrange(Layout((4, 1, 2, 3, 0)))
    state.release()


def gathered() -> None:
    """Gather a value of the only rank of an MPI, as copies of bytes."""

    def copied(source: Any, target: Any) -> None:
        np.frombuffer(target[0], np.uint8)[:] = np.frombuffer(source[0], np.uint8)

    def wait(requests: list[object], *, size: int = 0) -> None:
        assert len(requests) == 1
        assert size >= 0

    comm = SimpleNamespace(Iallgather=copied, Iallgatherv=copied, Get_size=lambda: 1)
    value = list(range(200))
    assert gathering.gathered(value, comm, None, 100, wait) == [value]


def compared() -> None:
    """Ask twice, of a circuit whose sweeps are interpreted, whether all manners of writing it are compared."""
    known = Tried()
    known.spent = 10
    for _ in range(2):
        known.is_time(interprets=True)


def on_disk() -> None:
    """Ask whether a run gains by a kernel that is on disk."""
    policy.loads(28, DOUBLE)


@pytest.mark.parametrize(
    ("work", "rows"),
    [
        (windows, {"window_bytes": (0, 1 << 30), "window_copies": (1, 1 << 30)}),
        (mapped, {"mapped_piece_bytes": (16, 1 << 30)}),
        (gathered, {"first_bytes": (30, 1 << 20)}),
        (compared, {"settled_microseconds": (0, 1 << 30)}),
        (on_disk, {"loaded_microseconds": (0, 1 << 30)}),
    ],
)
def test_what_no_case_comes_to(work: Callable[[], None], rows: dict[str, tuple[int, int]]) -> None:
    """Both sides of thresholds that only GPUs and MPI meet are met with devices and ranks of tests, with one result."""
    met: dict[str, int] = {}
    for name, numbers in rows.items():
        for number in numbers:
            with thresholds.instead(**{name: number}), watched(met):
                work()
        assert met[name] == WITHIN | BEYOND
        assert name in ELSEWHERE
