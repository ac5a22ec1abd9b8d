"""How each of Cirq's gates is written in the gate table: one rule per class of gate, found by its exact type.

A rule calls `Place.row` and its sisters, which append to a circuit under the controls that stand around the gate.
Rules never ask whether a number happens to be special, with one exception: a gate that was written without a
symbol and has a row of its own (``cirq.X``, ``cirq.S``) takes that row. A gate whose exponent came from a symbol
takes the row of the power, so that every point of a sweep has one structure. `global_shift` cannot be a symbol
and is structure.

Cirq's matrices have the first qubit as the most significant bit, the table's rows count arguments from 0; a row
takes the wires as they come, a matrix takes them reversed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import cirq
import numpy as np

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.errors import MatrixError, ParameterError

TOLERANCE = 1e-5
"""How far a matrix may be from unitary: what Cirq itself lets pass, or single-precision matrices would not."""


class NeedsNumbers(Exception):
    """A symbol stands where the structure of a circuit depends on the number that will replace it."""


def number(value: Any) -> float:
    """Return a gate's parameter as a number; raises `ParameterError` where it is none."""
    try:
        return float(value)
    except TypeError:
        raise ParameterError(f"a gate has the parameter {value!r}, which is not a real number.") from None


class Place(NamedTuple):
    """Where a gate goes: the wires in the gate's order, and the controls around it with their wanted values.

    values: bit k is the wanted value of ``controls[k]``. literal: no symbol was replaced to get this gate.
    number: makes of a gate's parameter what the builder takes.
    """

    builder: CircuitBuilder
    wires: tuple[int, ...]
    controls: tuple[int, ...] = ()
    values: int = 0
    literal: bool = True
    number: Callable[[Any], Any] = number

    def row(self, name: str, *parameters: float) -> None:
        """Append a row of the gate table on all wires."""
        self.builder.gate(name, self.wires, *parameters, controls=self.controls, control_values=self.values)

    def matrix(self, matrix: Any, name: str) -> None:
        """Append a matrix in Cirq's order of bits."""
        self.builder.unitary(
            matrix,
            self.wires[::-1],
            controls=self.controls,
            control_values=self.values,
            name=name,
            tolerance=TOLERANCE,
        )

    def phase(self, angle: float) -> None:
        """Append e^{i·angle}, under the controls."""
        self._replace(wires=()).row("global_phase", angle)

    def controlled(self, controls: Sequence[int], values: Sequence[int]) -> Place:
        """Return the same place with more controls and their wanted values."""
        wanted = sum(int(v) << k for k, v in enumerate(values))
        return self._replace(controls=(*controls, *self.controls), values=wanted | self.values << len(controls))

    def split(self, count: int) -> Place:
        """Return the place in which the first `count` wires are controls that must be 1."""
        if not count:
            return self
        values = self.values << count | (1 << count) - 1
        return self._replace(wires=self.wires[count:], controls=(*self.wires[:count], *self.controls), values=values)


Rule = Callable[[Any, Place], None]


@dataclass(frozen=True)
class Power:
    """An involution to the power t, times e^{iπts} for the shift s.

    power: its row, with the parameters t and s. fixed: rows for exponents that have their own. rotation: the row
    that takes the angle πt where s = −1/2. phase: the row that takes πt where s = 0. controls: how many of the
    gate's first qubits are controls; a shift is a phase of the whole gate and stands outside of them.
    """

    power: str
    fixed: Mapping[float, str] = field(default_factory=dict)
    rotation: str = ""
    phase: str = ""
    controls: int = 0

    def __call__(self, gate: Any, place: Place) -> None:
        """Append the gate."""
        t, s = place.number(gate.exponent), gate.global_shift
        if place.literal and s == 0 and t in self.fixed:
            place.row(self.fixed[t])
            return
        if self.controls and s:
            place.phase(np.pi * t * s)
            s = 0
        within = place.split(self.controls)
        if self.phase and s == 0:
            within.row(self.phase, np.pi * t)
        elif self.rotation and s == -0.5:
            within.row(self.rotation, np.pi * t)
        else:
            within.row(self.power, t, s)


def _iswap(gate: cirq.ISwapPowGate, place: Place) -> None:
    """Write an unshifted power as fSim(−πt/2, 0), whose row knows its real and imaginary entries."""
    t, s = place.number(gate.exponent), gate.global_shift
    fixed = {1.0: "iswap", -1.0: "iswapdg"}
    if place.literal and s == 0 and t in fixed:
        place.row(fixed[t])
    elif s == 0:
        place.row("fsim", -np.pi * t / 2, 0.0)
    else:
        place.row("iswappow", t, s)


def _phased_x(gate: cirq.PhasedXPowGate, place: Place) -> None:
    place.row("phasedxpow", place.number(gate.phase_exponent), place.number(gate.exponent), gate.global_shift)


def _phased_xz(gate: cirq.PhasedXZGate, place: Place) -> None:
    """Z^z Z^a X^x Z^−a = e^{iπx/2} · u(πx, π(z+a−½), π(½−a))."""
    x, z, a = place.number(gate.x_exponent), place.number(gate.z_exponent), place.number(gate.axis_phase_exponent)
    place.row("u", np.pi * x, np.pi * (z + a - 0.5), np.pi * (0.5 - a))
    place.phase(np.pi * x / 2)


def _fsim(gate: cirq.FSimGate, place: Place) -> None:
    place.row("fsim", place.number(gate.theta), place.number(gate.phi))


def _cswap(_: cirq.CSwapGate, place: Place) -> None:
    place.row("cswap")


def _diagonal(gate: Any, place: Place) -> None:
    angles = [place.number(angle) for angle in gate.diag_angles_radians]
    if any(isinstance(angle, np.ndarray) for angle in angles):
        raise NeedsNumbers(f"{type(gate).__name__} becomes a matrix")
    if not np.isfinite(angles).all():
        raise ParameterError(f"{type(gate).__name__} has an angle that is not finite: {angles}.")
    place.builder.diagonal(
        np.exp(1j * np.array(angles)),
        place.wires[::-1],
        controls=place.controls,
        control_values=place.values,
        name=type(gate).__name__,
    )


def _matrix(gate: cirq.MatrixGate, place: Place) -> None:
    place.matrix(cirq.unitary(gate), "MatrixGate")


def _global_phase(gate: cirq.GlobalPhaseGate, place: Place) -> None:
    place.phase(float(np.angle(_coefficient(gate))))


def _coefficient(gate: Any) -> complex:
    """A gate's coefficient; raises `NeedsNumbers` for a symbol."""
    if cirq.is_parameterized(gate.coefficient):
        raise NeedsNumbers(f"the coefficient {gate.coefficient} is a symbol")
    return complex(gate.coefficient)


def _paulis(gate: cirq.DensePauliString, place: Place) -> None:
    """A product of X, Y and Z times a coefficient of modulus 1."""
    coefficient = _coefficient(gate)
    if abs(abs(coefficient) - 1) > TOLERANCE:
        raise MatrixError(f"{gate!r} is not unitary: its coefficient has the modulus {abs(coefficient):g}, not 1.")
    if coefficient != 1 or not place.literal:
        place.phase(float(np.angle(coefficient)))
    for letter, wire in zip(_letters(gate), place.wires, strict=True):
        if letter != "I":
            place._replace(wires=(wire,)).row(letter.lower())


def _pauli_phasor(gate: cirq.PauliStringPhasorGate, place: Place) -> None:
    """e^{iπ·pos} where the product is +1 and e^{iπ·neg} where it is −1.

    An identity in the product is the identity, as Cirq's documentation has it; its simulators take it for a Z
    (https://github.com/quantumlib/Cirq/issues/6612).
    """
    positive, negative = place.number(gate.exponent_pos), place.number(gate.exponent_neg)
    string = gate.dense_pauli_string
    if _coefficient(string).real < 0:
        positive, negative = negative, positive
    place.builder.pauli_rotation(
        np.pi * (negative - positive),
        _letters(string),
        place.wires,
        controls=place.controls,
        control_values=place.values,
    )
    place.phase(np.pi * (positive + negative) / 2)


def _letters(string: cirq.BaseDensePauliString) -> str:
    return "".join("IXYZ"[int(k)] for k in string.pauli_mask)


def _arithmetic(gate: cirq.ArithmeticGate, place: Place) -> None:
    """A map of registers of bits onto themselves, such as modular multiplication: a permutation of values.

    Controls become the high bits of the permuted value, which moves only where they hold.
    """
    if cirq.is_parameterized(gate):
        raise NeedsNumbers(f"{gate!r} has a register that is a symbol")
    registers = gate.registers()
    ranges = [(r,) if isinstance(r, int) else range(1 << len(r)) for r in registers]
    size = 1 << len(place.wires)
    moved = list(range(size << len(place.controls)))
    wanted = place.values & (1 << len(place.controls)) - 1
    for value, given in enumerate(product(*ranges)):
        moved[wanted * size + value] = wanted * size + _packed(gate.apply(*given), given, registers)
    place.builder.permutation(moved, (*place.wires[::-1], *place.controls))


def _packed(image: Any, given: Sequence[int], registers: Any) -> int:
    """Return the value of all registers together, the first most significant; those not returned are unchanged."""
    out = tuple(image) if isinstance(image, Iterable) else (image,)
    whole = 0
    for value, register in zip((*out, *given[len(out) :]), registers, strict=True):
        if not isinstance(register, int):  # a constant takes no bits
            whole = whole << len(register) | int(value) % (1 << len(register))
    return whole


_X: dict[str, Any] = {"power": "xpow", "rotation": "rx"}
_Y: dict[str, Any] = {"power": "ypow", "rotation": "ry"}
_Z: dict[str, Any] = {"power": "zpow", "rotation": "rz", "phase": "p"}
_x, _y, _h = Power(fixed={1.0: "x"}, **_X), Power(fixed={1.0: "y"}, **_Y), Power("hpow", {1.0: "h"})
_z = Power(fixed={1.0: "z", 0.5: "s", -0.5: "sdg", 0.25: "t", -0.25: "tdg"}, **_Z)
_xx = Power("xxpow", rotation="rxx")

RULES: dict[type, Rule] = {
    type(cirq.X): _x,
    cirq.XPowGate: _x,
    cirq.Rx: _x,
    type(cirq.Y): _y,
    cirq.YPowGate: _y,
    cirq.Ry: _y,
    type(cirq.Z): _z,
    cirq.ZPowGate: _z,
    cirq.Rz: _z,
    cirq.HPowGate: _h,
    cirq.CXPowGate: Power(fixed={1.0: "cx"}, controls=1, **_X),
    cirq.CZPowGate: Power(fixed={1.0: "cz"}, controls=1, **_Z),
    cirq.CCXPowGate: Power(fixed={1.0: "ccx"}, controls=2, **_X),
    cirq.CCZPowGate: Power(fixed={1.0: "ccz"}, controls=2, **_Z),
    cirq.XXPowGate: _xx,
    cirq.MSGate: _xx,
    cirq.YYPowGate: Power("yypow", rotation="ryy"),
    cirq.ZZPowGate: Power("zzpow", rotation="rzz"),
    cirq.SwapPowGate: Power("swappow", {1.0: "swap"}),
    cirq.ISwapPowGate: _iswap,
    cirq.CSwapGate: _cswap,
    cirq.PhasedXPowGate: _phased_x,
    cirq.PhasedXZGate: _phased_xz,
    cirq.FSimGate: _fsim,
    cirq.DiagonalGate: _diagonal,
    cirq.TwoQubitDiagonalGate: _diagonal,
    cirq.ThreeQubitDiagonalGate: _diagonal,
    cirq.MatrixGate: _matrix,
    cirq.GlobalPhaseGate: _global_phase,
    cirq.DensePauliString: _paulis,
    cirq.MutableDensePauliString: _paulis,
    cirq.PauliStringPhasorGate: _pauli_phasor,
}

for _name, _controls in (("CYPowGate", 1), ("CCYPowGate", 2)):  # not in every version of Cirq
    if hasattr(cirq, _name):
        RULES[getattr(cirq, _name)] = Power(fixed={1.0: "cy"} if _controls == 1 else {}, controls=_controls, **_Y)


def rule_of(gate: object) -> Rule | None:
    """Return the rule of a gate, or None; subclasses of arithmetic gates are the users' own and share one."""
    rule = RULES.get(type(gate))
    return _arithmetic if rule is None and isinstance(gate, cirq.ArithmeticGate) else rule
