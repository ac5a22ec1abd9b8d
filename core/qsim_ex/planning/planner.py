"""`make_plan`: from instructions to a plan.

Native code plans (core/native/planner): absorb → cancel → fuse → join runs → gather → rotate → (grow a tile → grow its
register blocks → items)* → coefficient program; where a state is larger than one device, the work is divided into
stages in between. A circuit full of CX may then be planned once more, in a CNOT frame, and the plan that is predicted
to take less time is taken. Python says what a plan is (`steps`) and what it costs (`cost`).
"""

from __future__ import annotations

from qsim_ex.circuit.ops import Unitary
from qsim_ex.errors import NotSupported, OptionError
from qsim_ex.options.network import describe
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.compiled import MOST_WIRES, compiled_plan, compiled_stages
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Plan

__all__ = ["bind", "make_plan"]


def make_plan(
    instructions: tuple[Unitary, ...],
    num_wires: int,
    start: Layout,
    shape: Shape,
    fresh: int = 0,
    levels: Levels | None = None,
    place: bool = False,
) -> Plan:
    """Plan straight-line unitary work on a state in layout `start`, for devices of this shape.

    fresh: mask of index bits that are 0 in all of the state, whose other amplitudes memory need not hold (see
    `steps.Sweep`); all bits for a state of which only amplitude 0 is written, and is 1.
    levels: how the index bits are divided; None, or enough local bits, for one device that holds all of them.
    place: whether wires on fresh index bits may be put on other fresh bits: `Plan.start` then says on which. (They are
    relabelled in any case, since that costs nothing; without `place` it shows in `Plan.end` only.)
    The plan depends on structure alone: circuits that differ in angles share it, see `execution.prepare.plan_of`.
    Raises `OptionError` for levels that do not fit, `NotSupported` for too many wires and for an operation wider than a
    sub state vector.
    """
    if num_wires > MOST_WIRES:
        raise NotSupported(
            f"expected a state of at most {MOST_WIRES} wires, got {num_wires}; use fewer wires that gates join."
        )
    if levels is None or levels.local >= num_wires:
        return compiled_plan(instructions, num_wires, start, shape, fresh, place)
    _check(levels, num_wires)
    return compiled_stages(instructions, num_wires, start, shape, fresh, levels, place)


def _check(levels: Levels, num_wires: int) -> None:
    """Raise `OptionError` for levels that contradict each other."""
    if not 0 <= levels.slice < levels.local or levels.peers < 0 or levels.local + levels.peers > num_wires:
        raise OptionError(
            f"expected 0 <= slice < local, peers >= 0 and local + peers <= {num_wires} wires, got "
            f"slice={levels.slice}, local={levels.local}, peers={levels.peers}; pass other levels."
        )
    if levels.ranks and levels.migration(num_wires) < 1:
        raise OptionError(
            f"expected migration bits below the bits of ranks, got {levels} for {num_wires} wires; pass other levels."
        )
    if levels.layers and sum(layer.bits for layer in levels.layers) != levels.peers:
        raise OptionError(
            f"expected layers of {levels.peers} bits, one for each device bit, got {describe(levels.layers)}; pass "
            "other layers."
        )
