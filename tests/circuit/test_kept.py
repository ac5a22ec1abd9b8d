"""What is made of circuits is kept: all that a job of hundreds of them needs, and no more than there is room for."""

from __future__ import annotations

import pytest

from qsim_ex import CircuitBuilder, Simulator
from qsim_ex.circuit import kept
from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.structure import Structure, straight_work
from qsim_ex.execution.prepare import plan_of, plans_of
from qsim_ex.program.divide import program_of
from qsim_ex.thresholds import Thresholds


def numbered(number: int, gates: int = 0) -> CircuitBuilder:
    """A circuit of ten gates whose kinds are the bits of a number, and more behind these."""
    builder = CircuitBuilder(3, 3)
    for bit in range(10):
        builder.gate("h" if number >> bit & 1 else "sx", [bit % 3]).gate("cx", [bit % 3, (bit + 1) % 3])
    for _ in range(gates):
        builder.gate("cz", [0, 1])
    return builder


def work(number: int, gates: int = 0) -> Structure:
    """The structure of such gates."""
    return straight_work(numbered(number, gates).build().instructions)


def test_circuits_of_a_job_are_planned_once() -> None:
    """A job of 300 circuits that comes again makes no plan and no program anew."""
    job = [numbered(number).measure(range(3), range(3)).build() for number in range(300)]
    simulator = Simulator(device="cpu")
    for made in job:
        simulator.run(made, shots=1)
    before = [one.cache_info().misses for one in (plan_of, plans_of, program_of)]
    for made in job:
        simulator.run(made, shots=1)
    assert [one.cache_info().misses for one in (plan_of, plans_of, program_of)] == before


def test_there_is_room_for_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last 256 results stay, and more as long as their instructions are few; what was made first goes first."""
    monkeypatch.setattr(kept, "MOST", 100 * 300)
    made = [work(number) for number in range(600)]
    asked: list[Structure] = []
    known = Kept(asked.append)
    for one in made:
        known(one)
    assert 300 <= known.cache_info().currsize <= 100 * 300 // (20 + kept._OWN)
    known(made[-256])
    assert asked == made
    known(made[0])
    assert asked == [*made, made[0]]
    large = [work(number, gates=500) for number in range(300)]
    for one in large:
        known(one)
    assert known.cache_info().currsize == 256
    known.cache_clear()
    assert known.cache_info().currsize == known.cache_info().hits == 0


def test_of_large_circuits_the_last_four_stay() -> None:
    """A circuit of more instructions than `large_plan` makes room for itself among large ones alone."""
    asked: list[Structure] = []
    known = Kept(asked.append)
    small = work(0)
    known(small)
    for number in range(6):
        known(work(number, gates=Thresholds.large_plan))
    known(small)
    assert known.cache_info().currsize == 1 + 4
    assert len(asked) == 1 + 6
