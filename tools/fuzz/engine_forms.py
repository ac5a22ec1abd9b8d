"""The kinds about the form of a circuit: it is the circuit, the same however Clifford gates are written, or one for all
bindings.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.case import Case
from tools.fuzz.engine import filled, truth_of, values_of
from tools.fuzz.form_oracle import apply_form
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import vector
from tools.fuzz.oracle import Oracle

_QUARTER = np.pi / 2

_OTHERWISE: dict[str, tuple[tuple[str, tuple[int, ...], float | None], ...]] = {
    "h": (("rz", (0,), _QUARTER), ("sx", (0,), None), ("rz", (0,), _QUARTER)),
    "s": (("rz", (0,), _QUARTER),),
    "sdg": (("rz", (0,), -_QUARTER),),
    "x": (("sx", (0,), None), ("sx", (0,), None)),
    "sx": (("rx", (0,), _QUARTER),),
    "cx": (("h", (1,), None), ("cz", (0, 1), None), ("h", (1,), None)),
    "cz": (("h", (1,), None), ("cx", (0, 1), None), ("h", (1,), None)),
    "swap": (("cx", (0, 1), None), ("cx", (1, 0), None), ("cx", (0, 1), None)),
}
"""How Clifford gates are written otherwise: gates, on which of the wires, and their angles; but for a phase."""


class _Rewriting:
    """A builder that is given Clifford gates in another way than they are called."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._builder, name)

    def gate(self, name: str, wires: Any, *angles: float, **controls: Any) -> _Rewriting:
        """A gate, which is written otherwise if it has no controls."""
        for own, on, angle in () if controls else _OTHERWISE.get(name, ()):
            self._builder.gate(own, [wires[k] for k in on], *(() if angle is None else (angle,)))
        if controls or name not in _OTHERWISE:
            self._builder.gate(name, wires, *angles, **controls)
        return self


class _Draw(programs.Draw):
    """Draws no many gates at once, which a builder is given in another way."""

    def unitary_line(self) -> str:
        """A statement; more Clifford gates than elsewhere."""
        if self.random.random() < 0.5:
            return super().unitary_line()
        count = self.random.randint(1, min(2, self.wires))
        names = [name for name, parts in _OTHERWISE.items() if (name in ("cx", "cz", "swap")) == (count == 2)]
        return f"b.gate({self.random.choice(names)!r}, {self.on(self.some(count))})"

    def bulk(self) -> list[Any]:
        """A single line."""
        return [programs.Line(self.unitary_line())]


def draw_form(random: Random) -> Case:
    """A unitary program on few wires, since a block is many strings."""
    wires = random.choice([1, 2, 3, 3, 4])
    draw = _Draw(random, wires, 0)
    lines = programs.unitary(draw, random.choice([8, 25]), prepared=False)
    return Case("form", wires, 0, tuple(lines), {}, {"seed": random.randrange(50), "zeros": random.random() < 0.5})


def check_form(case: Case) -> str | None:
    """The form does what gates do by definition, on zeros or not, written out or not, and is one in other words."""
    from qsim_ex import CircuitBuilder, reference
    from qsim_ex.planning.form import form_of
    from qsim_ex.planning.written.out import Manner, written_out

    made = filled(CircuitBuilder(case.wires), case).build()
    zeros, oracle = case.ask["zeros"], Oracle(case.wires)
    found, start = form_of(made, zeros=zeros), vector(case.wires, case.ask["seed"])
    if zeros:
        start = np.eye(1, start.size, dtype=np.complex128)[0]
    oracle.branches[0] = start[:, None].copy()
    expected = truth_of(case, oracle=oracle).vector()
    wrong = compare.arrays("form", apply_form(start, found, made), expected, 1e-9)
    manner = list(Manner)[case.ask["seed"] % len(Manner)]
    if not wrong and (written := written_out(made, manner=manner, zeros=zeros)):
        wrong = compare.arrays("written out", reference.simulate(written.circuit(made.operands), start), expected, 1e-9)
    if wrong:
        return wrong
    other = form_of(filled(_Rewriting(CircuitBuilder(case.wires)), case).build(), zeros=zeros)
    if found.blocks or other.blocks:  # a matrix of many wires is one, and what it is written out as is none
        return None
    strings = [[(one.pauli.x, one.pauli.z) for one in form.rotations] for form in (found, other)]
    if strings[0] != strings[1] or found.clifford != other.clifford:
        return f"written otherwise: {len(strings[0])} rotations, then {len(strings[1])}: {strings}"
    return compare.arrays(
        "angles written otherwise", [one.angle for one in other.rotations], [one.angle for one in found.rotations], 1e-9
    )


def _windows(draw: _Draw) -> list[programs.Line]:
    """Phases on three wires as a transpiler writes them, between rotations of two wires by numbers of a binding."""
    random, found = draw.random, list[str]()
    for _ in range(random.randint(1, 6)):
        a, b, c = ([wire] for wire in draw.some(3))
        angle = random.choice([0.7, 1.5707963267948966])
        for sign in random.choice([(1, -1), (-1, 1, -1, 1)]):
            found.append(f"b.gate('cx', {draw.on(a + b)})")
            if random.random() < 0.5:
                found.append(f"b.gate('p', {draw.on(b)}, 0.4)")
            found.append(f"b.gate('cp', {draw.on(b + c)}, {sign * angle})")
        found += [f"b.gate('rzz', {draw.on(draw.some(2))}, {draw.angle()})" for _ in range(random.choice([0, 2, 4]))]
    return [programs.Line(text) for text in found]


def draw_written(random: Random) -> Case:
    """A unitary program most of whose angles are numbers of a binding, with some bindings."""
    wide = random.random() < 0.2
    wires = random.choice([5, 6]) if wide else random.choice([1, 2, 3, 3, 4])
    draw = _Draw(random, wires, 0)
    draw.bound = True
    lines = _windows(draw) if wide else programs.unitary(draw, random.choice([8, 25]), prepared=False)
    manner = "CLUSTERS" if wide else random.choice(["LOCAL", "MOVES", "GROWN", "BACK", "BETWEEN", "CLUSTERS"])
    ask = {
        "manner": manner,
        "rows": random.randint(2, 6),
        "values": draw.values,
        "seed": random.randrange(1 << 30),
        "sweep": random.random() < 0.7,
        "at_once": random.random() < 0.5,
    }
    return Case("written", wires, 0, tuple(lines), {}, ask)


def check_written(case: Case) -> str | None:
    """What is written for all bindings, or for those so far, does what the gates of each do by definition."""
    from qsim_ex import Circuit, reference
    from qsim_ex.circuit.parameters.bindings import Bindings
    from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder
    from qsim_ex.planning.written.bindings import WrittenBindings
    from qsim_ex.planning.written.out import Manner, written_out

    numbers, start = values_of(case), vector(case.wires, case.ask["seed"])
    builder = filled(ParameterSweepBuilder(case.wires, 0), case, None, list(numbers.T.copy()))
    operands = builder.sweep(len(numbers)).operands(np.arange(len(numbers)))
    write = partial(written_out, manner=Manner[case.ask["manner"]])
    known = WrittenBindings(builder.sweep(len(numbers)).template.structure, write)
    for k, values in enumerate(numbers):
        found = known.of(Bindings.of(operands if case.ask["at_once"] else operands[k : k + 1]))
        if found is None:
            return None
        oracle = Oracle(case.wires)
        oracle.branches[0] = start[:, None].copy()
        own = Circuit.of_structure(found.structure, found.numbers(operands[k : k + 1]))
        expected = truth_of(case, values, oracle=oracle).vector()
        if wrong := compare.arrays(f"written for binding {k}", reference.simulate(own, start), expected, 1e-9):
            return wrong
    return None


KINDS = [Kind("form", draw_form, check_form), Kind("written", draw_written, check_written)]
