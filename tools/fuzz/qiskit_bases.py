"""The kind about bases: a circuit of Qiskit, what its transpiler makes of it, and definitions are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

import numpy as np
import qiskit.quantum_info as qi
from qiskit.circuit import ClassicalRegister, QuantumCircuit
from qiskit.transpiler import generate_preset_pass_manager

from tools.fuzz import bases_programs as programs
from tools.fuzz import compare
from tools.fuzz.amplitudes import expectation_of, marginal_of
from tools.fuzz.angles import bindings
from tools.fuzz.case import Case
from tools.fuzz.engine import terms
from tools.fuzz.engine_ranks import on_ranks
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import Matrix
from tools.fuzz.options import devices, options, tolerance
from tools.fuzz.oracle import Oracle
from tools.fuzz.qiskit_kinds import circuit_of, truth_of
from tools.fuzz.thresholds import WRITTEN

_ALIKE = 1e-3
"""How far an amplitude of a transpiled circuit may be from the circuit's by definition: Qiskit drops turns of 1e-6, and
takes matrices on two wires for special ones within a fidelity of 1 - 1e-9, which is 3e-5 of an amplitude each."""

_MOST_BITS = 5
"""The most wires that are measured."""


def draw_bases(random: Random) -> Case:
    """A circuit with or without parameters, a basis and a level, and what is asked of it and of what is transpiled."""
    wires = random.choice([5, 5, 6, 6, 7, 8, 9])
    entry = random.choices(["manner", "saved", "shots", "values", "ranks"], [5, 3, 2, 3, 1])[0]
    draw = programs.BasesDraw(random, wires)
    draw.bound = entry in ("saved", "values") and random.random() < 0.4
    basis = random.choice([*programs.BASES][: -1 if draw.bound else None])
    lines = programs.lines(random, draw, exact=basis == "t")
    level = random.choices([0, 1, 2, 3], [4, 4, 2, 0 if draw.bound else 1.5])[0]  # 3 fails where parameters cancel
    ask: dict[str, Any] = {"basis": basis, "level": level, "entry": entry}
    ask |= {
        "rows": random.randint(1, 4) if draw.values else 1,
        "values": draw.values,
        "seed": random.randrange(1 << 30),
    }
    chosen = options(random, wires)
    match entry:
        case "manner":
            ask["manner"] = random.choice([0, 1, 2, 2, 3, 4, 4, 5, 5])
        case "ranks":
            ask["ranks"] = random.choice([2, 2, 4])
            chosen = {"device": random.choice(devices()), "threads": 1, "processes": ask["ranks"]}
        case "shots":
            ask["measured"] = tuple(random.sample(range(wires), random.randint(1, _MOST_BITS)))
        case "values":
            ask["observables"] = tuple(terms(random, wires) for _ in range(random.randint(1, 2)))
    ask["thresholds"] = (
        {
            "clustered_percent": 0,
            "block_pieces": random.choice([4, 40]),
            "selected_turns": random.choice([2, 8]),
        }
        if random.random() < 0.7
        else {}
    )
    if random.random() < 0.5:
        ask["thresholds"] |= WRITTEN
    return Case("qiskit-bases", wires, 0, tuple(lines), chosen, ask)


class _Side(NamedTuple):
    """A circuit, as it came or as it was transpiled.

    place: which of its wires each of the first circuit is at the end. states: those of all bindings by definition.
    """

    name: str
    circuit: QuantumCircuit
    place: Sequence[int]
    states: Sequence[Matrix]


def check_bases(case: Case) -> str | None:
    """A circuit and what Qiskit transpiles it to are what definitions say, and each other, up to no phase."""
    circuit = circuit_of(case)
    if measured := case.ask.get("measured", ()):
        circuit.add_register(bits := ClassicalRegister(len(measured), "m"))
        circuit.measure(measured, bits)
    made = _transpiler(case.ask["basis"], case.ask["level"]).run(circuit)
    numbers = bindings(case.ask["seed"], case.ask["rows"], case.ask["values"], is_special=True)
    first = _Side("as it came", circuit, range(case.wires), _states(circuit, numbers, truth_of))
    place = list(made.layout.routing_permutation()) if made.layout else range(case.wires)
    other = _Side(f"in {case.ask['basis']}", made, place, _states(made, numbers, _by_names))
    if not measured:  # what is behind the last gates that a measurement tells may be left out
        expected = [_moved(state, place) for state in first.states]
        if wrong := compare.arrays("transpiled by Qiskit", other.states, expected, _ALIKE):
            return wrong
    else:
        other = other._replace(states=[_moved(state, place) for state in first.states])
    check: Callable[[Case, Any, _Side], str | None] = _CHECKS[case.ask["entry"]]
    return next((wrong for side in (first, other) if (wrong := check(case, numbers, side))), None)


@lru_cache(maxsize=32)
def _transpiler(basis: str, level: int) -> Any:
    """Qiskit's pass manager for a basis."""
    return generate_preset_pass_manager(level, basis_gates=[*programs.BASES[basis]], seed_transpiler=0)


def _bound(circuit: QuantumCircuit, numbers: Any) -> list[dict[Any, float]]:
    """The numbers of all parameters that a circuit has, for each binding."""
    return [{one: float(row[int(one.name[1:])]) for one in circuit.parameters} for row in numbers]


def _states(circuit: QuantumCircuit, numbers: Any, truth: Callable[[QuantumCircuit], Oracle]) -> list[Matrix]:
    gates = circuit.remove_final_measurements(inplace=False) if circuit.clbits else circuit
    each = [gates.assign_parameters(row) if row else gates for row in _bound(gates, numbers)]
    return [truth(one).vector() for one in each]


def _by_names(circuit: QuantumCircuit) -> Oracle:
    """The oracle at the end of a circuit all of whose gates are in the table of definitions, by their names."""
    oracle = Oracle(circuit.num_qubits)
    oracle.global_phase(float(circuit.global_phase))
    for item in circuit.data:
        on = [circuit.find_bit(qubit).index for qubit in item.qubits]
        oracle.gate(item.operation.name, on, *map(float, item.operation.params))
    return oracle


def _moved(state: Matrix, place: Sequence[int]) -> Matrix:
    """The state of which wire k is wire place[k]."""
    wires = len(place)
    axes = [0] * wires
    for wire, there in enumerate(place):
        axes[wires - 1 - there] = wires - 1 - wire
    return state.reshape([2] * wires).transpose(axes).reshape(-1)


# --- what is asked ----------------------------------------------------------------------------------------------------


def _manner(case: Case, _numbers: Any, side: _Side) -> str | None:
    """A state, of the circuit that is written out in one manner, if it can be."""
    from qsim_ex import Options, Simulator
    from qsim_ex.planning.written.out import Manner, written_out
    from qsim_ex_provider.translation.circuits import translate

    made, manner = translate(side.circuit), Manner(case.ask["manner"])
    written = written_out(made, manner=manner, zeros=True)
    with Simulator(Options(**case.options)).state(written.circuit(made.operands) if written else made) as state:
        return compare.arrays(f"{side.name}, {manner.name}", state.to_numpy(), side.states[0], _within(case))


def _saved(case: Case, numbers: Any, side: _Side) -> str | None:
    """Saved states of a backend, for each binding."""
    from qsim_ex_provider import QsimExBackend, save_statevector

    circuit = save_statevector(side.circuit.copy())
    each = _bound(circuit, numbers)
    binds = [{one: [row[one] for row in each] for one in circuit.parameters}] if circuit.parameters else None
    result = QsimExBackend().run(circuit, parameter_binds=binds, **case.options).result()
    found = [np.asarray(result.data(k)["statevector"]) for k in range(len(result.results))]
    return compare.arrays(f"{side.name}, saved", found, side.states[: len(found)], _within(case))


def _shots(case: Case, _numbers: Any, side: _Side) -> str | None:
    """Counts of a backend."""
    from qsim_ex_provider import QsimExBackend

    def draw(shots: int, seed: int) -> dict[int, int]:
        job = QsimExBackend().run(side.circuit, shots=shots, seed_simulator=seed, **case.options)
        return {int(bits, 2): count for bits, count in job.result().get_counts().items()}

    wires = [side.place[wire] for wire in case.ask["measured"]]
    weights = marginal_of(np.abs(side.states[0]) ** 2, wires)
    expected = compare.rounded({k: 0.0 if p < 1e-12 else p for k, p in enumerate(weights.tolist())}, case.options)
    name = f"{side.name}, counts of {wires}"
    return compare.samples(name, draw, expected, len(wires), case.ask["seed"], compare.shots_of(case.options))


def _values(case: Case, numbers: Any, side: _Side) -> str | None:
    """Expectation values of an estimator, for each binding."""
    from qsim_ex_provider import EstimatorV2

    sums = [{_letters(letters, side.place): c for letters, c in one.items()} for one in case.ask["observables"]]
    ops = [[qi.SparsePauliOp.from_list([(letters[::-1], c) for letters, c in one.items()])] for one in sums]
    each = [[row[one] for one in side.circuit.parameters] for row in _bound(side.circuit, numbers)]
    pub = (side.circuit, ops, np.array(each)) if side.circuit.parameters else (side.circuit, ops)
    found = EstimatorV2(seed=case.ask["seed"], **case.options).run([pub]).result()[0].data.evs
    states = side.states if side.circuit.parameters else side.states[:1]
    expected = np.array([[expectation_of(state, one) for state in states] for one in sums])
    return compare.arrays(f"{side.name}, values", np.reshape(found, expected.shape), expected, 20 * _within(case))


def _letters(letters: str, place: Sequence[int]) -> str:
    """The string whose letter k is at place[k]."""
    return "".join(letters[place.index(there)] for there in range(len(place)))


def _ranks(case: Case, _numbers: Any, side: _Side) -> str | None:
    """A saved state, on every rank."""
    from qsim_ex import Options, Simulator
    from qsim_ex_provider import save_statevector
    from qsim_ex_provider.translation.circuits import translate

    made = translate(save_statevector(side.circuit.copy()))

    def saved() -> Any:
        return np.asarray(Simulator(Options(**case.options)).run(made, shots=None).saved["statevector"])

    found = on_ranks(case.ask["ranks"], saved)
    return compare.arrays(f"{side.name}, ranks", found, [side.states[0]] * len(found), _within(case))


def _within(case: Case) -> float:
    return 3 * tolerance(case.options)


_CHECKS = {"manner": _manner, "saved": _saved, "shots": _shots, "values": _values, "ranks": _ranks}

KINDS = [Kind("qiskit-bases", draw_bases, check_bases, 2)]
