"""The kind about states of the engine: amplitudes, what is asked of a state, collapse, copies and files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.amplitudes import expectation_of, holding, marginal_of
from tools.fuzz.case import Case, Line
from tools.fuzz.engine import circuit_of, pauli_sum, terms, truth_of
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import Matrix, pauli, vector
from tools.fuzz.options import options, placed, tolerance
from tools.fuzz.oracle import Oracle, apply

ENTRIES = ("state", "state", "run", "run_batch", "apply", "lines", "initial")
QUESTIONS = ("amplitudes", "probabilities", "expectation", "matrix", "norm", "inner", "sample", "collapse", "copies")


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
            expected = marginal_of(np.where(holding(n, held), weights, 0), wires)
            found = state.probabilities(wires, held or None)
            return compare.arrays(f"probabilities({wires}, {held})", found, expected, within)
        case "expectation":
            sums = [terms(random, n) for _ in range(2)]
            expected = [expectation_of(psi, one) for one in sums]
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
            expected = dict(enumerate(marginal_of(weights, wires).tolist()))
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
    kept = np.where(holding(n, held), psi, 0)
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
    if mode != "none" and len(wires) < n and random.random() < 0.5:
        state.remove_wires(wires)
        left = expected[holding(n, dict.fromkeys(wires, 0) if mode == "reset" else held)]
        return compare.arrays(f"{name} without {wires}", state.to_numpy(), left, within / norm)
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


def _counts(bits: Any) -> dict[int, int]:
    values, counts = np.unique(bits.astype(np.int64) @ (1 << np.arange(bits.shape[1])), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


KINDS = [Kind("state", draw_state, check_state, 5)]
