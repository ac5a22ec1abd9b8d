"""Kinds about runs of the engine: shots, chance, and expectation values."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.engine import (
    ENTRIES,
    FEW,
    circuit_of,
    distribution_of,
    draw_readout,
    measurements,
    one_number,
    pauli_sum,
    readout_of,
    terms,
    truth_of,
)
from tools.fuzz.kinds import Kind
from tools.fuzz.options import options, tolerance
from tools.fuzz.oracle import Oracle

# --- shots ------------------------------------------------------------------------------------------------------------


def draw_shots(random: Random) -> Case:
    """Gates, then measurements, with states saved here and there."""
    wires = random.choice([1, 2, 3, 3, 4, 4, 5, 6, 7])
    draw = programs.Draw(random, wires, min(wires, 5))
    lines = programs.unitary(draw)
    for number in range(random.choice([0, 0, 1, 2])):
        lines.insert(random.randint(0, len(lines)), Line(f"b.save('s{number}')"))
    lines.append(programs.measured(draw))
    return _run_case("shots", random, draw, tuple(lines))


def draw_chance(random: Random) -> Case:
    """Gates among measurements, resets, conditions and channels."""
    wires = random.choice([1, 2, 2, 3, 3, 3, 4, 4, 5])
    draw = programs.Draw(random, wires, random.randint(1, 4))
    with_readout = random.random() < 0.25
    lines = programs.chance(draw, noisy=random.random() < 0.6)
    saves = not with_readout and random.random() < 0.15
    if saves:
        lines.insert(random.randint(1, len(lines)), Line("b.save('s0')"))
    lines.append(programs.measured(draw))
    case = _run_case("chance", random, draw, tuple(lines), readout=with_readout)
    return Case(case.kind, case.wires, case.bits, case.program, case.options, {**case.ask, "saves": saves})


def _run_case(
    kind: str, random: Random, draw: programs.Draw, lines: tuple[Line, ...], *, readout: bool | None = None
) -> Case:
    double = random.random() < 0.6
    wanted = random.random() < 0.2 if readout is None else readout
    ask = {
        "entry": random.choice(ENTRIES),
        "seed": random.randrange(1 << 40),
        "readout": draw_readout(random, lines) if wanted else (),
        "elsewhere": options(random, draw.wires, double=True) if double else None,
    }
    return Case(kind, draw.wires, draw.bits, lines, options(random, draw.wires, double=double), ask)


def ran(case: Case, made: Any, shots: int | None, seed: int, changes: Any = None) -> Any:
    """The result of a circuit by the case's entry point, or elsewhere."""
    from qsim_ex import Options, Simulator

    simulator = Simulator(Options(**(case.options if changes is None else changes)))
    readout = readout_of(case) if shots is not None else ()
    if case.ask["entry"] == "run":
        return simulator.run(made, shots=shots, seed=seed, readout=readout)
    return simulator.run_batch(made, shots=shots, seeds=[seed], readout=readout)[0]


def check_shots(case: Case) -> str | None:
    """Shots come from the oracle's distribution, the same ones elsewhere, and saved states are the oracle's."""
    made = circuit_of(case)
    oracle, expected = distribution_of(case)
    if case.ask.get("saves"):
        return _check_saved_by_chance(case, made, oracle, expected)
    seed, elsewhere = case.ask["seed"], case.ask["elsewhere"]
    name = f"shots of {case.ask['entry']}"
    wrong = compare.samples(
        name,
        lambda shots, own: ran(case, made, shots, own).counts(),
        compare.rounded(expected, case.options),
        case.bits,
        seed,
        compare.shots_of(case.options),
    )
    if wrong:
        return wrong
    found = ran(case, made, FEW, seed)
    for label, branches in oracle.saved.items():
        wrong = compare.arrays(f"saved {label!r}", found.saved[label], branches[0][:, 0], tolerance(case.options))
        if wrong:
            return wrong
    return None if elsewhere is None else wrong_elsewhere(case, made, found)


def wrong_elsewhere(case: Case, made: Any, found: Any) -> str | None:
    """Compare shots with those elsewhere, unless stabilizer states, for which placements do not ask, drew some."""
    if not one_number(case):
        return None
    elsewhere = case.ask["elsewhere"]
    other = ran(case, made, FEW, case.ask["seed"], elsewhere)
    if "stabilizer" in (methods := {one.provenance.facts["method"] for one in (found, other)}) and len(methods) > 1:
        return None
    return compare.equal(f"shots on {elsewhere}", other.packed, found.packed)


def _check_saved_by_chance(case: Case, made: Any, oracle: Oracle, expected: dict[int, float]) -> str | None:
    """One shot at a time: its bits are possible, and its saved states belong to the states that are."""
    for seed in range(case.ask["seed"], case.ask["seed"] + 3):
        result = ran(case, made, 1, seed)
        (bits,) = result.counts()
        if expected.get(bits, 0.0) < 1e-12 and case.options.get("precision") != "single":
            return f"seed {seed} gives bits {bits:b}, which are impossible"
        for label in oracle.saved:
            psi = np.asarray(result.saved[label], dtype=np.complex128)
            off = oracle.holds(label, psi / np.linalg.norm(psi))
            if abs(np.linalg.norm(psi) - 1) > 1e-5 or not off < max(1e-4, 100 * tolerance(case.options)):
                return f"seed {seed}: state {label!r} of norm {np.linalg.norm(psi):.6f} stands out by {off:.3g}"
    return None


# --- expectation values -----------------------------------------------------------------------------------------------


def draw_values(random: Random) -> Case:
    """A program with or without chance, and observables."""
    wires = random.choice([1, 2, 3, 3, 4, 5])
    draw = programs.Draw(random, wires, random.randint(1, 3))
    lines = tuple(programs.chance(draw) if random.random() < 0.6 else programs.unitary(draw))
    # Measurements at the end are not made before values are taken, which only letters other than Z would notice.
    fixed = {wire for on, _ in measurements(lines) for wire in on}
    sums = []
    for _ in range(random.randint(1, 2)):
        found = terms(random, wires)
        sums.append(
            {
                "".join("Z" if k in fixed and letter in "XY" else letter for k, letter in enumerate(letters)): number
                for letters, number in found.items()
            }
        )
    ask = {"seed": random.randrange(1 << 40), "observables": tuple(sums)}
    return Case("values", wires, draw.bits, lines, options(random, wires), ask)


def check_values(case: Case) -> str | None:
    """Expectation values are exact where nothing is left to chance, and else means around the oracle's."""
    from qsim_ex import Options, Simulator

    made, oracle = circuit_of(case), truth_of(case)
    simulator, sums = Simulator(Options(**case.options)), case.ask["observables"]
    observables = [pauli_sum(one) for one in sums]
    for number, one in enumerate(sums):
        expected = oracle.expectation(one).real
        within, largest = 10 * tolerance(case.options), sum(map(abs, one.values()))
        first = simulator.run_batch(made, seeds=case.ask["seed"], observables=observables, trajectories=1)
        if first.trajectories is None:
            wrong = compare.arrays(f"value {number}", first.values[0, number], expected, within)
        else:
            wrong = compare.means(
                f"value {number} of trajectories",
                lambda count, seed, k=number: float(
                    simulator.run_batch(made, seeds=seed, observables=observables, trajectories=count).values[0, k]
                ),
                expected,
                largest,
                case.ask["seed"],
                within,
            )
        if wrong:
            return wrong
    return None


KINDS = [
    Kind("shots", draw_shots, check_shots, 3),
    Kind("chance", draw_chance, check_shots, 4),
    Kind("values", draw_values, check_values, 1.5),
]
