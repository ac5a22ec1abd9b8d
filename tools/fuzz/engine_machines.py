"""The kind about noisy machines of the engine: errors around gates, and misread wires."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from tools.fuzz import compare, programs
from tools.fuzz.case import Case
from tools.fuzz.channels import Noise
from tools.fuzz.engine import ENTRIES, filled, truth_of
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import NAMES, misread
from tools.fuzz.options import options
from tools.fuzz.oracle import Oracle

_GATE = re.compile(r"b\.gate\('(\w+)', \[([^\]]*)\]")


def draw_machine(random: Random) -> Case:
    """A program for a machine with errors after its gates, before its measurements, and misread wires."""
    wires = random.choice([1, 2, 2, 3, 3, 4])
    draw = programs.Draw(random, wires, random.randint(1, 3))
    lines = (*programs.chance(draw, 8, noisy=False), programs.measured(draw))
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
    import qsim_ex as noise
    from qsim_ex import Options, Simulator
    from qsim_ex.circuit.noise.model import NoiseModel, NoisyBuilder

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
        compare.rounded(expected, case.options),
        case.bits,
        case.ask["seed"],
        compare.shots_of(case.options),
    )


KINDS = [Kind("machine", draw_machine, check_machine)]
