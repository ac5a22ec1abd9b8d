"""THE gate table: one row per gate; translation, planning, documentation and tests all read the row.

A row says what a gate does to its arguments ("a1" is the second qubit that the caller names):

    mixes    arguments between whose 0 and 1 it moves amplitude, least significant first
    reads    masks of arguments whose parities select a block (diagonal in them)
    when     arguments that must be 1 (controls); a phase gate is a number "when" its qubit is 1
    pattern  the class of each entry, from the gate's definition and never from its numbers
    matrix   the entries, flat in C order over [2^reads, 2^mixes, 2^mixes], for arrays of parameters
    factors  a product of cheaper gates that is the same gate, where there is one: phases merge with their neighbours
             into tables, global phases into one number, and what remains is real (half the work of a complex matrix)

Angles are in radians; exponents (the ``*pow`` rows) are in half turns as in Cirq. Matrices follow Qiskit's circuit
library and Cirq's gate documentation, with argument 0 the least significant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Pattern, pattern
from qsim_ex.circuit.phases import phases

Entries = Sequence[Any]
_i = 1j
_r = float(np.sqrt(0.5))


class Factor(NamedTuple):
    """A gate of the table with its parameters, on the same arguments or, a global phase, on none."""

    name: str
    parameters: tuple[Any, ...]


@dataclass(frozen=True)
class Gate:
    """One row of the gate table; see the head of this file for the columns.

    controls: how many of the first arguments control the rest, in a row that is another one with controls.
    """

    name: str
    qubits: int
    mixes: tuple[int, ...]
    reads: tuple[int, ...]
    when: tuple[int, ...]
    pattern: Pattern
    matrix: Callable[..., Entries]
    parameters: tuple[str, ...] = ()
    inverse: str = ""
    inverse_parameters: Callable[..., tuple[Any, ...]] = lambda *p: p
    qiskit: str | None = None
    cirq: str | None = None
    factors: Callable[..., tuple[Factor, ...]] | None = None
    controls: int = 0

    @cached_property
    def constants(self) -> NDArray[np.complex128]:
        """The flat entries [size] of a row without parameters, read only."""
        out: NDArray[np.complex128] = self.entries(np.empty((1, 0)))[0]
        out.setflags(write=False)
        return out

    def entries(self, parameters: NDArray[np.float64]) -> NDArray[np.complex128]:
        """Return the flat entries [count, size] for an array [count, number of parameters]."""
        columns = self.matrix(*(parameters[:, k] for k in range(len(self.parameters))))
        out = np.empty((len(parameters), len(columns)), dtype=np.complex128)
        for k, column in enumerate(columns):
            out[:, k] = column
        return out


GATES: dict[str, Gate] = {}


def _negated(*parameters: Any) -> tuple[Any, ...]:
    return tuple(-p for p in parameters)


def _row(
    name: str,
    qubits: int,
    entries: str,
    matrix: Entries | Callable[..., Entries],
    *,
    mixes: tuple[int, ...] = (),
    reads: tuple[int, ...] = (),
    when: tuple[int, ...] = (),
    parameters: str = "",
    inverse: str = "",
    negated: bool = False,
    inverse_parameters: Callable[..., tuple[Any, ...]] | None = None,
    qiskit: str | None = None,
    cirq: str | None = None,
    factors: Callable[..., tuple[Factor, ...]] | None = None,
) -> None:
    GATES[name] = Gate(
        factors=factors,
        name=name,
        qubits=qubits,
        mixes=mixes,
        reads=reads,
        when=when,
        pattern=pattern(entries.replace(" ", "")),
        matrix=matrix if callable(matrix) else lambda: matrix,
        parameters=tuple(parameters.split()),
        inverse=inverse or name,
        inverse_parameters=inverse_parameters or (_negated if negated else lambda *p: p),
        qiskit=qiskit,
        cirq=cirq,
    )


WHOLE_UNDER_CONTROLS = frozenset({"u", "u2", "u3", "phasedxpow"})
"""Rows whose factors would each need the controls, and so cost more than one matrix under controls."""


def _controlled(name: str, of: str, controls: int = 1, *, qiskit: str | None, cirq: str | None = None) -> None:
    """Add the row of `of` with `controls` arguments in front that must all be 1."""
    base = GATES[of]
    inverse = name if base.inverse == of else name.replace(of, base.inverse)
    GATES[name] = Gate(
        name=name,
        qubits=base.qubits + controls,
        mixes=tuple(a + controls for a in base.mixes),
        reads=tuple(mask << controls for mask in base.reads),
        when=(*range(controls), *(a + controls for a in base.when)),
        pattern=base.pattern,
        matrix=base.matrix,
        parameters=base.parameters,
        inverse=inverse,
        inverse_parameters=base.inverse_parameters,
        qiskit=qiskit,
        cirq=cirq,
        factors=None if base.name in WHOLE_UNDER_CONTROLS else base.factors,
        controls=controls,
    )


def _turned(axis: str) -> Callable[..., tuple[Factor, ...]]:
    """The factors of a power of a Pauli matrix: a rotation by its exponent and a global phase."""
    return lambda t, s: (
        Factor(axis, (np.pi * t,)),
        Factor("global_phase", (np.pi * t * (s + 0.5),)),
    )


def _half(angle: Any) -> tuple[Any, Any]:
    z = phases(angle / 2)
    return z.real, z.imag


def _phase(angle: Any) -> Any:
    return phases(angle)


def _turn(t: Any, shift: Any = 0.0) -> tuple[Any, Any, Any]:
    """Return e^{iπts}, and the half sum and half difference of 1 and e^{iπt} that involutions are raised with."""
    u = _phase(np.pi * t)
    return _phase(np.pi * t * shift), (1 + u) / 2, (1 - u) / 2


# --- one qubit ---------------------------------------------------------------------------------------------------

_row("global_phase", 0, "c", lambda a: [_phase(a)], parameters="angle", negated=True, qiskit="global_phase")
_row("x", 1, "0110", [0, 1, 1, 0], mixes=(0,), qiskit="x", cirq="X")
_row("y", 1, "0ii0", [0, -_i, _i, 0], mixes=(0,), qiskit="y", cirq="Y")
_row("z", 1, "-", [-1], when=(0,), qiskit="z", cirq="Z")
_row("h", 1, "rrrr", [_r, _r, _r, -_r], mixes=(0,), qiskit="h", cirq="H")
_row("s", 1, "i", [_i], when=(0,), inverse="sdg", qiskit="s", cirq="S")
_row("sdg", 1, "i", [-_i], when=(0,), inverse="s", qiskit="sdg")
_row("t", 1, "c", [np.exp(0.25j * np.pi)], when=(0,), inverse="tdg", qiskit="t", cirq="T")
_row("tdg", 1, "c", [np.exp(-0.25j * np.pi)], when=(0,), inverse="t", qiskit="tdg")


def _root_of_x(sign: int) -> Callable[..., tuple[Factor, ...]]:
    factors = (Factor("rx", (sign * np.pi / 2,)), Factor("global_phase", (sign * np.pi / 4,)))
    return lambda: factors


_SX = [0.5 + 0.5j, 0.5 - 0.5j, 0.5 - 0.5j, 0.5 + 0.5j]
_row("sx", 1, "cccc", _SX, mixes=(0,), inverse="sxdg", qiskit="sx", factors=_root_of_x(1))
_row("sxdg", 1, "cccc", np.conj(_SX).tolist(), mixes=(0,), inverse="sx", qiskit="sxdg", factors=_root_of_x(-1))
_row("p", 1, "c", lambda a: [_phase(a)], when=(0,), parameters="lam", negated=True, qiskit="p")
_row("u1", 1, "c", lambda a: [_phase(a)], when=(0,), parameters="lam", negated=True, qiskit="u1")


def _rx(theta: Any) -> Entries:
    c, s = _half(theta)
    return [c, -1j * s, -1j * s, c]


def _ry(theta: Any) -> Entries:
    c, s = _half(theta)
    return [c, -s, s, c]


def _r_gate(theta: Any, phi: Any) -> Entries:
    c, s = _half(theta)
    return [c, -1j * s * _phase(-phi), -1j * s * _phase(phi), c]


def _u(theta: Any, phi: Any, lam: Any) -> Entries:
    c, s = _half(theta)
    return [c, -s * _phase(lam), s * _phase(phi), c * _phase(phi + lam)]


def _rz(theta: Any) -> Entries:
    return [_phase(-theta / 2), _phase(theta / 2)]


def _phases(of: str) -> Callable[..., tuple[Factor, ...]]:
    """The factors of exp(−iθ/2·Z…Z): a phase on half of the amplitudes, and a global one."""
    return lambda theta: (Factor(of, (theta,)), Factor("global_phase", (-theta / 2,)))


def _euler(theta: Any, phi: Any, lam: Any) -> tuple[Factor, ...]:
    """U(θ, φ, λ) = P(φ)·RY(θ)·P(λ), in the order in which they act."""
    return Factor("p", (lam,)), Factor("ry", (theta,)), Factor("p", (phi,))


_row("rx", 1, "riir", _rx, mixes=(0,), parameters="theta", negated=True, qiskit="rx")
_row("ry", 1, "rrrr", _ry, mixes=(0,), parameters="theta", negated=True, qiskit="ry")
_row("rz", 1, "cc", _rz, reads=(0b1,), parameters="theta", negated=True, qiskit="rz", factors=_phases("p"))
_row(
    "r",
    1,
    "rccr",
    _r_gate,
    mixes=(0,),
    parameters="theta phi",
    inverse_parameters=lambda theta, phi: (-theta, phi),
    qiskit="r",
)
_U = {"mixes": (0,), "factors": _euler, "inverse_parameters": lambda theta, phi, lam: (-theta, -lam, -phi)}
_row("u", 1, "rccc", _u, parameters="theta phi lam", qiskit="u", **_U)  # type: ignore[arg-type]
_row("u3", 1, "rccc", _u, parameters="theta phi lam", qiskit="u3", **_U)  # type: ignore[arg-type]
_row(
    "u2",
    1,
    "rccc",
    lambda phi, lam: _u(np.pi / 2 + 0 * phi, phi, lam),
    mixes=(0,),
    parameters="phi lam",
    factors=lambda phi, lam: _euler(np.pi / 2, phi, lam),
    inverse_parameters=lambda phi, lam: (-lam - np.pi, -phi + np.pi),
    qiskit="u2",
)

# --- two qubits --------------------------------------------------------------------------------------------------

_row(
    "swap",
    2,
    "1000 0010 0100 0001",
    [1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1],
    mixes=(0, 1),
    qiskit="swap",
    cirq="SWAP",
)
_ISWAP = [1, 0, 0, 0, 0, 0, _i, 0, 0, _i, 0, 0, 0, 0, 0, 1]
_row("iswap", 2, "1000 00i0 0i00 0001", _ISWAP, mixes=(0, 1), inverse="iswapdg", qiskit="iswap", cirq="ISWAP")
_row("iswapdg", 2, "1000 00i0 0i00 0001", np.conj(_ISWAP).tolist(), mixes=(0, 1), inverse="iswap")
_DCX = [1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0]
_row("dcx", 2, "1000 0001 0100 0010", _DCX, mixes=(0, 1), inverse="dcxdg", qiskit="dcx")
_row("dcxdg", 2, "1000 0010 0001 0100", np.reshape(_DCX, (4, 4)).T.ravel().tolist(), mixes=(0, 1), inverse="dcx")
_ECR = (_r * np.array([0, 1, 0, _i, 1, 0, -_i, 0, 0, _i, 0, 1, -_i, 0, 1, 0])).tolist()
_row("ecr", 2, "0r0i r0i0 0i0r i0r0", _ECR, mixes=(0, 1), qiskit="ecr")


def _rxx(theta: Any) -> Entries:
    c, s = _half(theta)
    m = -1j * s
    return [c, 0, 0, m, 0, c, m, 0, 0, m, c, 0, m, 0, 0, c]


def _ryy(theta: Any) -> Entries:
    c, s = _half(theta)
    m = -1j * s
    return [c, 0, 0, -m, 0, c, m, 0, 0, m, c, 0, -m, 0, 0, c]


def _xx_minus_yy(theta: Any, beta: Any) -> Entries:
    c, s = _half(theta)
    return [c, 0, 0, -1j * s * _phase(-beta), 0, 1, 0, 0, 0, 0, 1, 0, -1j * s * _phase(beta), 0, 0, c]


def _xx_plus_yy(theta: Any, beta: Any) -> Entries:
    c, s = _half(theta)
    return [1, 0, 0, 0, 0, c, -1j * s * _phase(-beta), 0, 0, -1j * s * _phase(beta), c, 0, 0, 0, 0, 1]


def _theta_negated(theta: Any, beta: Any) -> tuple[Any, ...]:
    return (-theta, beta)


_PAIRS = "r00i 0ri0 0ir0 i00r"
_row("parity_phase", 2, "1c", lambda a: [1, _phase(a)], reads=(0b11,), parameters="lam", negated=True)
_row("rxx", 2, _PAIRS, _rxx, mixes=(0, 1), parameters="theta", negated=True, qiskit="rxx")
_row("ryy", 2, _PAIRS, _ryy, mixes=(0, 1), parameters="theta", negated=True, qiskit="ryy")
_row(
    "rzz", 2, "cc", _rz, reads=(0b11,), parameters="theta", negated=True, qiskit="rzz", factors=_phases("parity_phase")
)
_row(
    "rzx",
    2,
    "riir riir",
    lambda a: [*_rx(a), *_rx(-a)],
    mixes=(1,),
    reads=(0b1,),
    parameters="theta",
    negated=True,
    qiskit="rzx",
)
_row(
    "xx_minus_yy",
    2,
    "r00c 0100 0010 c00r",
    _xx_minus_yy,
    mixes=(0, 1),
    parameters="theta beta",
    inverse_parameters=_theta_negated,
    qiskit="xx_minus_yy",
)
_row(
    "xx_plus_yy",
    2,
    "1000 0rc0 0cr0 0001",
    _xx_plus_yy,
    mixes=(0, 1),
    parameters="theta beta",
    inverse_parameters=_theta_negated,
    qiskit="xx_plus_yy",
)
_row(
    "rccx",
    3,
    "1001 100- 1001 0ii0",
    [1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -_i, _i, 0],
    mixes=(2,),
    reads=(0b001, 0b010),
    qiskit="rccx",
)

# --- powers, as Cirq has them: exponent t and global shift s, in half turns -----------------------------------------


def _turned_z(of: str) -> Callable[..., tuple[Factor, ...]]:
    """The factors of a power of Z or Z⊗Z: a phase on half of the amplitudes, and a global one."""
    return lambda t, s: (Factor(of, (np.pi * t,)), Factor("global_phase", (np.pi * t * s,)))


def _phased_x(p: Any, t: Any, s: Any) -> tuple[Factor, ...]:
    """Z^p · X^t · Z^−p, in the order in which they act."""
    return Factor("p", (-np.pi * p,)), *_turned("rx")(t, s), Factor("p", (np.pi * p,))


def _xpow(t: Any, s: Any) -> Entries:
    g, a, b = _turn(t, s)
    return [g * a, g * b, g * b, g * a]


def _ypow(t: Any, s: Any) -> Entries:
    g, a, b = _turn(t, s)
    return [g * a, -1j * g * b, 1j * g * b, g * a]


def _hpow(t: Any, s: Any) -> Entries:
    g, a, b = _turn(t, s)
    return [g * (a + _r * b), g * _r * b, g * _r * b, g * (a - _r * b)]


def _xxpow(t: Any, s: Any) -> Entries:
    g, a, b = _turn(t, s)
    a, b = g * a, g * b
    return [a, 0, 0, b, 0, a, b, 0, 0, b, a, 0, b, 0, 0, a]


def _yypow(t: Any, s: Any) -> Entries:
    g, a, b = _turn(t, s)
    a, b = g * a, g * b
    return [a, 0, 0, -b, 0, a, b, 0, 0, b, a, 0, -b, 0, 0, a]


def _swappow(t: Any, s: Any) -> Entries:
    g, a, b = _turn(t, s)
    return [g, 0, 0, 0, 0, g * a, g * b, 0, 0, g * b, g * a, 0, 0, 0, 0, g]


def _iswappow(t: Any, s: Any) -> Entries:
    g = _turn(t, s)[0]
    c, m = g * np.cos(np.pi * t / 2), 1j * g * np.sin(np.pi * t / 2)
    return [g, 0, 0, 0, 0, c, m, 0, 0, m, c, 0, 0, 0, 0, g]


def _phasedxpow(p: Any, t: Any, s: Any) -> Entries:
    g, a, b = _turn(t, s)
    return [g * a, g * b * _phase(-np.pi * p), g * b * _phase(np.pi * p), g * a]


def _fsim(theta: Any, phi: Any) -> Entries:
    c, m = np.cos(theta), -1j * np.sin(theta)
    return [1, 0, 0, 0, 0, c, m, 0, 0, m, c, 0, 0, 0, 0, _phase(-phi)]


def _t_negated(t: Any, s: Any) -> tuple[Any, ...]:
    return (-t, s)


_POW: dict[str, Any] = {"parameters": "exponent shift", "inverse_parameters": _t_negated}
_row("xpow", 1, "cccc", _xpow, mixes=(0,), cirq="XPowGate", factors=_turned("rx"), **_POW)
_row("ypow", 1, "cccc", _ypow, mixes=(0,), cirq="YPowGate", factors=_turned("ry"), **_POW)
_row(
    "zpow",
    1,
    "cc",
    lambda t, s: [_turn(t, s)[0], _phase(np.pi * t * (1 + s))],
    reads=(0b1,),
    cirq="ZPowGate",
    factors=_turned_z("p"),
    **_POW,
)
_row("hpow", 1, "cccc", _hpow, mixes=(0,), cirq="HPowGate", **_POW)
_row("xxpow", 2, "c00c 0cc0 0cc0 c00c", _xxpow, mixes=(0, 1), cirq="XXPowGate", factors=_turned("rxx"), **_POW)
_row("yypow", 2, "c00c 0cc0 0cc0 c00c", _yypow, mixes=(0, 1), cirq="YYPowGate", factors=_turned("ryy"), **_POW)
_row(
    "zzpow",
    2,
    "cc",
    lambda t, s: [_turn(t, s)[0], _phase(np.pi * t * (1 + s))],
    reads=(0b11,),
    cirq="ZZPowGate",
    factors=_turned_z("parity_phase"),
    **_POW,
)
_row("swappow", 2, "c000 0cc0 0cc0 000c", _swappow, mixes=(0, 1), cirq="SwapPowGate", **_POW)
_row("iswappow", 2, "c000 0cc0 0cc0 000c", _iswappow, mixes=(0, 1), cirq="ISwapPowGate", **_POW)
_row(
    "phasedxpow",
    1,
    "cccc",
    _phasedxpow,
    mixes=(0,),
    parameters="phase_exponent exponent shift",
    inverse_parameters=lambda p, t, s: (p, -t, s),
    cirq="PhasedXPowGate",
    factors=_phased_x,
)
_row("fsim", 2, "1000 0ri0 0ir0 000c", _fsim, mixes=(0, 1), parameters="theta phi", negated=True, cirq="FSimGate")

# --- controlled --------------------------------------------------------------------------------------------------

_CIRQ = {"x": "CNOT", "z": "CZ", "swap": "CSWAP"}
for _name in ("x", "y", "z", "h", "s", "sdg", "sx", "p", "rx", "ry", "rz", "u1", "u3", "swap"):
    _controlled(f"c{_name}", _name, qiskit=f"c{_name}", cirq=_CIRQ.get(_name))
_controlled("csxdg", "sxdg", qiskit=None)
_controlled("ccx", "x", 2, qiskit="ccx", cirq="CCX")
_controlled("ccz", "z", 2, qiskit="ccz", cirq="CCZ")
_controlled("cccx", "x", 3, qiskit="c3x")
_controlled("ccccx", "x", 4, qiskit="c4x")
_controlled("cccsx", "sx", 3, qiskit="c3sx")
_controlled("cccsxdg", "sxdg", 3, qiskit=None)
for _name in ("xpow", "zpow"):
    _controlled(f"c{_name}", _name, cirq={"xpow": "CXPowGate", "zpow": "CZPowGate"}[_name], qiskit=None)
    _controlled(f"cc{_name}", _name, 2, cirq={"xpow": "CCXPowGate", "zpow": "CCZPowGate"}[_name], qiskit=None)


def _cu(theta: Any, phi: Any, lam: Any, gamma: Any) -> Entries:
    return [entry * _phase(gamma) for entry in _u(theta, phi, lam)]


_row(
    "cu",
    2,
    "cccc",
    _cu,
    mixes=(1,),
    when=(0,),
    parameters="theta phi lam gamma",
    inverse_parameters=lambda theta, phi, lam, gamma: (-theta, -lam, -phi, -gamma),
    qiskit="cu",
)
