"""Observables behind Clifford gates, as they are before these: ⟨Cψ|P|Cψ⟩ = ⟨ψ|C†PC|ψ⟩.

A Pauli string stays a Pauli string, so an operator at the end of a circuit costs nothing where expectation values are
all that is asked for. The rules are those of tableaus (Aaronson and Gottesman, Phys. Rev. A 70, 052328, 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.circuit.ops import Op, wires_of

Masks = NDArray[np.int64]


class _Strings:
    """Pauli strings with signs. x, z: masks of wires, int64; negative: whether each has a minus sign."""

    def __init__(self, x: Masks, z: Masks) -> None:
        self.x, self.z, self.negative = x, z, np.zeros(len(x), dtype=np.int64)

    def pass_gate(self, gate: Op) -> None:
        """Replace each string P by G†PG for a gate H, S, S†, X, Z, CX, CZ or SWAP, or S, S† or Z of a parity."""
        wires = (*wires_of(gate.when.mask), *gate.mixes, *(wire for mask in gate.reads for wire in wires_of(mask)))
        x, z = ([of >> wire & 1 for wire in wires] for of in (self.x, self.z))
        match gate.name:
            case "h":
                self.negative ^= x[0] & z[0]
                self._flip(wires[0], x[0] ^ z[0], x[0] ^ z[0])
            case "s" | "sdg" | "z":
                self._turn(gate.reads[0] if gate.reads else gate.when.mask, {"s": -1, "sdg": 1, "z": 2}[gate.name])
            case "x":
                self.negative ^= z[0]
            case "cx":
                self.negative ^= x[0] & z[1] & ~(x[1] ^ z[0])
                self._flip(wires[1], x[0], 0)
                self._flip(wires[0], 0, z[1])
            case "cz":
                self.negative ^= x[0] & x[1] & (z[0] ^ z[1])
                self._flip(wires[0], 0, x[1])
                self._flip(wires[1], 0, x[0])
            case "swap":
                self._flip(wires[0], x[0] ^ x[1], z[0] ^ z[1])
                self._flip(wires[1], x[0] ^ x[1], z[0] ^ z[1])
            case other:
                raise AssertionError(f"{other} is none of the gates of which Clifford operators are written")

    def _turn(self, parity: int, power: int) -> None:
        """Pass a phase of a parity: strings that do not commute with its Z string are multiplied by it and i^power."""
        odd, z = np.bitwise_count(self.x & parity).astype(np.int64) & 1, self.z
        self.z = z ^ (odd * parity if power & 1 else 0)
        power_of_each = odd * power + np.bitwise_count(self.x & z).astype(np.int64) - np.bitwise_count(self.x & self.z)
        self.negative ^= power_of_each >> 1 & 1

    def _flip(self, wire: int, x: Masks | int, z: Masks | int) -> None:
        self.x = self.x ^ (x << wire)
        self.z = self.z ^ (z << wire)


@lru_cache(maxsize=64)
def before(gates: tuple[Op, ...], observables: tuple[PauliSum, ...]) -> tuple[PauliSum, ...]:
    """Return observables whose values before some gates are those of the given ones behind them.

    gates: H, S, S†, X, Z, CX, CZ and SWAP, and S, S† and Z of parities, on at most 62 wires, in order.
    """
    terms = [term for one in observables for term in one.terms]
    found = _Strings(*(np.array([getattr(term, name) for term in terms], dtype=np.int64) for name in ("x", "z")))
    for gate in reversed(gates):
        found.pass_gate(gate)
    made = iter(_terms(found, terms))
    return tuple(PauliSum(tuple(next(made) for _ in one.terms)) for one in observables)


def _terms(found: _Strings, of: Sequence[PauliString]) -> list[PauliString]:
    signs = (1 - 2 * (found.negative & 1)).tolist()
    rows = zip(found.x.tolist(), found.z.tolist(), signs, of, strict=True)
    return [PauliString(x, z, sign * term.coefficient) for x, z, sign, term in rows]
