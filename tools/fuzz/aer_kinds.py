"""Kinds of 16 to 20 wires: the adapters against Aer, all amplitudes, at the sizes where the planner's ways begin."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from qiskit import transpile
from qiskit.circuit import Parameter, QuantumCircuit

from tools.fuzz import aer_programs as programs
from tools.fuzz import compare
from tools.fuzz.aer_oracle import by_definition, state_of_cirq, states
from tools.fuzz.case import Case, Line
from tools.fuzz.kinds import Kind, installed
from tools.fuzz.numbers import Matrix
from tools.fuzz.options import placed
from tools.fuzz.qiskit_kinds import names

_LOCAL = 11
"""The fewest wires of a sub state vector: at these sizes smaller ones take seconds."""


def _options(random: Random, wires: int) -> dict[str, Any]:
    """One thread of the CPU in either precision, and a state in several pieces here and there."""
    chosen: dict[str, Any] = {"device": "cpu", "threads": 1}
    if random.random() < 0.35:
        chosen["precision"] = "single"
    return chosen | (placed(random, wires, _LOCAL) if random.random() < 0.25 else {})


def circuit_of(case: Case) -> QuantumCircuit:
    """The circuit of a program, which may replace it by another one on the way."""
    circuit = QuantumCircuit(case.wires)
    values = [Parameter(f"v{k}") for k in range(len(case.ask["rows"][0]) if case.ask.get("rows") else 0)]
    own = {"transpile": transpile, "qc": circuit, "q": range(case.wires), "v": values}
    return case.run(names() | own)["qc"]


def _tolerance(case: Case, gates: int, expected: Matrix) -> float:
    """How far an amplitude may be from the truth: gates round it, and Qiskit's matrices are rounded too."""
    unit = 1.2e-7 if case.options.get("precision") == "single" else 2.3e-16
    return unit * (32 + 16 * gates) * float(np.abs(expected).max())


def wrong(case: Case, circuit: QuantumCircuit, found: Any, expected: Matrix) -> str | None:
    """What differs from Aer's state; the definition says which of the two is wrong."""
    within = _tolerance(case, len(circuit.data), expected)
    if compare.arrays("state", found, expected, within) is None:
        return None
    exact = by_definition(circuit)
    ours, aers = compare.arrays("state", found, exact, within), compare.arrays("Aer's state", expected, exact, within)
    return ours or aers


# --- Qiskit -----------------------------------------------------------------------------------------------------------


def draw_state(random: Random) -> Case:
    """A circuit with numbers in it."""
    wires, lines = drawn_program(random, programs.SIZES)
    return Case("aer-state", wires, 0, lines, _options(random, wires), {})


def drawn_program(random: Random, sizes: Sequence[int]) -> tuple[int, tuple[Line, ...]]:
    """A number of wires among some, and lines with numbers in them."""
    wires, pool, first = programs.begun(random, sizes)
    draw = programs.SizedQiskit(random, pool, huge=random.random() < 0.3)
    lines = [Line(first.text, (Line(random.choice(["qc.h(w)", "qc.ry(0.7, w)"])),)), *programs.lines(random, draw)]
    if random.random() < 0.4:
        lines.insert(random.choice([len(lines), random.randrange(len(lines))]), programs.transpiled(random))
    return wires, tuple(lines)


def check_state(case: Case) -> str | None:
    """All amplitudes of a circuit of 16 to 20 wires are Aer's."""
    circuit = circuit_of(case)
    found = saved_states(case, [circuit])[0]
    return wrong(case, circuit, found, states([circuit])[0])


def saved_states(case: Case, circuits: list[QuantumCircuit], binds: Any = None) -> list[Any]:
    """The states that the backend saves at the end of circuits, or of one circuit for all bindings."""
    from qsim_ex_provider import QsimExBackend, save_statevector

    saved = [save_statevector(circuit.copy()) for circuit in circuits]
    result = QsimExBackend().run(saved, parameter_binds=binds, **case.options).result()
    return [np.asarray(result.data(k)["statevector"]) for k in range(len(result.results))]


def draw_sweep(random: Random) -> Case:
    """A circuit with parameters, and bindings of which some are special."""
    wires, pool, first = programs.begun(random)
    draw = programs.SizedQiskit(random, pool, huge=random.random() < 0.3)
    draw.bound = True
    lines = [Line(first.text, (Line("qc.h(w)"),)), *programs.lines(random, draw)]
    if not draw.huge and random.random() < 0.2:  # transpilers add up angles, which huge ones would round
        lines.append(programs.transpiled(random, 2))  # level 3 of Qiskit fails where parameters cancel, such as v − v
    rows = [
        tuple(
            float(eval(draw.large() if draw.huge and random.random() < 0.3 else draw.number(), {"pi": np.pi}))
            if special
            else round(random.uniform(-3, 3), 3)
            for _ in range(draw.values)
        )
        for special in (False, *(random.random() < 0.7 for _ in range(random.randint(1, 3))))
    ]
    random.shuffle(rows)
    ask = {"rows": tuple(rows), "entry": random.choice(["binds", "binds", "job"])}
    return Case("aer-sweep", wires, 0, tuple(lines), _options(random, wires), ask)


def check_sweep(case: Case) -> str | None:
    """Every binding of `parameter_binds`, and every circuit of a job with its own numbers, has Aer's amplitudes."""
    circuit, rows = circuit_of(case), case.ask["rows"]
    used = [(parameter, int(parameter.name[1:])) for parameter in circuit.parameters]
    each = [circuit.assign_parameters({one: row[k] for one, k in used}) for row in rows]
    if case.ask["entry"] == "binds" and used:
        binds = [{one: [row[k] for row in rows] for one, k in used}]
        found = saved_states(case, [circuit], binds)
    else:
        found = saved_states(case, each)
    for k, (own, expected) in enumerate(zip(each, states(each), strict=True)):
        if trouble := wrong(case, own, found[k], expected):
            return f"binding {k}: {trouble}"
    return None


KINDS = [
    Kind("aer-state", draw_state, check_state, 6, as_it_is=True),
    Kind("aer-sweep", draw_sweep, check_sweep, 3, as_it_is=True),
]


# --- Cirq -------------------------------------------------------------------------------------------------------------


def draw_cirq(random: Random) -> Case:
    """A circuit of Cirq."""
    wires, pool, first = programs.begun(random)
    draw = programs.SizedCirq(random, pool, huge=False)
    lines = [Line(first.text, (Line("qc.append(cirq.H(w))"),))]
    lines += [Line(draw.unitary_line()) for _ in range(random.randint(*random.choice([(1, 16), (17, 30), (17, 50)])))]
    return Case("aer-cirq", wires, 0, tuple(lines), _options(random, wires), {})


def check_cirq(case: Case) -> str | None:
    """All amplitudes of a circuit of Cirq are those that Aer finds with Cirq's matrices."""
    from tools.fuzz import cirq_kinds

    circuit, qubits = cirq_kinds.circuit_of(case)
    found = cirq_kinds.simulator_of(case).simulate(circuit, qubit_order=qubits).final_state_vector
    expected = state_of_cirq(circuit, qubits)
    within = _tolerance(case, len(list(circuit.all_operations())), expected)
    return compare.arrays("state", found, expected, within)


if installed("cirq"):
    KINDS.append(Kind("aer-cirq", draw_cirq, check_cirq, 1, as_it_is=True))
