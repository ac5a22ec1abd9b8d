"""Kinds about states of the engine: amplitudes, what is asked of a state, collapse, and batches of states."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.channels import Noise
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import NAMES, Matrix, pauli, strings, vector
from tools.fuzz.options import options, placed, tolerance
from tools.fuzz.oracle import Oracle, apply

ENTRIES = ("state", "state", "run", "run_batch", "apply", "lines", "initial")
QUESTIONS = ("amplitudes", "probabilities", "expectation", "matrix", "norm", "inner", "sample", "collapse", "copies")


# --- how programs become circuits -------------------------------------------------------------------------------------


def circuit_of(case: Case, lines: tuple[Line, ...] | None = None, values: Any = ()) -> Any:
    """The engine's circuit of a program."""
    from qsim_ex import CircuitBuilder

    return filled(CircuitBuilder(case.wires, case.bits), case, lines, values).build()


def filled(builder: Any, case: Case, lines: tuple[Line, ...] | None = None, values: Any = ()) -> Any:
    """A builder of the engine, or one of its kind, after all lines of a program."""
    from qsim_ex.circuit import noise

    some = case if lines is None else Case(case.kind, case.wires, case.bits, lines)
    some.run(NAMES | {"b": builder, "noise": noise, "q": range(case.wires), "c": range(case.bits), "v": values})
    return builder


def truth_of(case: Case, values: Any = (), lines: tuple[Line, ...] | None = None, oracle: Any = None) -> Any:
    """The oracle after all lines of a program."""
    oracle = Oracle(case.wires) if oracle is None else oracle
    some = case if lines is None else Case(case.kind, case.wires, case.bits, lines)
    some.run(NAMES | {"b": oracle, "noise": Noise, "q": range(case.wires), "c": range(case.bits), "v": values})
    return oracle


def terms(random: Random, wires: int, letters: str = "IXYZ") -> dict[str, float]:
    """A Pauli sum with real coefficients; letter j of a string acts on wire j."""
    count = random.randint(1, 3)
    return {"".join(random.choice(letters) for _ in range(wires)): random.uniform(-2, 2) for _ in range(count)}


def pauli_sum(found: dict[str, float]) -> Any:
    """The engine's observable."""
    from qsim_ex import PauliString, PauliSum

    return PauliSum(tuple(PauliString.parse(text, range(len(text)), number) for text, number in found.items()))


# --- states -----------------------------------------------------------------------------------------------------------


def draw_state(random: Random) -> Case:
    """A unitary program, a way to its state, and a question."""
    wires = random.choice([1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7])
    draw = programs.Draw(random, wires, wires)
    lines = programs.unitary(draw)
    if random.random() < 0.2:
        lines.append(programs.measured(draw))  # ignored at the end
    ask = {"entry": random.choice(ENTRIES), "question": random.choice(QUESTIONS), "seed": random.randrange(1 << 20)}
    if ask["entry"] in ("run", "run_batch", "lines", "initial"):
        lines = [line for line in lines if not line.text.startswith("b.measure")]
    if ask["entry"] in ("lines", "initial"):
        lines = [line for line in lines if not line.text.startswith("b.initialize")]
    return Case("state", wires, wires, tuple(lines), options(random, wires), ask)


class _Unmeasured(Oracle):
    """Ignores measurements, which at the end of a program leave the state alone."""

    def measure(self, wires: Any, clbits: Any) -> Oracle:  # noqa: ARG002  (the builder's)
        """Nothing."""
        return self


def check_state(case: Case) -> str | None:
    """The amplitudes are the oracle's, and so is what is asked of the state."""
    from qsim_ex import Options, Simulator, StateVector

    chosen, n, within = Options(**case.options), case.wires, tolerance(case.options)
    truth = _Unmeasured(n)
    start = None
    if case.ask["entry"] == "initial":
        start = vector(n, case.ask["seed"] % 50)
        truth.branches[0] = start[:, None].copy()
    expected = truth_of(case, oracle=truth).vector()
    simulator = Simulator(chosen)
    match case.ask["entry"]:
        case "run" | "run_batch" as entry:
            made = circuit_of(case, (*case.program, Line("b.save('all')")))
            result = simulator.run(made) if entry == "run" else simulator.run_batch(made)[0]
            return compare.arrays("saved state", result.saved["all"], expected, within)
        case "state":
            state = simulator.state(circuit_of(case))
        case "initial":
            state = simulator.state(circuit_of(case), initial=start)
        case "apply":
            state = StateVector(n, options=chosen)
            state.apply(circuit_of(case))
        case _:
            state = StateVector(n, options=chosen)
            for line in case.program:
                state.apply(circuit_of(case, (line,)))
    with state:
        return compare.arrays("amplitudes", state.to_numpy(), expected, within) or _asked(case, state, expected, within)


def _asked(case: Case, state: Any, psi: Matrix, within: float) -> str | None:
    """Compare one question's answer with arithmetic on the amplitudes."""
    random, n = Random(case.ask["seed"]), case.wires
    wires = random.sample(range(n), random.randint(1, n))
    weights = np.abs(psi) ** 2
    match case.ask["question"]:
        case "amplitudes":
            order = random.sample(range(n), n)
            values = [random.randrange(1 << n) for _ in range(5)]
            places = [sum((value >> k & 1) << wire for k, wire in enumerate(order)) for value in values]
            start = random.randrange(1 << n)
            return compare.arrays(
                f"amplitudes({values}, {order})", state.amplitudes(values, order), psi[places], within
            ) or compare.arrays(f"get({start})", state.get(start), psi[start:], within)
        case "probabilities":
            held = {wire: random.randrange(2) for wire in range(n) if wire not in wires and random.random() < 0.5}
            expected = _marginal(np.where(_holding(n, held), weights, 0), wires)
            found = state.probabilities(wires, held or None)
            return compare.arrays(f"probabilities({wires}, {held})", found, expected, within)
        case "expectation":
            sums = [terms(random, n) for _ in range(2)]
            expected = [_expectation(psi, one) for one in sums]
            found = state.expectation([pauli_sum(one) for one in sums])
            return compare.arrays(f"expectation({sums})", found, expected, 10 * within)
        case "matrix":
            k = min(len(wires), 3)
            matrix = np.random.default_rng(random.randrange(99)).normal(size=(1 << k, 1 << k)) * (1 + 0.5j)
            expected = np.vdot(psi, apply(psi[:, None], matrix, wires[:k])[:, 0])
            found = state.expectation_matrix(matrix, wires[:k])
            return compare.arrays(f"expectation_matrix({wires[:k]})", found, expected, 20 * within)
        case "norm":
            return compare.arrays("norm", state.norm(), 1.0, within)
        case "inner":
            from qsim_ex import StateVector

            other = vector(n, random.randrange(50))
            with StateVector(n, options=state.options, initial=other) as second:
                return compare.arrays("inner", state.inner(second), np.vdot(psi, other), within) or compare.arrays(
                    "fidelity", state.fidelity(second), abs(np.vdot(psi, other)) ** 2, within
                )
        case "sample":
            expected = dict(enumerate(_marginal(weights, wires).tolist()))
            return compare.samples(
                f"sample of {wires}",
                lambda shots, seed: _counts(state.sample(shots, wires, seed)),
                {value: 0.0 if p < 1e-9 else p for value, p in expected.items()} if within > 1e-6 else expected,
                len(wires),
                case.ask["seed"],
            )
        case "collapse":
            return _collapsed(random, state, psi, wires, within)
        case _:
            return _copied(random, state, psi, within, case)


def _collapsed(random: Random, state: Any, psi: Matrix, wires: list[int], within: float) -> str | None:
    """Measure some wires, and compare the state that is left."""
    n, mode = len(psi).bit_length() - 1, random.choice(["normalise", "reset", "none"])
    value = state.measure(wires, random=random.random(), collapse=mode)
    held = {wire: value >> k & 1 for k, wire in enumerate(wires)}
    kept = np.where(_holding(n, held), psi, 0)
    norm = float(np.linalg.norm(kept))
    if norm < 1e-3:
        return f"measured {wires} as {value:b}, which has probability {norm**2:.3g}" if norm < 1e-7 else None
    expected = psi if mode == "none" else kept / norm
    if mode == "reset":
        moved = np.zeros_like(expected)
        index = np.arange(1 << n)
        np.add.at(moved, index & ~sum(1 << wire for wire in wires), expected)
        expected = moved
    name = f"state after measure({wires}, collapse={mode!r}) -> {value}"
    found = compare.arrays(name, state.to_numpy(), expected, within / norm)
    if found:
        return found
    wire = random.randrange(n)
    state.gate("h", [wire])
    expected = apply(expected[:, None], (pauli("X") + pauli("Z")) / np.sqrt(2), [wire])[:, 0]
    return compare.arrays(f"{name} and h on {wire}", state.to_numpy(), expected, within / norm)


def _copied(random: Random, state: Any, psi: Matrix, within: float, case: Case) -> str | None:
    """A clone, and a state from a file in another placement, are the same state and no part of the first one."""
    from qsim_ex import StateVector

    with state.clone() as other:
        other.gate("x", [0])
        found = compare.arrays("state after its clone was changed", state.to_numpy(), psi, within) or compare.arrays(
            "clone after x on 0", other.to_numpy(), psi.reshape(-1, 2)[:, ::-1].reshape(-1), within
        )
    if found:
        return found
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        state.save(path)
        place = {**placed(random, case.wires), "device": case.options.get("device", "cpu")}
        place["precision"] = case.options.get("precision", "double")
        with StateVector.load(path, **place) as loaded:
            return compare.arrays(f"state loaded with {place}", loaded.to_numpy(), psi, within)


def _holding(n: int, held: dict[int, int]) -> Any:
    index = np.arange(1 << n)
    return np.all([(index >> wire & 1) == value for wire, value in held.items()] or [index >= 0], axis=0)


def _marginal(weights: Any, wires: list[int]) -> Any:
    index = np.arange(len(weights))
    value = sum((index >> wire & 1) << k for k, wire in enumerate(wires))
    return np.bincount(value, weights, 1 << len(wires))


def _expectation(psi: Matrix, found: dict[str, float]) -> float:
    return sum(
        number * np.vdot(psi, apply(psi[:, None], pauli(letters), range(len(letters)))[:, 0]).real
        for letters, number in found.items()
    )


def _counts(bits: Any) -> dict[int, int]:
    values, counts = np.unique(bits.astype(np.int64) @ (1 << np.arange(bits.shape[1])), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


# --- batches of states ------------------------------------------------------------------------------------------------


def draw_batched(random: Random) -> Case:
    """A program whose angles are numbers of a binding, for some states at a time."""
    wires = random.choice([1, 2, 2, 3, 3, 4, 5])
    draw = programs.Draw(random, wires, 0)
    draw.bound = True
    lines = programs.unitary(draw, 10)
    chosen = {name: value for name, value in options(random, wires).items() if name in _BATCHED}
    ask = {
        "rows": random.randint(1, 5),
        "values": draw.values,
        "initial": random.choice(["none", "basis", "values", "vector", "vectors"]),
        "question": random.choice(["probabilities", "expectation", "sample", "measure", "density", "take"]),
        "seed": random.randrange(1 << 20),
    }
    return Case("batched", wires, 0, tuple(lines), chosen, ask)


_BATCHED = ("device", "precision", "threads", "compile")


def values_of(case: Case) -> Any:
    """The numbers of all bindings, [rows, values]."""
    return np.random.default_rng(case.ask["seed"]).uniform(-3, 3, (case.ask["rows"], case.ask["values"])).round(3)


def _starts(case: Case) -> tuple[Any, Iterator[Matrix]]:
    """What a batch begins with, and the amplitudes of each state."""
    rows, n, random = case.ask["rows"], case.wires, Random(case.ask["seed"])
    eye = np.eye(1 << n, dtype=np.complex128)
    match case.ask["initial"]:
        case "basis":
            start = random.randrange(1 << n)
            return start, iter([eye[start]] * rows)
        case "values":
            many = np.array([random.randrange(1 << n) for _ in range(rows)])
            return many, iter(eye[many])
        case "vector":
            one = vector(n, random.randrange(50))
            return one, iter([one] * rows)
        case "vectors":
            each = np.array([vector(n, random.randrange(50)) for _ in range(rows)])
            return each, iter(each)
        case _:
            return None, iter([eye[0]] * rows)


def check_batched(case: Case) -> str | None:
    """Every state of a batch is the oracle's, and so is the answer to a question."""
    from qsim_ex import BatchedStateVector, Options

    within, rows, n = tolerance(case.options), case.ask["rows"], case.wires
    numbers, (start, each) = values_of(case), _starts(case)
    expected = []
    for values, first in zip(numbers, each, strict=True):
        oracle = Oracle(n)
        oracle.branches[0] = first[:, None].copy()
        expected.append(truth_of(case, values, oracle=oracle).vector())
    circuits = [circuit_of(case, None, values) for values in numbers]
    operands = np.concatenate([circuit.operands for circuit in circuits])
    with BatchedStateVector(rows, n, options=Options(**case.options), initial=start) as states:
        states.apply(circuits[0], operands)
        psi = np.array(expected)
        return compare.arrays("states", states.to_numpy(), psi, within) or _asked_of_many(case, states, psi, within)


def _asked_of_many(case: Case, states: Any, psi: Matrix, within: float) -> str | None:
    """Compare one question's answers, one for each state."""
    random, n, rows = Random(case.ask["seed"] + 1), case.wires, len(psi)
    wires = random.sample(range(n), random.randint(1, n))
    match case.ask["question"]:
        case "probabilities":
            expected = [_marginal(np.abs(one) ** 2, wires) for one in psi]
            return compare.arrays(f"probabilities({wires})", states.probabilities(wires), expected, within)
        case "expectation":
            found = terms(random, n)
            expected = [_expectation(one, found) for one in psi]
            return compare.arrays(f"expectation({found})", states.expectation(pauli_sum(found)), expected, 10 * within)
        case "density":
            expected = [_density(one, wires[:3]) for one in psi]
            return compare.arrays(f"density({wires[:3]})", states.density(wires[:3]), expected, within)
        case "sample":
            seeds = [random.randrange(1 << 30) for _ in range(rows)]
            found = states.sample(50, wires, seeds)
            for row, seed in enumerate(seeds):
                with states.row(row) as one:
                    off = compare.equal(f"shots of state {row} of {wires}", found[row], one.sample(50, wires, seed))
                if off:
                    return off
            return None
        case "measure":
            numbers = np.array([random.random() for _ in range(rows)])
            values = states.measure(wires, random=numbers)
            kept = [
                np.where(_holding(n, {wire: int(value) >> k & 1 for k, wire in enumerate(wires)}), one, 0)
                for one, value in zip(psi, values, strict=True)
            ]
            norms = np.linalg.norm(kept, axis=1)
            if norms.min() < 1e-3:
                return f"measured {wires} as {values}, norms {norms}" if norms.min() < 1e-7 else None
            expected = kept / norms[:, None]
            return compare.arrays(f"states after measure({wires})", states.to_numpy(), expected, within / norms.min())
        case _:
            chosen = [random.randrange(rows) for _ in range(random.randint(1, 4))]
            with states.take(chosen) as taken:
                return compare.arrays(f"take({chosen})", taken.to_numpy(), psi[chosen], within)


def _density(psi: Matrix, wires: list[int]) -> Matrix:
    """ρ of some wires from all expectation values of Pauli products: Σ <P>·P / 2^k."""
    rho = np.zeros((1 << len(wires),) * 2, dtype=np.complex128)
    for letters in strings(len(wires)):
        value = np.vdot(psi, apply(psi[:, None], pauli(letters), wires)[:, 0])
        rho += value * pauli(letters) / (1 << len(wires))
    return rho


KINDS = [
    Kind("state", draw_state, check_state, 5),
    Kind("batched", draw_batched, check_batched, 1.5),
]
