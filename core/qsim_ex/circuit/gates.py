"""The gate table: one row per gate, read by the builder of circuits, the adapters of the frameworks and the tests.

To add a gate, add its row: the adapters of Qiskit and Cirq find it by the columns `qiskit` and `cirq`. The columns:

    mixes     arguments between whose 0 and 1 the gate moves amplitude, least significant first
    reads     masks of arguments whose parities select a block (the gate is diagonal in them)
    when      arguments that must be 1 (controls); a phase gate is a number "when" its qubit is 1
    pattern   the class of each entry, from the gate's definition and never from its numbers
    matrix    the entries, flat in C order over [2^reads, 2^mixes, 2^mixes], for arrays of parameters
    qiskit    the name of the gate in Qiskit's `get_standard_gate_name_mapping`, if it is there
    cirq      the gates of Cirq that are this gate: for each of their classes, which of its gates
    factors   a product of cheaper gates that is the same gate, where there is one: phases merge with their neighbours
              into tables, global phases into one number, and what remains is real (half the work of a complex matrix)
    derivative  of a row with parameters, for each of them the derivatives of the entries: if it is not given, those of a
              matrix whose entries have one frequency in each parameter, which is usual for parameters of its name
    of        the row that this one is with controls, if it is one
    controls  how many controls that are; they are the first arguments

Angles are in radians; exponents (the ``*pow`` rows) are in half turns as in Cirq. Matrices follow Qiskit's circuit
library and Cirq's gate documentation, with argument 0 the least significant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from qsim_ex.circuit import factors, powers, rotations
from qsim_ex.circuit.cirq_gates import Attributes, CirqGates, OnePower, OneShift, Powers
from qsim_ex.circuit.derivatives import Derivative, by_shifts, of_phases, of_power, usual
from qsim_ex.circuit.gate import Entries, Factor, Gate, constantly
from qsim_ex.circuit.ops import pattern
from qsim_ex.circuit.rotations import phases
from qsim_ex.errors import UnknownInstruction, nearest

_i = 1j
_r = float(np.sqrt(0.5))
_w = complex(_r, _r)


GATES: dict[str, Gate] = {}
"""The rows by name."""


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
    qiskit: str | None = None,
    cirq: Sequence[CirqGates] = (),
    factors: Callable[..., tuple[Factor, ...]] | None = None,
    derivative: Derivative | None = None,
) -> None:
    assert name not in GATES
    if derivative is None and callable(matrix):
        derivative = usual(matrix, parameters.split())
    GATES[name] = Gate(
        factors=factors,
        derivative=derivative,
        name=name,
        qubits=qubits,
        mixes=mixes,
        reads=reads,
        when=when,
        pattern=pattern(entries.replace(" ", "")),
        matrix=matrix if callable(matrix) else constantly(matrix),
        parameters=tuple(parameters.split()),
        qiskit=qiskit,
        cirq=tuple(cirq),
    )


WHOLE_UNDER_CONTROLS = frozenset({"u", "u2", "u3", "phasedxpow"})
"""Rows that stay one matrix under controls: each of their factors would need the controls, which costs more."""


def _controlled(
    name: str, of: str, controls: int = 1, *, qiskit: str | None = None, cirq: Sequence[CirqGates] = ()
) -> None:
    """Add the row of the gate `of` under `controls` controls, which are its first arguments."""
    assert name not in GATES
    base = GATES[of]
    GATES[name] = Gate(
        name=name,
        qubits=base.qubits + controls,
        mixes=tuple(a + controls for a in base.mixes),
        reads=tuple(mask << controls for mask in base.reads),
        when=(*range(controls), *(a + controls for a in base.when)),
        pattern=base.pattern,
        matrix=base.matrix,
        parameters=base.parameters,
        qiskit=qiskit,
        cirq=tuple(cirq),
        factors=None if base.name in WHOLE_UNDER_CONTROLS else base.factors,
        derivative=base.derivative,
        controls=controls,
        of=of,
    )


# --- one qubit ---------------------------------------------------------------------------------------------------

_row("global_phase", 0, "c", lambda a: [phases(a)], parameters="angle", qiskit="global_phase")
_row("x", 1, "0110", [0, 1, 1, 0], mixes=(0,), qiskit="x", cirq=[OnePower("XPowGate", 1)])
_row("y", 1, "0Jj0", [0, -_i, _i, 0], mixes=(0,), qiskit="y", cirq=[OnePower("YPowGate", 1)])
_row("z", 1, "-", [-1], when=(0,), qiskit="z", cirq=[OnePower("ZPowGate", 1)])
_row("h", 1, "hhhH", [_r, _r, _r, -_r], mixes=(0,), qiskit="h", cirq=[OnePower("HPowGate", 1)])
_row("s", 1, "j", [_i], when=(0,), qiskit="s", cirq=[OnePower("ZPowGate", 0.5)])
_row("sdg", 1, "J", [-_i], when=(0,), qiskit="sdg", cirq=[OnePower("ZPowGate", -0.5)])
_row("t", 1, "w", [_w], when=(0,), qiskit="t", cirq=[OnePower("ZPowGate", 0.25)])
_row("tdg", 1, "W", [_w.conjugate()], when=(0,), qiskit="tdg", cirq=[OnePower("ZPowGate", -0.25)])


_row("root_x", 1, "hKKh", [_r, -_i * _r, -_i * _r, _r], mixes=(0,))
_row("root_xdg", 1, "hkkh", [_r, _i * _r, _i * _r, _r], mixes=(0,))

_SX = [0.5 + 0.5j, 0.5 - 0.5j, 0.5 - 0.5j, 0.5 + 0.5j]
_row("sx", 1, "cccc", _SX, mixes=(0,), qiskit="sx", factors=factors.up_to_phase("root_x", np.pi / 4))
_row(
    "sxdg",
    1,
    "cccc",
    np.conj(_SX).tolist(),
    mixes=(0,),
    qiskit="sxdg",
    factors=factors.up_to_phase("root_xdg", -np.pi / 4),
)
_row("p", 1, "c", lambda a: [phases(a)], when=(0,), parameters="lam", qiskit="p", cirq=[OneShift("ZPowGate", 0)])
_row("u1", 1, "c", lambda a: [phases(a)], when=(0,), parameters="lam", qiskit="u1")


_row("rx", 1, "riir", rotations.rx, mixes=(0,), parameters="theta", qiskit="rx", cirq=[OneShift("XPowGate", -0.5)])
_row("ry", 1, "rrrr", rotations.ry, mixes=(0,), parameters="theta", qiskit="ry", cirq=[OneShift("YPowGate", -0.5)])
_row(
    "rz",
    1,
    "cc",
    rotations.rz,
    reads=(0b1,),
    parameters="theta",
    qiskit="rz",
    cirq=[OneShift("ZPowGate", -0.5)],
    factors=factors.phases_by_parity("p"),
)
_row("r", 1, "rccr", rotations.r, mixes=(0,), parameters="theta phi", qiskit="r")
_row("u", 1, "rccc", rotations.u, mixes=(0,), parameters="theta phi lam", qiskit="u", factors=factors.euler)
_row("u3", 1, "rccc", rotations.u, mixes=(0,), parameters="theta phi lam", qiskit="u3", factors=factors.euler)
_row(
    "u2",
    1,
    "rccc",
    lambda phi, lam: rotations.u(np.pi / 2 + 0 * phi, phi, lam),
    mixes=(0,),
    parameters="phi lam",
    factors=lambda phi, lam: factors.euler(np.pi / 2, phi, lam),
    qiskit="u2",
)

# In place of P and RZ by quarter and eighth turns: see `quarters`.
_row("p_3_eighths", 1, "v", [_i * _w], when=(0,))
_row("p_5_eighths", 1, "V", [-_w], when=(0,))
_EIGHTHS = ("", "t", "s", "p_3_eighths", "z", "p_5_eighths", "sdg", "tdg")
for _k in range(1, 16):
    if _k != 8:
        _entries, _factors = (
            list(map(complex, rotations.rz(np.pi / 4 * _k))),
            factors.up_to_phase(_EIGHTHS[_k % 8], -np.pi / 8 * _k),
        )
        _name = f"rz_{_k}_eighths" if _k % 2 else f"rz_{_k // 2}_quarters"
        _row(_name, 1, "cc", _entries, reads=(0b1,), factors=_factors)

# --- two qubits --------------------------------------------------------------------------------------------------

_SWAP = [1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1]
_row("swap", 2, "1000 0010 0100 0001", _SWAP, mixes=(0, 1), qiskit="swap", cirq=[OnePower("SwapPowGate", 1)])
_ISWAP = [1, 0, 0, 0, 0, 0, _i, 0, 0, _i, 0, 0, 0, 0, 0, 1]
_row("iswap", 2, "1000 00i0 0i00 0001", _ISWAP, mixes=(0, 1), qiskit="iswap", cirq=[OnePower("ISwapPowGate", 1)])
_row("iswapdg", 2, "1000 00i0 0i00 0001", np.conj(_ISWAP).tolist(), mixes=(0, 1), cirq=[OnePower("ISwapPowGate", -1)])
_DCX = [1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0]
_row("dcx", 2, "1000 0001 0100 0010", _DCX, mixes=(0, 1), qiskit="dcx")
_row("dcxdg", 2, "1000 0010 0001 0100", np.reshape(_DCX, (4, 4)).T.ravel().tolist(), mixes=(0, 1))
_ECR = (_r * np.array([0, 1, 0, _i, 1, 0, -_i, 0, 0, _i, 0, 1, -_i, 0, 1, 0])).tolist()
_row("ecr", 2, "0r0i r0i0 0i0r i0r0", _ECR, mixes=(0, 1), qiskit="ecr")


_PAIRS = "r00i 0ri0 0ir0 i00r"
_row("parity_phase", 2, "1c", lambda a: [1, phases(a)], reads=(0b11,), parameters="lam")
_row(
    "rxx", 2, _PAIRS, rotations.rxx, mixes=(0, 1), parameters="theta", qiskit="rxx", cirq=[OneShift("XXPowGate", -0.5)]
)
_row(
    "ryy", 2, _PAIRS, rotations.ryy, mixes=(0, 1), parameters="theta", qiskit="ryy", cirq=[OneShift("YYPowGate", -0.5)]
)
_row(
    "rzz",
    2,
    "cc",
    rotations.rz,
    reads=(0b11,),
    parameters="theta",
    qiskit="rzz",
    cirq=[OneShift("ZZPowGate", -0.5)],
    factors=factors.phases_by_parity("parity_phase"),
)
_row(
    "rzx",
    2,
    "riir riir",
    lambda a: [*rotations.rx(a), *rotations.rx(-a)],
    mixes=(1,),
    reads=(0b1,),
    parameters="theta",
    qiskit="rzx",
)
_row(
    "xx_minus_yy",
    2,
    "r00c 0100 0010 c00r",
    rotations.xx_minus_yy,
    mixes=(0, 1),
    parameters="theta beta",
    qiskit="xx_minus_yy",
)
_row(
    "xx_plus_yy",
    2,
    "1000 0rc0 0cr0 0001",
    rotations.xx_plus_yy,
    mixes=(0, 1),
    parameters="theta beta",
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


def _power(
    name: str,
    qubits: int,
    entries: str,
    matrix: Callable[..., Entries],
    cirq: CirqGates,
    *,
    mixes: tuple[int, ...] = (),
    reads: tuple[int, ...] = (),
    factors: Callable[..., tuple[Factor, ...]] | None = None,
    derivative: Derivative | None = None,
) -> None:
    """Add the row of a power with an exponent and a shift."""
    _row(
        *(name, qubits, entries, matrix),
        mixes=mixes,
        reads=reads,
        parameters="exponent shift",
        cirq=[cirq],
        factors=factors,
        derivative=derivative,
    )


_power("xpow", 1, "cccc", powers.xpow, Powers("XPowGate", ("X", "Rx")), mixes=(0,), factors=factors.turned("rx"))
_power("ypow", 1, "cccc", powers.ypow, Powers("YPowGate", ("Y", "Ry")), mixes=(0,), factors=factors.turned("ry"))
_power("zpow", 1, "cc", powers.zpow, Powers("ZPowGate", ("Z", "Rz")), reads=(0b1,), factors=factors.turned_z("p"))
_power("hpow", 1, "cccc", powers.hpow, Powers("HPowGate"), mixes=(0,))
_power(
    "xxpow",
    2,
    "c00c 0cc0 0cc0 c00c",
    powers.xxpow,
    Powers("XXPowGate", ("MSGate",)),
    mixes=(0, 1),
    factors=factors.turned("rxx"),
)
_power(
    "yypow", 2, "c00c 0cc0 0cc0 c00c", powers.yypow, Powers("YYPowGate"), mixes=(0, 1), factors=factors.turned("ryy")
)
_power("zzpow", 2, "cc", powers.zpow, Powers("ZZPowGate"), reads=(0b11,), factors=factors.turned_z("parity_phase"))
_row(
    "hop",
    2,
    "1000 0ri0 0ir0 0001",
    lambda theta: [*powers.fsim(theta, 0 * theta)[:-1], 1],
    mixes=(0, 1),
    parameters="theta",
    cirq=[OneShift("ISwapPowGate", 0, (-np.pi / 2,))],
    derivative=by_shifts(lambda theta: powers.fsim(theta, 0 * theta), 1),
)
_power("swappow", 2, "c000 0cc0 0cc0 000c", powers.swappow, Powers("SwapPowGate"), mixes=(0, 1), factors=factors.hops)
_power(
    "iswappow",
    2,
    "c000 0cc0 0cc0 000c",
    powers.iswappow,
    Powers("ISwapPowGate"),
    mixes=(0, 1),
    factors=lambda t, s: (Factor("hop", (-np.pi / 2 * t,)), Factor("global_phase", (np.pi * t * s,))),
    derivative=of_power(powers.iswappow, np.pi / 2),
)
_row(
    "phasedxpow",
    1,
    "cccc",
    powers.phasedxpow,
    mixes=(0,),
    parameters="phase_exponent exponent shift",
    cirq=[Attributes("PhasedXPowGate", ("phase_exponent", "exponent", "global_shift"))],
    factors=factors.phased_x,
)
_row(
    "fsim",
    2,
    "1000 0ri0 0ir0 000c",
    powers.fsim,
    mixes=(0, 1),
    parameters="theta phi",
    cirq=[Attributes("FSimGate", ("theta", "phi"))],
    derivative=by_shifts(powers.fsim, 1, 1),
)
_row(
    "phasedfsim",
    2,
    "1000 0cc0 0cc0 000c",
    powers.phasedfsim,
    mixes=(0, 1),
    parameters="theta zeta chi gamma phi",
    cirq=[Attributes("PhasedFSimGate", ("theta", "zeta", "chi", "gamma", "phi"))],
    derivative=of_phases(powers.phasedfsim, 3, powers.FSIM_TURNS, by_shifts(powers.phasedfsim, 1, 1, 1, 1, 1)),
)
_row(
    "phasediswappow",
    2,
    "c000 0cc0 0cc0 000c",
    powers.phasediswappow,
    mixes=(0, 1),
    parameters="phase_exponent exponent shift",
    cirq=[Attributes("PhasedISwapPowGate", ("phase_exponent", "exponent", "global_shift"))],
    derivative=of_power(powers.phasediswappow, 2 * np.pi, np.pi / 2),
    factors=lambda p, t, s: (
        Factor("xx_plus_yy", (-np.pi * t, 2 * np.pi * p)),
        Factor("global_phase", (np.pi * t * s,)),
    ),
)

# --- controlled --------------------------------------------------------------------------------------------------

_CIRQ: dict[str, CirqGates] = {
    "x": OnePower("CXPowGate", 1),
    "y": OnePower("CYPowGate", 1),
    "z": OnePower("CZPowGate", 1),
    "swap": Attributes("CSwapGate"),
}
for _name in ("x", "y", "z", "h", "s", "sdg", "sx", "p", "rx", "ry", "rz", "u1", "u3", "swap"):
    _controlled(f"c{_name}", _name, qiskit=f"c{_name}", cirq=[_CIRQ[_name]] if _name in _CIRQ else [])
_controlled("csxdg", "sxdg")
_controlled("ccx", "x", 2, qiskit="ccx", cirq=[OnePower("CCXPowGate", 1)])
_controlled("ccz", "z", 2, qiskit="ccz", cirq=[OnePower("CCZPowGate", 1)])
_controlled("cccx", "x", 3)
_controlled("ccccx", "x", 4)
_controlled("cccsx", "sx", 3, qiskit="c3sx")
_controlled("cccsxdg", "sxdg", 3)
for _axis in "xyz":
    _controlled(f"c{_axis}pow", f"{_axis}pow", cirq=[Powers(f"C{_axis.upper()}PowGate")])
    _controlled(f"cc{_axis}pow", f"{_axis}pow", 2, cirq=[Powers(f"CC{_axis.upper()}PowGate")])


_row("cu", 2, "cccc", rotations.cu, mixes=(1,), when=(0,), parameters="theta phi lam gamma", qiskit="cu")

# --- names elsewhere --------------------------------------------------------------------------------------------


def unknown(name: str) -> UnknownInstruction:
    """Return the error of a name that is in no row of the gate table."""
    written = str(name).lower()
    meant = _OTHER_NAMES.get(written, written)
    like = f" Did you mean {meant!r}?" if meant in GATES else nearest(written, GATES)
    return UnknownInstruction(
        f"expected a gate of the gate table, got {name!r}; take one of the table, or append a matrix.{like}"
    )


_OTHER_NAMES = {
    "cnot": "cx",
    "toffoli": "ccx",
    "fredkin": "cswap",
    "hadamard": "h",
    "not": "x",
    "phase": "p",
    "cphase": "cp",
    "identity": "id",
    "i": "id",
    "u1": "p",
    "cu1": "cp",
    "u3": "u",
}
"""Names of gates elsewhere, and those of the table."""
