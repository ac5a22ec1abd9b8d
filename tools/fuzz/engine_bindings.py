"""The kind about bindings of the engine: many circuits of one structure, each with numbers and a seed of its own."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.engine import FEW, circuit_of, distribution_of, draw_readout, filled, readout_of, values_of
from tools.fuzz.kinds import Kind
from tools.fuzz.options import options


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
        "sweep": random.random() < 0.5,
    }
    return Case("bindings", wires, draw.bits, tuple(lines), options(random, wires, double=True), ask)


def _swept(case: Case, numbers: Any) -> list[Any]:
    """The circuit of each binding, of a sweep that is built once; special numbers are then numbers as all others."""
    from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder

    builder = filled(ParameterSweepBuilder(case.wires, case.bits), case, None, list(numbers.T.copy()))
    sweep = builder.sweep(len(numbers))
    return [sweep.circuit(k) for k in range(len(numbers))]


def check_bindings(case: Case) -> str | None:
    """Element k of a batch has the shots and states that a run of its own has, and these are the oracle's."""
    from qsim_ex import Options, Simulator

    rows, numbers = case.ask["rows"], values_of(case)
    circuits = _swept(case, numbers) if case.ask["sweep"] else [circuit_of(case, None, values) for values in numbers]
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


KINDS = [Kind("bindings", draw_bindings, check_bindings, 1.5)]
