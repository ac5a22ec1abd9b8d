"""Ranks tell one another what they were asked for in one message; none that differs or fails leaves others waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.together import together

from qsim_ex import CircuitBuilder, Simulator, StateVector
from qsim_ex.comm.agreed import Asking, Opened
from qsim_ex.comm.connection import connected, renew
from qsim_ex.errors import CommunicationError
from tools.loopback import Loopback

WIRES = 4


def opened(size: int, ask: Callable[[int], Asking]) -> list[Any]:
    """What each rank comes to that is asked for something; what the others told, or its error."""

    def work(end: Any) -> Any:
        with connected(end, this_thread=True):
            first = Opened(lambda: ask(end.rank), lambda: end.rank)
            first.require_same()
            return first.also, first.more, first.renewed

    return together(size, work)


def test_ranks_hear_what_goes_with_the_same_call() -> None:
    """Ranks that were asked for the same have the values of all; short ones, and long ones."""
    for length in (1, 5000):
        found = opened(3, lambda rank, n=length: Asking({"circuit": 1}, str(rank) * n))
        assert found == [([str(rank) * length for rank in range(3)], [0, 1, 2], False)] * 3


def test_a_rank_that_was_asked_for_something_else_is_named_by_all() -> None:
    """All raise one error, which names what differs and on which rank."""
    found = opened(3, lambda rank: Asking({"circuit": 1, "shots": 5 + (rank == 2)}))
    assert {type(one) for one in found} == {CommunicationError}
    assert all("got different ones: shots: 5 on rank 0, 6 on rank 2." in str(one) for one in found)


def test_a_rank_that_fails_before_tells_the_others() -> None:
    """A rank that cannot say what it was asked for raises its error; the others say which rank has failed, and why."""

    def ask(rank: int) -> Asking:
        if rank == 1:
            raise KeyError("no such angle")
        return Asking({})

    first, second, third = opened(3, ask)
    assert isinstance(second, KeyError)
    assert str(first) == str(third)
    assert "rank 1 of 3 has failed, and this rank with it: KeyError: 'no such angle'" in str(first)


@pytest.mark.parametrize("fails", [False, True])
def test_a_rank_that_makes_another_call_does_not_wait_for_ever(*, fails: bool) -> None:
    """It renews the connection for something else, and hears that the others do not, also if they have an error."""

    def work(end: Any) -> Any:
        with connected(end, this_thread=True):
            if end.rank == 1:
                return renew().allgather(1)
            state = Opened(lambda: Asking({"": 1 // (not fails)}))
            return state.require_same()

    for error in together(2, work):
        assert isinstance(error, CommunicationError)
        assert "rank 1 makes another call than rank 0" in str(error)


class Plain:
    """A communicator of a user's own: what it must have, and nothing else."""

    def __init__(self, end: Loopback) -> None:
        self.end, self.rank, self.size, self.description = end, end.rank, end.size, "mine"
        self.gathered = 0

    def __getattr__(self, name: str) -> Any:
        if name not in ("exchange", "allreduce", "broadcast", "barrier", "abort", "close"):
            raise AttributeError(name)
        return getattr(self.end, name)

    def allgather(self, value: Any) -> list[Any]:
        """Count, and return the values of all ranks."""
        self.gathered += 1
        return self.end.allgather(value)

    def renewed(self) -> Plain:
        """Return this end, or another."""
        end = self.end.renewed()
        return self if end is self.end else Plain(end)


class Counted(Loopback):
    """A loopback that counts what ranks gather, alone or with renewing."""

    gathered = 0

    def allgather(self, value: Any) -> list[Any]:
        """Count, and return the values of all ranks."""
        self.gathered += 1
        return super().allgather(value)

    def renewed_with(self, value: Any) -> tuple[Loopback, list[Any]]:
        """Count, and do what it does."""
        self.gathered += 1
        return super().renewed_with(value)


def ghz(turn: float = 0.0) -> CircuitBuilder:
    """GHZ states, and a rotation."""
    builder = CircuitBuilder(WIRES, WIRES).gate("h", [0])
    for wire in range(1, WIRES):
        builder.gate("cx", [wire - 1, wire])
    return builder.gate("rx", [1], turn)


@pytest.mark.parametrize("made", [Plain, None])
def test_a_warm_run_gathers_once_before_its_state(made: Any) -> None:
    """The second run of a size asks once what the first asked in several messages, and its memory may lack room."""

    def work(end: Any) -> Any:
        if made is None:
            end.__class__ = Counted
        end = end if made is None else made(end)
        simulator = Simulator(processes=2, device="cpu")
        circuit = ghz(0.1).measure(range(WIRES), range(WIRES)).build()
        with connected(end, this_thread=True):
            counts = []
            for _ in range(4):
                before = end.gathered
                shots = simulator.run(circuit, shots=20).packed.tolist()
                counts.append(end.gathered - before)
            with simulator.state(ghz(0.2).build()) as state:
                state.apply(ghz(0.2).build())
                return counts, shots, state.to_numpy().tolist()

    first, second = together(2, work)
    assert first == second
    counts, _, _ = first
    assert counts[0] > counts[1] == counts[2] == counts[3] <= 3


def test_states_that_differ_are_refused_by_all() -> None:
    """Two states of different sizes, a state and a circuit, or two circuits, are one error on both ranks."""
    simulator, measured = Simulator(processes=2, device="cpu"), ghz().measure([0], [0]).build()
    for one, other, told in (
        (
            lambda: StateVector(4, processes=2, device="cpu"),
            lambda: StateVector(5, processes=2, device="cpu"),
            "qubits",
        ),
        (lambda: StateVector(4, processes=2, device="cpu"), lambda: simulator.state(ghz().build()), "circuit"),
        (lambda: simulator.state(ghz(0.1).build()), lambda: simulator.state(ghz().build()), "numbers"),
        (lambda: simulator.state(ghz().build()), lambda: simulator.run(measured, shots=1), "circuit"),
    ):

        def work(end: Any, one: Any = one, other: Any = other) -> Any:
            with connected(end, this_thread=True):
                simulator.state(ghz().build()).close()
                try:
                    (other if end.rank else one)().close()
                except CommunicationError as error:
                    simulator.state(ghz().build()).close()  # they go on
                    return str(error)
            return ""

        first, second = together(2, work)
        assert first == second
        assert "expected the same call on all 2 processes" in first
        assert f"{told}: " in first
