"""Draws where and how the engine works: devices, placements with tiny capacities, precision, threads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from qsim_ex.steps.layout import Shape

DEVICES = "QSIM_EX_FUZZ_DEVICES"
"""The environment variable that names the kinds of devices to draw from, so that all processes draw alike."""


@lru_cache(maxsize=1)
def devices() -> tuple[str, ...]:
    """The kinds of devices to draw from: those asked for, or all that are here."""
    asked = os.environ.get(DEVICES)
    if asked:
        return tuple(asked.split(","))
    from qsim_ex import Simulator
    from qsim_ex.errors import QsimExError

    try:
        Simulator(device="gpu").placement(3)
    except QsimExError:
        return ("cpu",)
    return ("cpu", "gpu")


NARROW = 12
"""Wires of a circuit that is small enough to be simulated as a whole, which a placement may need."""


def placed(random: Random, wires: int, least: int = 3) -> dict[str, Any]:
    """A placement for a state of some wires, of which so many or more are local but for small states and rarely.

    An empty dictionary is a state in one piece.
    """
    # Fewer local wires than a gate mixes are refused.
    kept = 1 if least == 3 and random.random() < 0.1 else min(least, max(wires - 1, 1))
    shared = min(random.choice([0, 0, 0, 1, 1, 2]), max(wires - kept, 0))
    options: dict[str, Any] = {"virtual_peers": 1 << shared} if shared else {}
    most = wires - shared
    if most > kept and random.random() < 0.6:
        own = random.randint(kept, most - 1)
        options["device_wires"] = own
        if random.random() < 0.4:
            options["window_slots"] = 1 << random.randint(1, min(own, 3))
        if random.random() < 0.4:
            options["in_flight_buffers"] = random.randint(1, 4)
        if random.random() < 0.4:
            options["host_memory"] = random.choice(["whole", "auto"] if shared else ["whole", "spread"])
    if shared and random.random() < 0.4:
        options["network"] = random.choice(["switch", "mesh"]) if random.random() < 0.4 else layers(random, shared)
    return options


def layers(random: Random, bits: int) -> list[tuple[int, str, float]]:
    """A network of layers for at least so many bits of device numbers, the nearest and fastest first."""
    found, rate = [], 4e11
    while bits > 0:
        rate /= random.choice([1, 4, 1000])  # far links so slow that plans avoid them, or no slower than near ones
        found.append((random.choice([1, 1, 2]), f"link {len(found)}", rate))
        bits -= found[-1][0]
    return found


def options(random: Random, wires: int, *, double: bool = False) -> dict[str, Any]:
    """Options of the engine for a state of some wires. double: in double precision."""
    chosen: dict[str, Any] = {"device": random.choice(devices())}
    if not double and random.random() < 0.35:
        chosen["precision"] = "single"
    if random.random() < 0.4:
        chosen["threads"] = random.choice([1, 2])
    if chosen["device"] == "gpu":  # compiling takes a second
        chosen["compile"] = random.choices(["never", "auto", "always"], [60, 36, 4])[0]
    if wires <= NARROW and random.random() < 0.65:
        chosen |= placed(random, wires)
    return chosen


MACHINES = (
    "Shape(tile=5, registers=3, low=2, edge=0, most_blocks=3, dense=3, thin=7, item_work=2.0)",
    "Shape(tile=6, registers=4, low=2, edge=0, most_blocks=None, dense=2)",
    "Shape(tile=3, registers=2, low=1, edge=0, most_blocks=None, dense=2)",
    "Shape(tile=4, registers=3, low=1, edge=0, most_blocks=3, dense=2, start=2, counted=8.0)",
)
"""CPUs so small that a few wires take many sweeps and register blocks; number 0 of a case is the real one."""


def rules_left_out(random: Random) -> list[str]:
    """Rules of planning to leave out: mostly none, else one, or half of them."""
    from qsim_ex.planning.rules import rules

    kind = random.random()
    if kind < 0.7:
        return []
    return [random.choice(rules())] if kind < 0.85 else [rule for rule in rules() if random.random() < 0.5]


def machine_of(text: str, without: Sequence[str]) -> Shape:
    """The shape of a machine that is written as text, planned for without some rules."""
    from qsim_ex.steps.layout import Shape

    made: Shape = eval(text, {"Shape": Shape})
    return replace(made, left_out=tuple(without))


@contextmanager
def machine(number: int, without: Sequence[str]) -> Iterator[None]:
    """Plan for another CPU meanwhile, or for this one, without some rules of planning."""
    if not number and not without:
        yield
        return
    from qsim_ex.devices.cpu.device import CpuDevice

    right = CpuDevice.shape
    small = machine_of(MACHINES[number - 1], without) if number else None

    def shape(device: CpuDevice, dtype: Any) -> Shape:
        return small or replace(right(device, dtype), left_out=tuple(without))

    with patch.object(CpuDevice, "shape", shape):
        yield


def tolerance(options: Any) -> float:
    """How far an amplitude of a short circuit may be from the truth."""
    return 2e-5 if options.get("precision") == "single" else 1e-9
