"""Kinds about runs of the engine: shots, chance, expectation values, bindings, noisy machines, checkpoints."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare, known, programs
from tools.fuzz.case import BIT, WIRE, Case, Line
from tools.fuzz.engine_states import circuit_of, filled, pauli_sum, terms, truth_of, values_of
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import NAMES, misread
from tools.fuzz.options import options, tolerance
from tools.fuzz.oracle import Oracle

ENTRIES = ("run", "run", "run_batch")

FEW = 60
"""Shots that are compared one by one."""


# --- readout errors ---------------------------------------------------------------------------------------------------


def measurements(lines: tuple[Line, ...]) -> Iterator[tuple[list[int], list[int]]]:
    """The wires and classical bits of every measurement of a program."""
    for line in lines:
        if line.text.startswith("b.measure"):
            yield [int(k) for k in WIRE.findall(line.text)], [int(k) for k in BIT.findall(line.text)]
        yield from measurements(line.body)


def has_conditions(lines: tuple[Line, ...]) -> bool:
    """Whether a program asks classical bits."""
    return any(line.text.startswith("with") for line in lines)


def draw_readout(random: Random, lines: tuple[Line, ...]) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Groups of measured bits that are misread together, each with the seed of its matrix."""
    if has_conditions(lines) and known.READOUT_REACHES_CONDITIONS in known.EXCLUDED:
        return ()
    written = sorted({bit for _, bits in measurements(lines) for bit in bits})
    random.shuffle(written)
    groups = []
    while written and random.random() < 0.8:
        size = 1 if has_conditions(lines) else random.choice([1, 1, 2])
        groups.append((tuple(written[:size]), random.randrange(50)))
        written = written[size:]
    return tuple(groups)


def readout_of(case: Case) -> Any:
    """The engine's readout errors."""
    from qsim_ex.circuit.readout import Misread

    return tuple(Misread(tuple(bits), misread(len(bits), seed)) for bits, seed in _groups(case))


def _groups(case: Case) -> list[tuple[tuple[int, ...], int]]:
    """The groups of misread bits that are measured, which a smaller program may no longer do."""
    written = {bit for _, bits in measurements(case.program) for bit in bits}
    return [(bits, seed) for bits, seed in case.ask.get("readout", ()) if written.issuperset(bits)]


def distribution_of(case: Case, values: Any = ()) -> tuple[Oracle, dict[int, float]]:
    """The oracle at the end of a program, and the probability of every value of the classical bits."""
    groups = [(bits, misread(len(bits), seed)) for bits, seed in _groups(case)]
    early = has_conditions(case.program)  # a measurement writes the misread bit, and conditions see that one
    oracle = Oracle(case.wires, {bits[0]: matrix for bits, matrix in groups} if early else {})
    truth_of(case, values, oracle=oracle)
    return oracle, oracle.distribution(() if early else groups)


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
    conditions = not with_readout or known.READOUT_REACHES_CONDITIONS not in known.EXCLUDED
    lines = programs.chance(draw, noisy=random.random() < 0.6, conditions=conditions)
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
    exact = case.options.get("precision", "double") == "double"
    name = f"shots of {case.ask['entry']}"
    wrong = compare.samples(
        name,
        lambda shots, own: ran(case, made, shots, own).counts(),
        expected if exact else {value: p for value, p in expected.items() if p > _rounding(case)} | _zeros(expected),
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
    if elsewhere is None:
        return None
    return compare.equal(f"shots on {elsewhere}", ran(case, made, FEW, seed, elsewhere).packed, found.packed)


def _rounding(case: Case) -> float:
    return tolerance(case.options) ** 2


def _zeros(expected: dict[int, float]) -> dict[int, float]:
    """Outcomes that only rounding in single precision can bring, as if they had that little probability."""
    return {value: max(p, 1e-9) for value, p in expected.items()}


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


# --- bindings ---------------------------------------------------------------------------------------------------------


def draw_bindings(random: Random) -> Case:
    """A program whose angles are numbers of a binding, with or without chance, for some bindings at a time."""
    wires = random.choice([1, 2, 3, 3, 4, 5])
    draw = programs.Draw(random, wires, random.randint(1, 3))
    draw.bound = True
    lines = programs.chance(draw, 10) if random.random() < 0.5 else programs.unitary(draw, 10)
    saves = not any(line.text.startswith(("b.measure", "b.reset", "b.channel", "with")) for line in lines)
    if saves:
        lines.insert(random.randint(0, len(lines)), Line("b.save('s0')"))
    lines.append(programs.measured(draw))
    ask = {
        "rows": random.randint(1, 4),
        "values": draw.values,
        "seed": random.randrange(1 << 30),
        "readout": draw_readout(random, tuple(lines)) if random.random() < 0.2 else (),
        "entry": "run",
    }
    return Case("bindings", wires, draw.bits, tuple(lines), options(random, wires, double=True), ask)


def check_bindings(case: Case) -> str | None:
    """Element k of a batch has the shots and states that a run of its own has, and these are the oracle's."""
    from qsim_ex import Options, Simulator

    rows, numbers = case.ask["rows"], values_of(case)
    circuits = [circuit_of(case, None, values) for values in numbers]
    if any(circuit.structure is not circuits[0].structure for circuit in circuits):
        return "circuits that differ in numbers alone have different structures"
    operands = np.concatenate([circuit.operands for circuit in circuits])
    simulator, seeds = Simulator(Options(**case.options)), [case.ask["seed"] + k for k in range(rows)]
    result = simulator.run_batch(circuits[0], operands, shots=FEW, seeds=seeds, readout=readout_of(case))
    for k, (circuit, seed) in enumerate(zip(circuits, seeds, strict=True)):
        alone = simulator.run(circuit, shots=FEW, seed=seed, readout=readout_of(case))
        wrong = compare.equal(f"shots of binding {k}", result[k].packed, alone.packed)
        if wrong:
            return wrong
    k = case.ask["seed"] % rows
    oracle, expected = distribution_of(case, numbers[k])
    for label, branches in oracle.saved.items():
        wrong = compare.arrays(f"saved {label!r} of binding {k}", result[k].saved[label], branches[0][:, 0], 1e-9)
        if wrong:
            return wrong
    return compare.samples(
        f"shots of binding {k}",
        lambda shots, seed: simulator.run_batch(
            circuits[0], operands, shots=shots, seeds=range(seed, seed + rows), readout=readout_of(case)
        )[k].counts(),
        expected,
        case.bits,
        case.ask["seed"] + 100,
        compare.shots_of(case.options),
    )


# --- noisy machines ---------------------------------------------------------------------------------------------------

_GATE = re.compile(r"b\.gate\('(\w+)', \[([^\]]*)\]")


def draw_machine(random: Random) -> Case:
    """A program for a machine with errors after its gates, before its measurements, and misread wires."""
    wires = random.choice([1, 2, 2, 3, 3, 4])
    draw = programs.Draw(random, wires, random.randint(1, 3))
    conditions = known.READOUT_REACHES_CONDITIONS not in known.EXCLUDED
    lines = (*programs.chance(draw, 8, noisy=False, conditions=conditions), programs.measured(draw))
    names = sorted({name for line in lines for name, _ in _GATE.findall(line.text)})
    errors: list[tuple[str, str, tuple[int, ...] | None]] = []
    for name in [*names, "unitary", "pauli_rotation", "reset", "measure"]:
        if random.random() < 0.6:
            on = tuple(draw.some(1)) if name in ("measure", "reset") and random.random() < 0.5 else None
            errors.append((name, draw.kraus(1), on))
    misreadings = [(random.choice([None, *range(wires)]), random.randrange(50)) for _ in range(random.randint(0, 2))]
    ask = {
        "seed": random.randrange(1 << 40),
        "entry": random.choice(ENTRIES),
        "errors": tuple(errors),
        "misreadings": tuple(misreadings),
    }
    return Case("machine", wires, draw.bits, lines, options(random, wires), ask)


class _NoisyOracle(Oracle):
    """An oracle that puts one-wire errors around the instructions it is given."""

    def __init__(self, wires: int, errors: Any, misreadings: dict[int | None, Any]) -> None:
        super().__init__(wires)
        self.errors = {(name, on): channel for name, channel, on in errors}
        self.misreadings = misreadings

    def _error(self, name: str, wires: Any) -> Any:
        return self.errors.get((name, tuple(wires)), self.errors.get((name, None)))

    def _after(self, name: str, wires: Any) -> Oracle:
        kraus = self._error(name, wires)
        for wire in wires if kraus is not None else ():
            self.channel(kraus, [wire])
        return self

    def gate(self, name: str, wires: Any, *parameters: float, controls: Any = (), control_values: Any = None) -> Oracle:
        """A gate and its error on all of its wires."""
        super().gate(name, wires, *parameters, controls=controls, control_values=control_values)
        return self._after(name, (*controls, *wires))

    def unitary(self, matrix: Any, wires: Any, *, controls: Any = (), control_values: Any = None) -> Oracle:
        """A matrix and its error."""
        super().unitary(matrix, wires, controls=controls, control_values=control_values)
        return self._after("unitary", (*controls, *wires))

    def pauli_rotation(
        self, angle: float, paulis: str, wires: Any, *, controls: Any = (), control_values: Any = None
    ) -> Oracle:
        """A rotation and its error."""
        super().pauli_rotation(angle, paulis, wires, controls=controls, control_values=control_values)
        return self._after("pauli_rotation", (*controls, *wires))

    def reset(self, wires: Any) -> Oracle:
        """A reset and the error of each wire."""
        super().reset(wires)
        for wire in wires:
            self._after("reset", [wire])
        return self

    def measure(self, wires: Any, clbits: Any) -> Oracle:
        """The errors of the wires, and then their measurement, which writes what is misread on each wire."""
        for wire in wires:
            self._after("measure", [wire])
        for wire, clbit in zip(wires, clbits, strict=True):
            matrix = self.misreadings.get(wire, self.misreadings.get(None))
            self.misread = {} if matrix is None else {clbit: matrix}
            super().measure([wire], [clbit])
        return self


def check_machine(case: Case) -> str | None:
    """Shots of a noisy machine come from the distribution of an oracle that adds the noise itself."""
    from qsim_ex import Options, Simulator
    from qsim_ex.circuit import noise
    from qsim_ex.circuit.noise_model import NoiseModel, NoisyBuilder
    from tools.fuzz.channels import Noise

    model, errors = NoiseModel(), []
    for name, channel, on in case.ask["errors"]:
        model = model.with_error(name, eval(channel, NAMES | {"noise": noise}), on)
        errors.append((name, eval(channel, NAMES | {"noise": Noise}), on))
    misreadings = {wire: misread(1, seed) for wire, seed in case.ask["misreadings"]}
    for wire, matrix in misreadings.items():
        model = model.with_misreading(matrix, wire)
    builder = filled(NoisyBuilder(case.wires, case.bits, model), case)
    oracle = truth_of(case, oracle=_NoisyOracle(case.wires, errors, misreadings))
    expected = oracle.distribution()
    made, readout, simulator = builder.build(), builder.readout_errors, Simulator(Options(**case.options))
    return compare.samples(
        "shots of a noisy machine",
        lambda shots, seed: simulator.run(made, shots=shots, seed=seed, readout=readout).counts(),
        expected if case.options.get("precision") != "single" else _zeros(expected),
        case.bits,
        case.ask["seed"],
        compare.shots_of(case.options),
    )


# --- checkpoints ------------------------------------------------------------------------------------------------------


class _Stopped(Exception):
    """Ends a run as a kill would."""


def draw_checkpoint(random: Random) -> Case:
    """A run of many steps with saved states, that is stopped after some of them."""
    wires = random.randint(4, 7)
    draw = programs.Draw(random, wires, wires)
    lines = programs.unitary(draw, 25)
    lines.insert(random.randint(0, len(lines)), Line("b.save('s0')"))
    lines.append(programs.measured(draw))
    ask = {"seed": random.randrange(1 << 40), "stop": random.randint(1, 5)}
    chosen = options(random, wires)
    if "virtual_peers" not in chosen and "device_wires" not in chosen:
        chosen["device_wires"] = random.randint(2, wires - 2)
    return Case("checkpoint", wires, wires, tuple(lines), chosen, ask)


def check_checkpoint(case: Case) -> str | None:
    """A run that was stopped and goes on ends as one that was never stopped, and leaves no file."""
    from qsim_ex import Options, Simulator

    made, (oracle, _) = circuit_of(case), distribution_of(case)
    whole = Simulator(Options(**case.options)).run(made, shots=FEW, seed=case.ask["seed"])

    def stop(done: int, _all: int) -> None:
        if done >= case.ask["stop"]:
            raise _Stopped

    with tempfile.TemporaryDirectory() as folder:
        kept = Options(**case.options, checkpoint=Path(folder) / "run", checkpoint_every=0)
        with contextlib.suppress(_Stopped):
            Simulator(kept.with_({"progress": stop})).run(made, shots=FEW, seed=case.ask["seed"])
        again = Simulator(kept).run(made, shots=FEW, seed=case.ask["seed"])
        left = [path.name for path in Path(folder).iterdir()]
    if left:
        return f"files are left after the end: {left}"
    return compare.equal("shots of a run that goes on", again.packed, whole.packed) or compare.arrays(
        "saved state of a run that goes on", again.saved["s0"], oracle.saved["s0"][0][:, 0], tolerance(case.options)
    )


KINDS = [
    Kind("shots", draw_shots, check_shots, 3),
    Kind("chance", draw_chance, check_shots, 4),
    Kind("values", draw_values, check_values, 1.5),
    Kind("bindings", draw_bindings, check_bindings, 1.5),
    Kind("machine", draw_machine, check_machine, 1),
    Kind("checkpoint", draw_checkpoint, check_checkpoint, 0.5),
]
