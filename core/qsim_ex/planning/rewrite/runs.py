"""Long runs of work on two bits become one matrix.

A dense gate on two wires is often written as some CX with one-qubit gates between. Fusing neighbours does not put it
together again, since no two of its pieces gain by being one; all of them together do. A run is all work on two bits
that no other work on these bits interrupts. Small states have no runs joined: there the products of matrices, which the
host computes, would take longer than they save.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from qsim_ex.circuit import thresholds
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.rewrite.fuse import TABLE_WORK, cancels, fuse, product_of, small, work_of
from qsim_ex.planning.rewrite.rotate import splits
from qsim_ex.planning.work import Work

_ROTATION = 4.0
"""The multiply-adds per amplitude of the real rotation that is left of a complex matrix on one bit."""


@dataclass
class _Run:
    """Work on two bits. anchor: the first piece that touches both, where the whole run may stand.

    core: how many members there are up to the last one that touches both. leads: what stood behind the cores of
    earlier runs on these bits, and may belong to this one.
    """

    bits: tuple[int, ...]
    anchor: int
    members: list[int] = field(default_factory=list)
    core: int = 0
    leads: list[int] = field(default_factory=list)


def join_runs(work: list[Work], program: NumberProgram, item_work: float) -> list[Work]:
    """Return the work with runs joined that cost `thresholds.run_work` or more; products are added to `program`.

    What stands beside a joined run, because it was counted to another one that stays apart, is merged into it.
    """
    joined: dict[int, Work | None] = {}
    for run in _runs(work):
        made, taken = _joined(run, work, joined, program, item_work)
        if made is not None:
            joined |= dict.fromkeys(taken)
            joined[run.anchor] = made
    if not joined:
        return work
    kept = [joined.get(at, piece) for at, piece in enumerate(work)]
    return fuse([piece for piece in kept if piece is not None], program, item_work)


def _joined(
    run: _Run, work: list[Work], gone: Collection[int], program: NumberProgram, item_work: float
) -> tuple[Work | None, list[int]]:
    """Return a run as one matrix, and the pieces that it is made of; None if it stays as it is.

    Where something may cancel, the last pieces on one bit need not be part of it: an H there is most often one of the
    next run. What no run takes is merged into a matrix beside it afterwards.
    """
    leads = _from_roots([at for at in run.leads if at not in gone], work)
    if leads or any(cancels(work[at]) for at in run.members):
        members = sorted(leads + run.members[: run.core])
        made = _whole(members, run.bits, work, program, item_work)
        if made is not None:
            return _lengthened(made, members, run, work, program, item_work)
    return _whole(run.members, run.bits, work, program, item_work), run.members


def _from_roots(leads: list[int], work: list[Work]) -> list[int]:
    """Return what may lead a run: on each bit, the first piece that may cancel with others and what follows it."""
    begun: set[int] = set()
    found = []
    for at in leads:
        if cancels(work[at]):
            begun.add(work[at].touched[0])
        if work[at].touched[0] in begun:
            found.append(at)
    return found


def _lengthened(
    made: Work, members: list[int], run: _Run, work: list[Work], program: NumberProgram, item_work: float
) -> tuple[Work, list[int]]:
    """Return a run with those of its last pieces that cost nothing in it; one that may cancel has to cost less."""
    stopped: set[int] = set()
    for at in run.members[run.core :]:
        piece = work[at]
        if piece.touched[0] in stopped:
            continue
        roots = cancels(piece)
        most = work_of(made) + item_work + (0.0 if roots else work_of(piece) + item_work)
        longer = product_of([made, piece], run.bits, program, item_work, most, less=roots)
        if longer is None:
            stopped.add(piece.touched[0])
        else:
            made = longer
            members.append(at)
    return made, members


def _whole(
    members: list[int], bits: tuple[int, ...], work: list[Work], program: NumberProgram, item_work: float
) -> Work | None:
    """Return some work on two bits as one matrix if that saves enough."""
    pieces = [work[at] for at in members]
    if len(pieces) < 2 or not _mixes_both(pieces, bits):
        return None
    before = sum([_cost(piece, item_work) + item_work for piece in pieces])
    if before < thresholds.now.rewriting.run_work:
        return None
    return product_of(pieces, bits, program, item_work, before)


def _runs(work: list[Work]) -> list[_Run]:
    """Return the runs of two pieces or more, in the order of their anchors."""
    runs: list[_Run] = []
    of_bit: dict[int, _Run] = {}
    before: dict[int, list[int]] = {}  # for each bit without a run, the pieces on it alone since it was interrupted
    for at, piece in enumerate(work):
        bits = piece.touched
        if not small(piece):
            for bit in bits:
                of_bit.pop(bit, None)
                before.pop(bit, None)
        elif len(bits) == 1:
            run = of_bit.get(bits[0])
            (run.members if run else before.setdefault(bits[0], [])).append(at)
        else:
            first, second = (of_bit.get(bit) for bit in bits)
            if first is None or first is not second:
                first = _Run(bits, at, sorted(before.pop(bits[0], []) + before.pop(bits[1], [])))
                for bit in bits:
                    if bit in of_bit:
                        earlier = of_bit[bit]
                        first.leads += [k for k in earlier.members[earlier.core :] if work[k].touched == (bit,)]
                of_bit[bits[0]] = of_bit[bits[1]] = first
                runs.append(first)
            first.members.append(at)
            first.core = len(first.members)
    return runs


def _mixes_both(pieces: list[Work], bits: tuple[int, ...]) -> bool:
    """Return whether some piece mixes each of two bits: what mixes one of them does not need the other near."""
    mixed = 0
    for piece in pieces:
        mixed |= piece.mix
    return all(mixed >> bit & 1 for bit in bits)


def _cost(piece: Work, item_work: float) -> float:
    """Return the multiply-adds of a piece that is not joined; see `rotate`."""
    if item_work <= thresholds.now.rewriting.item_work and splits(piece):
        return _ROTATION + TABLE_WORK
    return work_of(piece)
