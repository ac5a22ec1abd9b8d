"""The kind about saves: all rows, all ways to put values together, anywhere in a program, and states that are set.

A save is compared in two steps. Its values of single trajectories (``list``, ``c_list``) have the oracle's mean,
exactly where nothing is left to chance. And what the drawn way makes of them is what its definition makes of those
values, which the same seed gives again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.channels import Noise
from tools.fuzz.engine import FEW, measurements, pauli_sum
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import NAMES, Matrix, pauli
from tools.fuzz.options import options, tolerance
from tools.fuzz.oracle import Oracle, apply

LINEAR = ("probabilities", "density_matrix", "expectation_value", "amplitudes_squared")
"""Kinds whose mean is that of the mixed state."""

PURE = ("statevector", "amplitudes", "expectation_value_variance")
"""Kinds of which only pure states say what to expect."""

SINGLE = ("single", "list", "c_single", "c_list")
AVERAGE = ("average", "accum", "list", "c_average", "c_accum", "c_list")


class Ask(NamedTuple):
    """What a save asks for, and the branches at that point: classical bits -> A with ρ = A·A†."""

    what: str
    wires: Sequence[int]
    observable: Mapping[str, float]
    values: Sequence[int]
    branches: dict[int, Matrix]

    def of(self, state: Matrix) -> Any:
        """The value of a mixed state A, as much of it as its trace; of a pure one where the kind is not linear."""
        n = len(state).bit_length() - 1
        match self.what:
            case "statevector":
                return state[:, 0]
            case "amplitudes":
                return state[list(self.values), 0]
            case "amplitudes_squared":
                return (np.abs(state[list(self.values)]) ** 2).sum(axis=1)
            case "probabilities":
                return np.diagonal(_reduced(state, self.wires, n)).real
            case "density_matrix":
                return _reduced(state, self.wires, n)
            case _:
                moved = sum(c * apply(state, pauli(text), self.wires) for text, c in self.observable.items())
                mean = np.vdot(state, moved).real
                return (
                    mean if self.what == "expectation_value" else np.array([mean, np.vdot(moved, moved).real - mean**2])
                )

    @property
    def certain(self) -> bool:
        """Whether the state is pure and known."""
        return len(self.branches) == 1 and all(state.shape[1] == 1 for state in self.branches.values())


def _reduced(state: Matrix, wires: Sequence[int], n: int) -> Matrix:
    """The density matrix of some wires, ``wires[0]`` the least significant bit of its index."""
    rest = [wire for wire in range(n) if wire not in wires]
    axes = [n - 1 - wire for wire in reversed(wires)] + [n - 1 - wire for wire in rest]
    tensor = np.transpose(state.reshape([2] * n + [-1]), [*axes, n]).reshape(1 << len(wires), -1)
    return np.asarray(tensor @ tensor.conj().T)


class SavesOracle(Oracle):
    """The branching oracle with saves of every kind, and with states that are set."""

    def __init__(self, wires: int) -> None:
        super().__init__(wires)
        self.asks: dict[str, Ask] = {}

    def save(  # type: ignore[override]
        self,
        label: str,
        what: str,
        *,
        how: str,  # noqa: ARG002  (of the engine)
        wires: Sequence[int] | None = None,
        observable: Mapping[str, float] | None = None,
        values: Sequence[int] = (),
    ) -> Oracle:
        """Keep what is asked, and the branches."""
        on = range(self.wires) if wires is None else wires
        self.asks[label] = Ask(what, tuple(on), observable or {}, values, dict(self.branches))
        return self

    def set_statevector(self, amplitudes: Matrix, wires: Sequence[int]) -> Oracle:
        """Put all wires into a state in every branch."""
        placed = apply(np.eye(1 << self.wires, dtype=np.complex128)[:, :1], _first_column(amplitudes), wires)
        self.branches = {bits: np.linalg.norm(state) * placed for bits, state in self.branches.items()}
        return self


def _first_column(amplitudes: Matrix) -> Matrix:
    found = np.zeros((len(amplitudes),) * 2, dtype=np.complex128)
    found[:, 0] = amplitudes
    return found


# --- what is drawn ----------------------------------------------------------------------------------------------------


def draw_saves(random: Random) -> Case:
    """A program with or without chance, saves anywhere in it, and now and then a state that is set."""
    wires = random.choice([1, 2, 2, 3, 3, 4])
    draw = programs.Draw(random, wires, random.randint(1, 3))
    lines = programs.chance(draw, 8) if random.random() < 0.6 else programs.unitary(draw, 8)
    # Preparations need wires that are |0>, so a state is set behind the last of them.
    first = max((k for k, line in enumerate(lines) if "initialize" in line.text), default=-1) + 1
    if random.random() < 0.25:
        on = draw.on(draw.some(wires))
        lines.insert(
            random.randint(first, len(lines)), Line(f"b.set_statevector(vector({wires}, {draw.seed()}), {on})")
        )
    for number in range(random.randint(1, 3)):
        lines.insert(random.randint(0, len(lines)), Line(save_line(draw, f"s{number}")))
    lines.append(programs.measured(draw))
    ask: dict[str, Any] = {"seed": random.randrange(1 << 40)}
    if ask["seed"] % 2:  # few matrices of one wire are saved among three and more
        ask["thresholds"] = {"density_by_strings": 0}
    return Case("saves", wires, draw.bits, tuple(lines), options(random, wires, double=random.random() < 0.7), ask)


def save_line(draw: programs.Draw, label: str) -> str:
    """A save of any kind that is of a state."""
    random, what = draw.random, draw.random.choice(LINEAR + PURE)
    text = f"b.save({label!r}, {what!r}"
    on = random.sample(range(draw.wires), random.randint(1, draw.wires))
    if what in ("probabilities", "density_matrix", "expectation_value", "expectation_value_variance"):
        text += ", wires=[" + ", ".join(f"q[{wire}]" for wire in on) + "]"
    if what.startswith("expectation"):
        terms = {"".join(random.choice("IXYZ") for _ in on): round(random.uniform(-1, 1), 2) for _ in range(2)}
        text += ", observable=paulis(" + ", ".join(f"{letters}={c}" for letters, c in terms.items()) + ")"
    if what.startswith("amplitudes"):
        text += f", values={random.sample(range(1 << draw.wires), random.randint(1, 1 << draw.wires))}"
    ways = SINGLE if what in ("statevector", "amplitudes") else AVERAGE
    return f"{text}, how=how({random.choice(ways)!r}))"


# --- what is compared -------------------------------------------------------------------------------------------------


def check_saves(case: Case) -> str | None:
    """Values of trajectories have the oracle's mean, and every way to put them together is its definition.

    Where 'automatic' takes them from a density matrix they are the oracle's.
    """
    if not any(measurements(case.program)):
        return None  # of a program that was made smaller: without shots there are no trajectories
    oracle = _read(case, SavesOracle(case.wires), Noise, dict, lambda how: how)
    seed, given = case.ask["seed"], _runner(case, lambda how: how)
    each, grouped = _runner(case, lambda _: "list"), _runner(case, lambda _: "c_list")
    drawn, listed, by_bits = (run(FEW, seed).saved for run in (given, each, grouped))
    chosen = _runner(case, lambda how: how, method="automatic")(FEW, seed)
    for label, ask in oracle.asks.items():
        name, wrong = f"saved {label!r} ({ask.what})", None
        if chosen.facts["method"] == "density_matrix":
            total = sum(np.asarray(ask.of(state)) for state in ask.branches.values())
            wrong = compare.arrays(f"{name}, exact", chosen.saved[label], total, 10 * tolerance(case.options))
        wrong = wrong or _against_oracle(case, name, label, ask, each, grouped)
        wrong = wrong or _put_together(case, name, _how(case, label), drawn[label], listed[label], by_bits[label])
        if wrong:
            return wrong
    return None


Run = Callable[[int, int], Any]


def _against_oracle(case: Case, name: str, label: str, ask: Ask, each: Run, grouped: Run) -> str | None:
    """The values of trajectories: exact for a known state, in the mean for others."""
    within, seed = 10 * tolerance(case.options), case.ask["seed"]
    if ask.certain:
        ((bits, state),) = ask.branches.items()
        expected = np.asarray(ask.of(state))
        for found in (each(FEW, seed).saved[label], grouped(FEW, seed).saved[label].get(bits, np.empty(0))):
            if ask.what in ("statevector", "amplitudes") and _has_chance(case.program):
                found = np.array([_turned(one, expected) for one in found])
            wrong = compare.arrays(name, found, np.broadcast_to(expected, (len(found), *expected.shape)), within)
            if wrong or not len(found):
                return wrong or f"{name}: nothing for the classical bits {bits:b}"
        return None
    if ask.what not in LINEAR:
        return None
    total = sum(np.asarray(ask.of(state)) for state in ask.branches.values())
    weights = np.random.default_rng(seed % 1000).uniform(-1, 1, total.shape)
    largest = float(np.abs(weights).sum()) * max(1.0, sum(map(abs, ask.observable.values())))

    def mean(count: int, own: int) -> float:
        values = each(count, own).saved[label]
        return float(np.real(weights * values).reshape(len(values), -1).sum(axis=1).mean())

    wrong = compare.means(name, mean, float(np.real(weights * total).sum()), largest, seed, within)
    for bits, state in ask.branches.items():

        def part(count: int, own: int, bits: int = bits) -> float:
            values = grouped(count, own).saved[label]
            number = sum(map(len, values.values()))
            return float(np.real(weights * values[bits]).sum() / number) if bits in values else 0.0

        expected = float(np.real(weights * np.asarray(ask.of(state))).sum())
        wrong = wrong or compare.means(f"{name} where bits are {bits:b}", part, expected, largest, seed, within)
    return wrong


def _has_chance(lines: Sequence[Line]) -> bool:
    """Whether a state may have another global phase than the oracle's, whose mixed states have none."""
    return any(line.text.startswith(("b.measure", "b.reset", "b.channel", "with")) for line in _all(lines))


def _turned(found: Any, expected: Any) -> Any:
    """Amplitudes with the global phase that brings them closest to others."""
    overlap = np.vdot(found, expected)
    return found * (overlap / abs(overlap)) if abs(overlap) > 1e-12 else found


def _put_together(case: Case, name: str, how: str, found: Any, listed: Any, by_bits: Any) -> str | None:
    """What the drawn way made of the values of the same trajectories."""
    within = 1e-9 if case.options.get("precision", "double") == "double" else 1e-4
    whole = {
        "single": lambda values: values[0],
        "average": lambda values: values.mean(axis=0),
        "accum": lambda values: values.sum(axis=0),
        "list": lambda values: values,
    }[how.removeprefix("c_")]
    if not how.startswith("c_"):
        return compare.arrays(f"{name} as {how}", found, whole(listed), within * len(listed))
    if sorted(found) != sorted(by_bits):
        return f"{name} as {how}: values for bits {sorted(found)}, expected {sorted(by_bits)}"
    for bits, values in by_bits.items():
        wrong = compare.arrays(f"{name} as {how} for {bits:b}", found[bits], whole(values), within * len(values))
        if wrong:
            return wrong
    return None


def _how(case: Case, label: str) -> str:
    """The drawn way of a save."""
    (text,) = (line.text for line in _all(case.program) if line.text.startswith(f"b.save({label!r}"))
    return text.split("how=how('")[1].split("'")[0]


def _all(lines: Sequence[Line]) -> Iterator[Line]:
    for line in lines:
        yield line
        yield from _all(line.body)


def _runner(case: Case, how: Callable[[str], str], method: str = "statevector") -> Run:
    """Runs the case's circuit with the ways of its saves changed, by default with trajectories."""
    import qsim_ex
    from qsim_ex import CircuitBuilder, Options, Simulator

    def paulis(**terms: float) -> Any:
        return pauli_sum(terms)

    made = _read(case, CircuitBuilder(case.wires, case.bits), qsim_ex, paulis, how).build()
    simulator = Simulator(Options(**{"method": method, **case.options}))
    return lambda shots, seed: simulator.run(made, shots=shots, seed=seed)


def _read(case: Case, builder: Any, noise: Any, paulis: Any, how: Callable[[str], str]) -> Any:
    """A builder or an oracle after all lines of the program."""
    names = {"b": builder, "noise": noise, "paulis": paulis, "how": how}
    case.run(NAMES | names | {"q": range(case.wires), "c": range(case.bits), "v": ()})
    return builder


KINDS = [Kind("saves", draw_saves, check_saves, 1.5)]
