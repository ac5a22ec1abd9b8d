"""Kinds about density matrices, where nothing is left to chance: every number is the oracle's, within rounding."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.channels import Noise
from tools.fuzz.engine import (
    FEW,
    circuit_of,
    distribution_of,
    draw_readout,
    measurements,
    one_number,
    pauli_sum,
    readout_of,
    terms,
)
from tools.fuzz.engine_saves import LINEAR, SavesOracle
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import NAMES
from tools.fuzz.options import options, tolerance

LEAST = 4
"""The fewest wires near a device: a channel on two wires mixes four."""


def _options(random: Random, wires: int) -> dict[str, Any]:
    """Options for the density matrix of some wires, with as many wires near a device as a channel mixes."""
    found = options(random, 2 * wires) | {"method": "density_matrix"}
    if found.get("virtual_peers", 1) > 1 << max(0, 2 * wires - LEAST):
        del found["virtual_peers"]
    if "device_wires" in found:
        found["device_wires"] = max(LEAST, found["device_wires"])
        shared = found.get("virtual_peers", 1).bit_length() - 1
        if found["device_wires"] + shared >= 2 * wires:
            del found["device_wires"]
    return found


class _Draw(programs.Draw):
    """Draws channels of full strength too, whose superoperators are zeros and ones."""

    def kraus(self, wires: int) -> str:
        """The Kraus matrices of a channel."""
        if wires == 1 and self.random.random() < 0.15:
            name = self.random.choice(
                ("amplitude_damping", "phase_damping", "depolarizing", "reset_channel", "bit_flip")
            )
            return f"noise.{name}(1.0)"
        return super().kraus(wires)


def _lines(random: Random, draw: programs.Draw) -> list[Line]:
    return programs.chance(draw, noisy=random.random() < 0.8)


# --- shots ------------------------------------------------------------------------------------------------------------


def draw_shots(random: Random) -> Case:
    """Gates among measurements, resets, conditions and channels, and misread bits now and then."""
    wires = random.choice([1, 2, 2, 3, 3, 4])
    draw = _Draw(random, wires, random.randint(1, 4))
    made = _lines(random, draw)
    limits: dict[str, int] = {}
    if random.random() < 0.15:  # two parts, which nothing joins
        limits = {"wires_for_a_number": 1}
        wires, others = wires + 2, _Draw(random, 2, draw.bits)
        parts = [(draw, dict(enumerate(range(draw.wires)))), (others, {0: wires - 2, 1: wires - 1})]
        made, draw = programs.in_parts(parts, random.randint(2, 6)), _Draw(random, wires, draw.bits)
    lines = (*made, programs.measured(draw))
    readout = draw_readout(random, lines) if random.random() < 0.3 else ()
    ask = {"seed": random.randrange(1 << 40), "readout": readout, "elsewhere": _options(random, wires)}
    ask["thresholds"] = limits
    return Case("density", wires, draw.bits, lines, _options(random, wires), ask)


def check_shots(case: Case) -> str | None:
    """Shots come from the oracle's distribution; in double precision they are the same elsewhere."""
    from qsim_ex import Options, Simulator

    made, readout, seed = circuit_of(case), readout_of(case), case.ask["seed"]
    _, expected = distribution_of(case)
    simulator = Simulator(Options(**case.options))
    wrong = compare.samples(
        "shots of a density matrix",
        lambda shots, own: simulator.run(made, shots=shots, seed=own, readout=readout).counts(),
        compare.rounded(expected, case.options),
        case.bits,
        seed,
    )
    elsewhere = case.ask["elsewhere"]
    if wrong or not one_number(case) or "single" in (case.options.get("precision"), elsewhere.get("precision")):
        return wrong
    found, other = (
        Simulator(Options(**one)).run(made, shots=FEW, seed=seed, readout=readout) for one in (case.options, elsewhere)
    )
    return compare.equal(f"shots on {elsewhere}", other.packed, found.packed)


# --- values -----------------------------------------------------------------------------------------------------------


def draw_values(random: Random) -> Case:
    """A program with saves of every kind that a mixed state has, and with observables at its end."""
    wires = random.choice([1, 2, 2, 3, 3, 4])
    draw = _Draw(random, wires, random.randint(1, 3))
    lines = _lines(random, draw)
    for number in range(random.randint(1, 3)):
        lines.insert(random.randint(0, len(lines)), Line(_save(draw, f"s{number}")))
    fixed = {wire for on, _ in measurements(tuple(lines)) for wire in on}  # see `engine_runs.draw_values`
    observable = {
        "".join("Z" if k in fixed and letter in "XY" else letter for k, letter in enumerate(letters)): number
        for letters, number in terms(random, wires).items()
    }
    ask = {"seed": random.randrange(1 << 40), "observable": observable}
    return Case("density values", wires, draw.bits, tuple(lines), _options(random, wires), ask)


def _save(draw: programs.Draw, label: str) -> str:
    """A save of a kind that a mixed state has."""
    random, what = draw.random, draw.random.choice(LINEAR)
    text = f"b.save({label!r}, {what!r}"
    on = random.sample(range(draw.wires), random.randint(1, draw.wires))
    if what == "amplitudes_squared":
        text += f", values={random.sample(range(1 << draw.wires), random.randint(1, 1 << draw.wires))}"
    else:
        text += ", wires=[" + ", ".join(f"q[{wire}]" for wire in on) + "]"
    if what == "expectation_value":
        found = {"".join(random.choice("IXYZ") for _ in on): round(random.uniform(-1, 1), 2) for _ in range(2)}
        text += ", observable=paulis(" + ", ".join(f"{letters}={c}" for letters, c in found.items()) + ")"
    return f"{text}, how={random.choice(['average', 'c_average'])!r})"


def check_values(case: Case) -> str | None:
    """Saved values, with and without the classical bits, and expectation values are the oracle's."""
    import qsim_ex
    from qsim_ex import CircuitBuilder, Options, Simulator

    oracle, builder = SavesOracle(case.wires), CircuitBuilder(case.wires, case.bits)
    for one, noise, paulis in ((oracle, Noise, dict), (builder, qsim_ex, lambda **found: pauli_sum(found))):
        names = {"b": one, "noise": noise, "paulis": paulis, "q": range(case.wires), "c": range(case.bits), "v": ()}
        case.run(NAMES | names)
    simulator, within = Simulator(Options(**case.options)), 10 * tolerance(case.options)
    observable = case.ask["observable"]
    result = simulator.run_batch(builder.build(), observables=[pauli_sum(observable)])
    wrong = compare.arrays("expectation value", result.values[0, 0], oracle.expectation(observable).real, within)
    for label, ask in oracle.asks.items():
        found: Any = result[0].saved[label]
        name = f"saved {label!r} ({ask.what})"
        values = {bits: (np.asarray(ask.of(one)), np.vdot(one, one).real) for bits, one in ask.branches.items()}
        if not isinstance(found, dict):
            wrong = wrong or compare.arrays(name, found, sum(value for value, _ in values.values()), within)
            continue
        for bits, (value, weight) in values.items():
            if weight > 1e-6:
                mine = found.get(bits, np.nan)
                wrong = wrong or compare.arrays(
                    f"{name} where bits are {bits:b}", mine, value / weight, within / weight
                )
        extra = [bits for bits in found if bits not in values]
        if extra and case.options.get("precision") != "single":
            wrong = wrong or f"{name}: values for bits {extra}, which never occur"
    return wrong


KINDS = [
    Kind("density", draw_shots, check_shots, 1.5),
    Kind("density values", draw_values, check_values, 1.5),
]
