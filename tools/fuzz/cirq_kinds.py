"""Kinds about Cirq: every method of the simulator against Cirq's own simulators and matrices."""

from __future__ import annotations

from random import Random
from typing import Any

import cirq
import numpy as np
import sympy

from tools.fuzz import compare, programs
from tools.fuzz.angles import bindings
from tools.fuzz.case import Case, Line
from tools.fuzz.cirq_oracle import walk
from tools.fuzz.cirq_programs import CirqDraw
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import NAMES, vector
from tools.fuzz.options import options
from tools.fuzz.oracle import Oracle


def circuit_of(case: Case) -> tuple[cirq.Circuit, list[cirq.Qid]]:
    """The circuit of a program and all qubits in order; each is there even if no operation acts on it."""
    qubits: list[cirq.Qid] = list(cirq.LineQubit.range(case.wires))
    circuit = cirq.Circuit(cirq.I.on_each(*qubits))
    symbols = [sympy.Symbol(f"v{k}") for k in range(case.ask.get("values", 0))]
    case.run(NAMES | {"cirq": cirq, "sympy": sympy, "qc": circuit, "q": qubits, "v": symbols})
    return circuit, qubits


def simulator_of(case: Case, **more: Any) -> Any:
    """The simulator with the options of a case."""
    from qsim_ex_cirq import QsimExSimulator

    given = dict(case.options)
    dtype = np.complex64 if given.pop("precision", "double") == "single" else np.complex128
    return QsimExSimulator(dtype=dtype, **given, **more)


def _tolerance(case: Case) -> float:
    # Cirq's own matrices are exact to 1e-8 for some gates.
    return 5e-5 if case.options.get("precision") == "single" else 1e-7


def _resolvers(case: Case) -> list[dict[str, float]]:
    points = bindings(case.ask["seed"], case.ask["rows"], case.ask["values"], is_special=True)
    return [{f"v{k}": float(value) for k, value in enumerate(row)} for row in points]


# --- states -----------------------------------------------------------------------------------------------------------


def draw_state(random: Random) -> Case:
    """A unitary circuit, with symbols or without, and one of the methods that simulate it."""
    wires = random.choice([1, 2, 3, 3, 4, 4, 5])
    draw = CirqDraw(random, wires, 0)
    draw.bound = random.random() < 0.5
    lines = programs.unitary(draw, 10, prepared=False)
    ask: dict[str, Any] = {
        "rows": random.randint(1, 3),
        "values": draw.values,
        "seed": random.randrange(1 << 30),
        "method": random.choice(["simulate", "steps", "sweep", "amplitudes", "values", "samples"]),
        "order": tuple(random.sample(range(wires), wires)) if random.random() < 0.5 else (),
        "initial": random.choice(["zero", "zero", "basis", "vector"]),
    }
    return Case("cirq-state", wires, 0, tuple(lines), options(random, wires), ask)


def check_state(case: Case) -> str | None:
    """States, amplitudes, expectation values and samples are those of `cirq.Simulator` in double precision."""
    circuit, qubits = circuit_of(case)
    order = [qubits[k] for k in case.ask["order"] if k < len(qubits)]
    order = order if len(order) == len(qubits) else qubits
    points, random, n = _resolvers(case), Random(case.ask["seed"]), case.wires
    exact, ours, within = cirq.Simulator(dtype=np.complex128), simulator_of(case, seed=1), _tolerance(case)
    start: Any = {"basis": random.randrange(1 << n), "vector": vector(n, random.randrange(50))}.get(case.ask["initial"])
    if case.ask["method"] in ("amplitudes", "samples"):
        start = None
    given: dict[str, Any] = {"qubit_order": order, "initial_state": start}
    expected = [exact.simulate(circuit, point, **given).final_state_vector for point in points]
    match case.ask["method"]:
        case "simulate":
            found = ours.simulate(circuit, points[0], **given).final_state_vector
            return compare.arrays("simulate", found, expected[0], within)
        case "steps":
            for step in ours.simulate_moment_steps(circuit, points[0], **given):
                found = step.state_vector()
            return compare.arrays("simulate_moment_steps", found, expected[0], within)
        case "sweep":
            found = [result.final_state_vector for result in ours.simulate_sweep(circuit, points, **given)]
            return compare.arrays("simulate_sweep", found, expected, within)
        case "amplitudes":
            values = [random.randrange(1 << n) for _ in range(4)]
            found = ours.compute_amplitudes_sweep(circuit, values, points, order)
            return compare.arrays(f"amplitudes {values}", found, [psi[values] for psi in expected], within)
        case "values":
            sums = [_observable(random, qubits) for _ in range(2)]
            place = {qubit: k for k, qubit in enumerate(order)}
            wanted = [[one.expectation_from_state_vector(psi, place).real for one in sums] for psi in expected]
            found = ours.simulate_expectation_values_sweep(circuit, sums, points, **given)
            return compare.arrays("expectation values", np.real(found), wanted, 10 * within)
        case _:
            circuit.append(cirq.measure(*order, key="m"))
            slack = 1e-9 if within > 1e-6 else 0
            weights = {k: max(p, slack) if p > 1e-13 else slack for k, p in enumerate(np.abs(expected[-1]) ** 2)}

            def draw(shots: int, seed: int) -> dict[int, int]:
                results = simulator_of(case, seed=seed).run_sweep(circuit, points, shots)
                return dict(results[-1].histogram(key="m"))

            return compare.samples("samples of the last point", draw, weights, n, case.ask["seed"] % (1 << 31))


def _observable(random: Random, qubits: list[cirq.Qid]) -> cirq.PauliSum:
    total = cirq.PauliSum()
    for _ in range(random.randint(1, 3)):
        letters = {qubit: random.choice([cirq.X, cirq.Y, cirq.Z]) for qubit in qubits if random.random() < 0.6}
        total += cirq.PauliString(letters, coefficient=round(random.uniform(-2, 2), 3))
    return total


# --- chance -----------------------------------------------------------------------------------------------------------


def draw_shots(random: Random) -> Case:
    """A circuit with measurements, resets, conditions and channels, on an ideal or a noisy machine."""
    wires = random.choice([1, 2, 2, 3, 3, 4])
    draw = CirqDraw(random, wires, 1)
    if random.random() < 0.25:
        other = CirqDraw(random, random.randint(1, 2), 1)
        other.keys = draw.keys
        places = random.sample(range(draw.wires + other.wires), draw.wires + other.wires)
        parts = [(draw, dict(enumerate(places))), (other, dict(enumerate(places[wires:])))]
        lines, wires = programs.in_parts(parts, random.randint(2, 5)), len(places)
    else:
        lines = programs.chance(draw, 8)
    measured = ", ".join(f"q[{wire}]" for wire in random.sample(range(wires), random.randint(1, min(3, wires))))
    lines.append(Line(f"qc.append(cirq.measure({measured}, key='end'))"))
    noise = random.choice(["", "", "", "cirq.depolarize(0.1)", "cirq.amplitude_damp(0.2)"])
    ask = {"seed": random.randrange(1 << 30), "noise": noise}
    return Case("cirq-shots", wires, 0, tuple(lines), options(random, wires), ask)


def check_shots(case: Case) -> str | None:
    """Records of all keys come from the distribution of an exact walk over Cirq's own matrices."""
    circuit, qubits = circuit_of(case)
    noise = eval(case.ask["noise"], NAMES | {"cirq": cirq}) if case.ask["noise"] else None
    noisy = circuit
    if noise is not None:
        model = cirq.NoiseModel.from_noise_model_like(noise)
        noisy = cirq.Circuit(model.noisy_moments(circuit, qubits))
    oracle = Oracle(case.wires)
    records = walk(noisy, qubits, oracle)
    expected = oracle.distribution()
    expected = compare.rounded(expected, case.options)

    def draw(shots: int, seed: int) -> dict[int, int]:
        result = simulator_of(case, seed=seed, noise=noise).run(circuit, repetitions=shots)
        values = np.zeros(shots, dtype=np.int64)
        for key, instances in records.bits.items():
            for instance, bits in enumerate(instances):
                for k, bit in enumerate(bits):
                    values |= result.records[key][:, instance, k].astype(np.int64) << bit
        found, counts = np.unique(values, return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))

    first = compare.shots_of(case.options)
    return compare.samples("records", draw, expected, records.count, case.ask["seed"], first)


# --- one trajectory ---------------------------------------------------------------------------------------------------


def draw_collapse(random: Random) -> Case:
    """A circuit that is measured, reset and controlled on the way to a state, without noise."""
    wires = random.choice([1, 2, 3, 3, 4])
    lines = programs.chance(CirqDraw(random, wires, 1), 8, noisy=False)
    return Case("cirq-collapse", wires, 0, tuple(lines), options(random, wires), {"seed": random.randrange(1 << 30)})


def check_collapse(case: Case) -> str | None:
    """The final state of a simulation belongs to the records that were found with it, and these are possible."""
    circuit, qubits = circuit_of(case)
    oracle = Oracle(case.wires)
    records = walk(circuit, qubits, oracle)
    result = simulator_of(case, seed=case.ask["seed"]).simulate(circuit, qubit_order=qubits)
    found = 0
    for key, (bits,) in records.bits.items():
        found |= sum(int(value) << bit for value, bit in zip(result.measurements[key], bits, strict=True))
    if found not in oracle.branches:
        return f"records {found:b}, which are impossible"
    n = case.wires
    psi = np.asarray(result.final_state_vector, dtype=np.complex128).reshape([2] * n)
    psi = psi.transpose(range(n)[::-1]).reshape(-1)  # Cirq's first qubit is the most significant bit, ours the least
    oracle.branches = {found: oracle.branches[found]}
    oracle.save("end")
    off = oracle.holds("end", psi / np.linalg.norm(psi))
    within = 100 * _tolerance(case)
    if abs(np.linalg.norm(psi) - 1) > within or not off < within:
        return f"state of norm {np.linalg.norm(psi):.6f} stands out by {off:.3g} from those of records {found:b}"
    return None


# --- noise ------------------------------------------------------------------------------------------------------------


def draw_noisy_values(random: Random) -> Case:
    """A circuit with channels and an observable."""
    wires = random.choice([1, 2, 2, 3])
    draw = CirqDraw(random, wires, 1)
    lines = [
        Line(draw.channel() if random.random() < 0.35 else f"qc.append({draw.operation()})")
        for _ in range(random.randint(2, 8))
    ]
    return Case("cirq-values", wires, 0, tuple(lines), options(random, wires), {"seed": random.randrange(1 << 30)})


def check_noisy_values(case: Case) -> str | None:
    """Expectation values over trajectories are means around those of `cirq.DensityMatrixSimulator`."""
    circuit, qubits = circuit_of(case)
    random = Random(case.ask["seed"])
    observable = _observable(random, qubits)
    rho = cirq.DensityMatrixSimulator(dtype=np.complex128).simulate(circuit, qubit_order=qubits).final_density_matrix
    place = {qubit: k for k, qubit in enumerate(qubits)}
    expected = observable.expectation_from_density_matrix(rho, place, check_preconditions=False).real
    largest = sum(abs(term.coefficient) for term in observable)
    return compare.means(
        "expectation value",
        lambda count, seed: float(
            np.real(
                simulator_of(case, seed=seed, trajectories=count).simulate_expectation_values(circuit, observable)[0]
            )
        ),
        expected,
        largest,
        case.ask["seed"],
        10 * _tolerance(case),
    )


KINDS = [
    Kind("cirq-state", draw_state, check_state, 2),
    Kind("cirq-shots", draw_shots, check_shots, 2),
    Kind("cirq-collapse", draw_collapse, check_collapse, 0.7),
    Kind("cirq-values", draw_noisy_values, check_noisy_values, 0.5),
]
