"""Kinds about Qiskit: the backend and both primitives against `qiskit.quantum_info`."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import qiskit.circuit.library as lib
import qiskit.quantum_info as qi
from qiskit.circuit import (
    AnnotatedOperation,
    ClassicalRegister,
    InverseModifier,
    Parameter,
    QuantumCircuit,
    QuantumRegister,
)
from qiskit.circuit.classical import expr, types

from tools.fuzz import compare, programs
from tools.fuzz.angles import bindings
from tools.fuzz.case import WIRE, Case, Line
from tools.fuzz.engine import terms
from tools.fuzz.kinds import Kind, installed
from tools.fuzz.numbers import NAMES, misread
from tools.fuzz.options import options, tolerance
from tools.fuzz.oracle import Oracle
from tools.fuzz.product_oracle import ProductOracle
from tools.fuzz.qiskit_oracle import walk
from tools.fuzz.qiskit_programs import ERRORS, TWO_QUBIT_ERRORS, QiskitDraw

_GATES = ("x", "h", "sx", "rz", "ry", "u", "cx", "cz", "ecr", "swap", "rzz")
"""Names of gates that noise models are drawn for."""


def names() -> dict[str, Any]:
    """What programs may name."""
    from qsim_ex_provider import save_statevector

    own = {
        "lib": lib,
        "qi": qi,
        "expr": expr,
        "Parameter": Parameter,
        "types": types,
        "v_loop": lambda: Parameter("turn"),
        "save": save_statevector,
        "inverse_of": lambda gate: AnnotatedOperation(gate, [InverseModifier()]),
    }
    found = NAMES | own
    if installed("qiskit_aer"):
        from qiskit_aer import noise

        found["aer"] = noise
    return found


def circuit_of(case: Case) -> QuantumCircuit:
    """The circuit of a program; its first register holds two bits at most, so that conditions may ask it."""
    sizes = [min(case.bits, 2), max(case.bits - 2, 0)]
    registers = [ClassicalRegister(size, name) for size, name in zip(sizes, "rs", strict=True) if size]
    circuit = QuantumCircuit(QuantumRegister(case.wires, "q"), *registers)
    parameters = [Parameter(f"v{k:02}") for k in range(case.ask.get("values", 0))]
    case.run(names() | {"qc": circuit, "q": circuit.qubits, "c": circuit.clbits, "r": circuit.cregs, "v": parameters})
    return circuit


def truth_of(circuit: QuantumCircuit, error: Any = None, oracle: Oracle | None = None) -> Oracle:
    """The oracle at the end of a circuit."""
    oracle = Oracle(circuit.num_qubits) if oracle is None else oracle
    return walk(circuit, oracle, range(circuit.num_qubits), range(circuit.num_clbits), error)


def _values(case: Case) -> Any:
    return bindings(case.ask["seed"], case.ask["rows"], case.ask["values"], is_special=True)


def _used(circuit: QuantumCircuit, row: Any) -> dict[Any, float]:
    """The numbers of the parameters that a circuit has."""
    return {parameter: float(row[int(parameter.name[1:])]) for parameter in circuit.parameters}


# --- states -----------------------------------------------------------------------------------------------------------


def draw_state(random: Random) -> Case:
    """A circuit of gates that saves its state."""
    wires = random.choice([1, 2, 3, 3, 4, 4, 5])
    lines = programs.unitary(QiskitDraw(random, wires, 0), 8)
    lines.insert(random.randint(0, len(lines)), Line("save(qc, 'there')"))
    return Case("qiskit-state", wires, 0, tuple(lines), options(random, wires), {})


def check_state(case: Case) -> str | None:
    """Saved states of a backend's run are those of Qiskit's own matrices."""
    from qsim_ex_provider import QsimExBackend, save_statevector

    circuit = save_statevector(circuit_of(case))
    oracle = truth_of(circuit)
    data = QsimExBackend().run(circuit, **case.options).result().data(0)
    for label, branches in oracle.saved.items():
        expected = branches[0][:, 0]
        wrong = compare.arrays(f"state {label!r}", np.asarray(data[label]), expected, 3 * tolerance(case.options))
        if wrong:
            return wrong
    return None


# --- shots ------------------------------------------------------------------------------------------------------------


def draw_shots(random: Random) -> Case:
    """Gates among measurements, resets, control flow and channels, on an ideal or a noisy machine."""
    wires = random.choice([1, 2, 2, 3, 3, 4])
    noisy = installed("qiskit_aer") and random.random() < 0.4
    draw = QiskitDraw(random, wires, random.randint(1, 3), noisy=noisy)
    readout = noisy and random.random() < 0.5
    channels = installed("qiskit_aer") and not noisy
    if not noisy and random.random() < 0.3:
        wires, lines = _in_parts(draw, noisy=channels)
    else:
        lines = [*programs.chance(draw, 8, noisy=channels), _measured(draw)]
        for _ in range(random.choice([0, 0, 1, 2, 3])):
            lines.insert(random.choice([len(lines), random.randint(0, len(lines))]), draw.store())
    ask: dict[str, Any] = {"seed": random.randrange(1 << 40), "entry": random.choice(["backend", "job", "sampler"])}
    if noisy:
        errors = []
        for name in (*_GATES, "reset", "measure"):
            if random.random() < 0.5:
                two = name in ("cx", "cz", "ecr", "swap", "rzz")
                text = random.choice(TWO_QUBIT_ERRORS if two else ERRORS)
                text = text.format(p=round(random.uniform(0.05, 0.4), 3), n=random.randrange(50))
                on = tuple(draw.some(2 if two else 1)) if random.random() < 0.3 and wires > 1 else None
                errors.append((name, text, on))
        ask["errors"] = tuple(errors)
        ask["readout"] = tuple(
            (random.choice([None, *range(wires)]), random.randrange(50)) for _ in range(random.randint(1, 2))
        ) if readout else ()  # fmt: skip
    return Case("qiskit-shots", wires, draw.bits, tuple(lines), options(random, wires), ask)


def _in_parts(draw: QiskitDraw, *, noisy: bool) -> tuple[int, list[Line]]:
    """A circuit with idle qubits in which another part interleaves with the first; the number of qubits, and lines."""
    random = draw.random
    other = QiskitDraw(random, random.randint(1, 3), draw.bits)
    wires = random.randint(draw.wires + other.wires, 40)
    places = random.sample(range(wires), draw.wires + other.wires)
    parts = [(draw, dict(enumerate(places))), (other, dict(enumerate(places[draw.wires :])))]
    lines = programs.in_parts(parts, random.randint(2, 6), noisy=noisy)
    return wires, lines + [_measured(one).renumbered(WIRE, "q", named) for one, named in parts]


def _measured(draw: QiskitDraw) -> Line:
    return Line(programs.measured(draw).text.replace("b.measure", "qc.measure"))


def _model(case: Case) -> tuple[Any, Any, dict[int | None, Any]]:
    """Aer's noise model, the oracle's errors, and readout errors by qubit."""
    if "errors" not in case.ask:
        return None, None, {}
    from qiskit_aer.noise import NoiseModel, ReadoutError

    model, found = NoiseModel(), {}
    for name, text, on in case.ask["errors"]:
        error = eval(text, names())
        if on is None:
            model.add_all_qubit_quantum_error(error, name)
        elif max(on) < case.wires:
            model.add_quantum_error(error, name, list(on))
        found[name, on] = np.array(qi.Kraus(error.to_quantumchannel()).data)
    readout = {qubit: misread(1, seed) for qubit, seed in case.ask["readout"]}
    for qubit, matrix in readout.items():
        if qubit is None:
            model.add_all_qubit_readout_error(ReadoutError(matrix))
        elif qubit < case.wires:
            model.add_readout_error(ReadoutError(matrix), [qubit])
    return model, lambda name, on: found.get((name, on), found.get((name, None))), readout


_WIDE = 5
"""Above so many wires the oracle is one of separate parts."""


class _Misreading(Oracle):
    """An oracle whose measurements write what a machine misreads on each wire."""

    def __init__(self, wires: int, readout: Mapping[int | None, Any]) -> None:
        super().__init__(wires)
        self.readout = readout

    def measure(self, wires: Any, clbits: Any) -> Oracle:
        """The last measurement into a bit says how it is misread."""
        for wire, clbit in zip(wires, clbits, strict=True):
            matrix = self.readout.get(wire, self.readout.get(None))
            self.misread = {} if matrix is None else {clbit: matrix}
            super().measure([wire], [clbit])
        return self


def check_shots(case: Case) -> str | None:
    """Counts of the backend and of the sampler come from the distribution of Qiskit's own matrices and channels."""
    circuit = circuit_of(case)
    model, error, readout = _model(case)
    wide = model is None and case.wires > _WIDE
    expected = truth_of(circuit, error, ProductOracle() if wide else _Misreading(case.wires, readout)).distribution()
    expected = compare.rounded(expected, case.options)
    return compare.samples(
        f"counts of the {case.ask['entry']}",
        lambda shots, seed: counts_of(case, circuit, model, shots, seed),
        expected,
        case.bits,
        case.ask["seed"],
        compare.shots_of(case.options),
    )


def counts_of(case: Case, circuit: QuantumCircuit, model: Any, shots: int, seed: int) -> dict[int, int]:
    """Counts of a circuit by the entry of a case, by the value of its classical bits."""
    from qsim_ex_provider import QsimExBackend, SamplerV2

    noise = {} if model is None else {"noise_model": model}
    if case.ask["entry"] == "sampler":
        result = SamplerV2(seed=seed, **noise, **case.options).run([circuit], shots=shots).result()[0]
        return dict(result.join_data().get_int_counts())
    several, which = ([circuit, circuit.copy(), circuit], seed % 3) if case.ask["entry"] == "job" else ([circuit], 0)
    job = QsimExBackend().run(several, shots=shots, seed_simulator=seed, **noise, **case.options)
    return {int(bits.replace(" ", ""), 2): count for bits, count in job.result().get_counts(which).items()}


# --- parameters -------------------------------------------------------------------------------------------------------


def draw_binds(random: Random) -> Case:
    """A circuit with parameters, for some bindings, whose state is saved and whose qubits are measured."""
    wires = random.choice([1, 2, 3, 3, 4])
    draw = QiskitDraw(random, wires, wires)
    draw.bound = True
    lines = programs.unitary(draw, 8)
    if draw.values and random.random() < 0.3:
        lines.append(Line(f"qc.global_phase = v[{random.randrange(draw.values)}] / 2"))
    if draw.values and random.random() < 0.5:
        a, b = (random.randrange(draw.values) for _ in range(2))
        lines.append(Line(f"qc.rx(2 * v[{a}] - v[{b}], {draw.on(draw.some(1))[1:-1]})"))
    ask = {
        "rows": random.randint(1, 4),
        "values": draw.values,
        "seed": random.randrange(1 << 30),
        "entry": random.choice(["backend", "sampler", "estimator"]),
    }
    if ask["entry"] == "estimator":
        ask["paired"] = random.random() < 0.5  # binding k with observable k, else each with each
        count = ask["rows"] if ask["paired"] else random.randint(1, 2)
        ask["observables"] = tuple(terms(random, wires) for _ in range(count))
    return Case("qiskit-binds", wires, wires, tuple(lines), options(random, wires), ask)


def check_binds(case: Case) -> str | None:
    """Every binding has the state, the counts or the values of the circuit with its own numbers."""
    from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2, save_statevector

    circuit, numbers = circuit_of(case), _values(case)
    each = [_used(circuit, row) for row in numbers]
    states = [truth_of(circuit.assign_parameters(one)).vector() for one in each]
    within = tolerance(case.options)
    seed = case.ask["seed"]
    ordered = np.array([[one[parameter] for parameter in circuit.parameters] for one in each])
    match case.ask["entry"]:
        case "estimator":
            sums = [{letters[::-1]: c for letters, c in one.items()} for one in case.ask["observables"]]
            ops = [qi.SparsePauliOp.from_list(list(one.items())) for one in sums]
            paired = case.ask.get("paired", False)
            pub = (circuit, ops if paired else [[op] for op in ops], ordered)
            found = EstimatorV2(seed=seed, **case.options).run([pub]).result()[0].data.evs
            table = np.array([[qi.Statevector(psi).expectation_value(op).real for psi in states] for op in ops])
            expected = table.diagonal() if paired else table
            return compare.arrays("evs", found, expected, 20 * within)
        case "sampler":
            circuit.measure(circuit.qubits, circuit.clbits)

            def draw(shots: int, own: int) -> dict[int, int]:
                data = SamplerV2(seed=own, **case.options).run([(circuit, ordered)], shots=shots).result()[0]
                return dict(data.join_data()[len(states) - 1].get_int_counts())

            weights = np.abs(states[-1]) ** 2
            expected = {k: max(p, 1e-9 if within > 1e-6 else 0) for k, p in enumerate(weights.tolist())}
            return compare.samples(f"counts of binding {len(states) - 1}", draw, expected, case.wires, seed)
        case _:
            save_statevector(circuit)
            binds = [{parameter: [one[parameter] for one in each] for parameter in circuit.parameters}]
            result = QsimExBackend().run(circuit, parameter_binds=binds if circuit.parameters else None, **case.options)
            count = len(states) if circuit.parameters else 1
            found = [np.asarray(result.result().data(k)["statevector"]) for k in range(count)]
            return compare.arrays("states", found, states[:count], 3 * within)


KINDS = [
    Kind("qiskit-state", draw_state, check_state, 2.5),
    Kind("qiskit-shots", draw_shots, check_shots, 2),
    Kind("qiskit-binds", draw_binds, check_binds, 1),
]
