"""Which work waits for which directions, against matrices."""

from __future__ import annotations

import numpy as np

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.planning.linear.frame import Frame, Framed, framed
from qsim_ex.planning.linear.locality import Order, basis_of, chosen, reasons, split
from qsim_ex.planning.rewrite.absorb import absorb
from qsim_ex.steps import Layout, Shape
from qsim_ex.steps.algebra import Span, same_span

TINY = Shape(tile=4, near=2, low=1, edge=0, phases=None, dense=2)


def drawn(seed: int, wires: int, gates: int) -> tuple[list[Framed], Frame]:
    """Framed work of a circuit with many CX."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(wires)
    for _ in range(gates):
        name = ("cx", "h", "cx", "t", "ccx", "rxx")[rng.integers(6)]
        count = {"h": 1, "t": 1, "ccx": 3}.get(name, 2)
        builder.gate(name, rng.permutation(wires)[:count].tolist(), *([0.3] if name == "rxx" else []))
    found = framed(absorb(builder.build().instructions, Layout.identity(wires), TINY)[0], wires)
    assert found is not None
    return found


def test_directions_are_dual_to_parities() -> None:
    """The parity of a bit changes with its own direction and with no other bit's."""
    for seed in range(5):
        frame = drawn(seed, 7, 60)[1]
        for one, parity in enumerate(frame.parities):
            assert [(parity & d).bit_count() & 1 for d in frame.directions] == [one == k for k in range(7)]


def test_reasons_are_what_is_missing() -> None:
    """Work runs if its reason is near, and, where that is exact, not if any dimension of it is missing."""
    for seed in range(6):
        work, _ = drawn(seed, 7, 50)
        order, numbers = Order(work), list(range(len(work)))
        found = reasons(numbers, work, order, Span([1]), 7)
        for number, reason in found.items():
            assert reason is not None
            assert number in split(numbers, work, order, Span([1, *reason]))[0]
            for k in range(len(reason)):
                less = Span([1, *reason[:k], *reason[k + 1 :]])
                assert number not in split(numbers, work, order, less)[0]


def test_the_order_keeps_what_does_not_commute() -> None:
    """Two pieces that change places commute: what comes before another, directly or not, is all that does not."""
    work, _ = drawn(3, 6, 60)
    before = Order(work).before
    reached = []
    for number, just in enumerate(before):
        every = just
        for other in range(number):
            if just >> other & 1:
                every |= reached[other]
        reached.append(every)
        for other in range(number):
            one, two = work[number], work[other]
            crosses = any((d & p).bit_count() & 1 for d in one.directions for p in two.parities) or any(
                (d & p).bit_count() & 1 for d in two.directions for p in one.parities
            )
            assert not crosses or every >> other & 1


def test_choices_keep_their_bounds() -> None:
    """A choice has no more directions than there is room for, and few outside the tile before."""
    for seed in range(6):
        work, _ = drawn(seed, 9, 80)
        order, numbers = Order(work), list(range(len(work)))
        found = reasons(numbers, work, order, Span(), 5)
        inside = [1, 2, 4, 8, 16]
        for outside in (-1, 0, 2):
            made = chosen(found, work, [], 5, inside, outside)
            assert len(Span(made)) == len(made) <= 5
            assert outside < 0 or len(Span([*inside, *made])) <= 5 + outside


def test_bases() -> None:
    """A space has one reduced basis."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        vectors = [int(v) for v in rng.integers(1 << 6, size=4)]
        basis = basis_of(vectors)
        assert same_span(vectors, basis)
        assert basis == basis_of([vectors[0] ^ vectors[1], *vectors[::-1]])
