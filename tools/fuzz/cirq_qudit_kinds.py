"""The kind about qudits in Cirq: states, density matrices, amplitudes and records of wires of one to five levels."""

from __future__ import annotations

from random import Random
from typing import Any

import cirq
import numpy as np
import sympy

from tools.fuzz import compare
from tools.fuzz.case import Case, Line
from tools.fuzz.cirq_kinds import simulator_of
from tools.fuzz.kinds import Kind
from tools.fuzz.options import options
from tools.fuzz.qudit_oracle import DIGIT, number_of, walk, weight_of
from tools.fuzz.qudit_programs import PROGRAM_NAMES, QuditDraw, shape_of

METHODS = ("simulate", "steps", "sweep", "amplitudes", "density", "records", "records", "exact records", "collapse")


def draw(random: Random) -> Case:
    """A circuit of qudits, and one of the methods that simulate it."""
    shape = shape_of(random)
    draw = QuditDraw(random, shape)
    method = random.choice(METHODS)
    match method:
        case "simulate" | "steps" | "amplitudes":
            lines = draw.unitary(8)
        case "sweep":
            lines = draw.unitary(6, ["v[0]", "v[0] + 0.5"])
        case "density":
            lines = draw.noisy(8)
        case _:
            lines = draw.chance(8, noisy=method != "collapse")
            every = ", ".join(f"q[{k}]" for k in range(min(len(shape), 2)))
            lines.append(Line(f"qc.append(cirq.measure({every}, key='end'))"))
    ask = {
        "levels": "".join(map(str, shape)),
        "method": method,
        "seed": random.randrange(1 << 30),
        "initial": random.random() < 0.4,
    }
    wires = sum((levels - 1).bit_length() for levels in shape)
    return Case("cirq-qudits", len(shape), 0, tuple(lines), options(random, wires), ask)


def circuit_of(case: Case) -> tuple[cirq.Circuit, list[cirq.Qid]] | None:
    """The circuit of a program and all qids in order; None for one whose qids have other levels than its gates."""
    shape = tuple(map(int, case.ask["levels"]))[: case.wires]
    qids: list[cirq.Qid] = list(cirq.LineQid.for_qid_shape(shape))
    circuit = cirq.Circuit(cirq.IdentityGate(qid_shape=(qid.dimension,))(qid) for qid in qids)
    names = PROGRAM_NAMES | {"sympy": sympy, "qc": circuit, "q": qids, "v": [sympy.Symbol("v0")]}
    try:
        case.run(names)
    except (ValueError, IndexError):  # of a case that was made smaller
        return None
    return circuit, qids


def check(case: Case) -> str | None:
    """States and density matrices are those of Cirq's simulators, and records come from the oracle's distribution."""
    made = circuit_of(case)
    if made is None:
        return None
    circuit, qids = made
    within = 5e-5 if case.options.get("precision") == "single" else 1e-7
    match case.ask["method"]:
        case "density":
            return _density(case, circuit, qids, within)
        case "records" | "exact records":
            return _records(case, circuit, qids)
        case "collapse":
            return _collapse(case, circuit, qids, within)
        case _:
            return _state(case, circuit, qids, within)


def _state(case: Case, circuit: cirq.Circuit, qids: list[cirq.Qid], within: float) -> str | None:
    random, size = Random(case.ask["seed"]), int(np.prod(cirq.qid_shape(qids)))
    start = random.randrange(size) if case.ask["initial"] else 0
    points = [{"v0": round(random.uniform(-2, 2), 3)} for _ in range(2)]
    exact, ours = cirq.Simulator(dtype=np.complex128), simulator_of(case, seed=1)
    given: dict[str, Any] = {"qubit_order": qids, "initial_state": start}
    expected = [exact.simulate(circuit, point, **given).final_state_vector for point in points]
    match case.ask["method"]:
        case "simulate":
            found = ours.simulate(circuit, points[0], **given).final_state_vector
            again = ours.simulate(cirq.Circuit(), qubit_order=qids, initial_state=found).final_state_vector
            return compare.arrays("simulate", [found, again], expected[:1] * 2, within)
        case "steps":
            steps = ours.simulate_moment_steps(circuit, points[0], **given)
            wanted = exact.simulate_moment_steps(circuit, points[0], **given)
            for number, (step, other) in enumerate(zip(steps, wanted, strict=True)):
                trouble = compare.arrays(f"moment {number}", step.state_vector(), other.state_vector(), within)
                if trouble:
                    return trouble
            return None
        case "amplitudes":
            values = [random.randrange(size) for _ in range(4)]
            zero = exact.simulate(circuit, points[0], qubit_order=qids).final_state_vector
            found = ours.compute_amplitudes(circuit, values, points[0], qids)
            return compare.arrays(f"amplitudes {values}", found, zero[values], within)
        case _:
            found = [one.final_state_vector for one in ours.simulate_sweep(circuit, points, **given)]
            return compare.arrays("simulate_sweep", found, expected, within)


def _density(case: Case, circuit: cirq.Circuit, qids: list[cirq.Qid], within: float) -> str | None:
    from qsim_ex_cirq import QsimExDensityMatrixSimulator

    size = int(np.prod(cirq.qid_shape(qids)))
    how: dict[str, Any] = {"qubit_order": qids, "initial_state": Random(case.ask["seed"]).randrange(size)}
    divided = ("virtual_peers", "device_wires", "window_slots", "in_flight_buffers", "host_memory", "network")
    given = {name: value for name, value in case.options.items() if name not in divided}  # which are of half as many
    dtype = np.complex64 if given.pop("precision", "double") == "single" else np.complex128
    ours = QsimExDensityMatrixSimulator(dtype=dtype, seed=1, split_untangled_states=case.ask["initial"], **given)
    expected = cirq.DensityMatrixSimulator(dtype=np.complex128).simulate(circuit, **how).final_density_matrix
    return compare.arrays("density matrix", ours.simulate(circuit, **how).final_density_matrix, expected, within)


def _records(case: Case, circuit: cirq.Circuit, qids: list[cirq.Qid]) -> str | None:
    branches = walk(circuit, qids)
    expected = compare.rounded({number_of(record): weight_of(rho) for record, rho in branches.items()}, case.options)
    keys = [(key, len(digits)) for key, digits in next(iter(branches))]
    more = {"method": "density_matrix"} if case.ask["method"] == "exact records" else {}
    if more and {"virtual_peers", "device_wires"} & {*case.options}:
        more = {}

    def drawn(shots: int, seed: int) -> dict[int, int]:
        result = simulator_of(case, seed=seed, **more).run(circuit, repetitions=shots)
        columns = [result.records[key][:, 0, k].astype(np.int64) for key, count in keys for k in range(count)]
        values = sum((column << DIGIT * k for k, column in enumerate(columns)), np.zeros(shots, dtype=np.int64))
        found, counts = np.unique(values, return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))

    bits = DIGIT * sum(count for _, count in keys)
    return compare.samples("records", drawn, expected, bits, case.ask["seed"], compare.shots_of(case.options))


def _collapse(case: Case, circuit: cirq.Circuit, qids: list[cirq.Qid], within: float) -> str | None:
    """The final state of a simulation is that of the records that were found with it."""
    result = simulator_of(case, seed=case.ask["seed"]).simulate(circuit, qubit_order=qids)
    branches = walk(circuit, qids)
    record = tuple((key, tuple(result.measurements[key].tolist())) for key, _ in next(iter(branches)))
    if record not in branches:
        return f"records {record}, which are impossible"
    psi, rho = result.final_state_vector.astype(np.complex128), branches[record]
    matrix = rho.reshape(len(psi), len(psi)) / weight_of(rho)
    return compare.arrays(f"the state of {record}", np.vdot(psi, matrix @ psi).real, 1.0, 100 * within)


KINDS = [Kind("cirq-qudits", draw, check, 1)]
