"""Levels above the memory of one device, for native code: as it reads them, and the stages that it returns."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from qsim_ex.circuit.ops import Unitary, title_of
from qsim_ex.errors import NotSupported, OptionError
from qsim_ex.later import later
from qsim_ex.options.network import describe
from qsim_ex.steps.layout import Levels, Shape
from qsim_ex.steps.plan import Exchange, Migration, Stage
from qsim_ex.steps.step import Step

if TYPE_CHECKING:
    from qsim_ex.planning.cost import rates as known_rates
else:
    known_rates = later("qsim_ex.planning.cost.rates")

_NO_MOTION, _EXCHANGE, _MIGRATION = range(3)


def check(levels: Levels, num_wires: int) -> None:
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


def as_integers(levels: Levels, shape: Shape, place: bool, parities: int) -> list[int]:
    """Return levels as native code reads them; parities: `rules.PARITIES`."""
    sizes = levels.local, levels.peers, levels.slice, levels.ranks, levels.network == "mesh"
    layers = [layer.bits for layer in levels.layers]
    return [*sizes, shape.stays, place, parities, len(layers), *layers]


def rates_of(levels: Levels) -> tuple[float, ...]:
    """Return the rates by which plans on several levels are compared: of H200s, and of layers."""
    rates = known_rates.H200
    of = rates.memory, rates.fma, rates.seen, rates.peer, rates.host, rates.host_both, rates.host_all, rates.homes
    return *of, rates.launch, rates.exchange, *(layer.bytes_per_second for layer in levels.layers)


def stages_of(rows: list[int], steps: tuple[Step, ...]) -> tuple[Stage, ...]:
    """Return the stages of some steps; the integers of `rows` are those of `Planner::stages` in plan.hpp."""
    integers = iter(rows)

    def some(count: int) -> tuple[int, ...]:
        return tuple(itertools.islice(integers, count))

    found, begin = [], 0
    for end in integers:
        fresh, kind, count = some(3)
        flat = some(2 * count)
        swaps = tuple(zip(flat[::2], flat[1::2], strict=True))
        bits = some(next(integers))
        motion = {_NO_MOTION: None, _EXCHANGE: Exchange(swaps), _MIGRATION: Migration(bits, swaps)}[kind]
        found.append(Stage(steps[begin:end], motion, fresh))
        begin = end
    return tuple(found)


def too_wide(instructions: tuple[Unitary, ...], local: int) -> NotSupported:
    """Return the error of an operation that mixes more bits than are local."""
    wanted, name = max((one.mixed_wires.bit_count(), title_of(one)) for one in instructions)
    return NotSupported(
        f"the operation {name!r} mixes {wanted} bits at once; a sub state vector has {local} local bits. Use at "
        f"least {wanted} device wires, or decompose the operation."
    )
