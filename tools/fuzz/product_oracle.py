"""The exact oracle of wide circuits: a product of branching oracles, each of some wires and classical bits.

Wires are joined by what acts on them together, and a wire is left out as soon as its amplitudes say that it is |0⟩. So
nothing is read from a circuit's structure but which wires and bits an instruction names, and no code is shared with the
engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tools.fuzz.numbers import Matrix
from tools.fuzz.oracle import NOTHING, Oracle, narrow

Letters = Mapping[int, str]
"""A product of Pauli matrices: the letters of the wires that it acts on."""

Misread = tuple[Sequence[int], NDArray[np.float64]]
"""Classical bits that are misread together, and P(read | true)."""


@dataclass(eq=False, slots=True)
class Factor:
    """Some wires and classical bits that may depend on each other, in an oracle of their own.

    oracle: its wire k is ``wires[k]``; its classical bits have the circuit's numbers.
    """

    oracle: Oracle
    wires: list[int] = field(default_factory=list)
    bits: set[int] = field(default_factory=set)

    def local(self, wires: Iterable[int]) -> list[int]:
        """Return the oracle's numbers of wires."""
        return [self.wires.index(wire) for wire in wires]

    def join(self, other: Factor) -> None:
        """Take in the wires and bits of another factor."""
        mine, theirs = self.oracle.branches, other.oracle.branches
        self.oracle.branches = {a | b: np.kron(theirs[b], mine[a]) for a, b in product(mine, theirs)}
        self.wires += other.wires
        self.bits |= other.bits

    def leave_out(self) -> None:
        """Leave out the wires that are |0⟩."""
        for k in reversed(range(len(self.wires))):
            halves = {bits: _halves(state, k) for bits, state in self.oracle.branches.items()}
            if all(np.vdot(one, one).real < NOTHING for _, one in halves.values()):
                self.oracle.branches = {bits: narrow(zero) for bits, (zero, _) in halves.items()}
                del self.wires[k]

    def forget(self, clbit: int) -> None:
        """Add up the branches that differ in a classical bit alone, which something else writes."""
        found: dict[int, list[Matrix]] = {}
        for bits, state in self.oracle.branches.items():
            found.setdefault(bits & ~(1 << clbit), []).append(state)
        self.oracle.branches = {bits: narrow(np.concatenate(every, axis=1)) for bits, every in found.items()}
        self.bits.discard(clbit)


def _halves(state: Matrix, wire: int) -> tuple[Matrix, Matrix]:
    """Return the amplitudes [2^(n − 1), m] of a state [2^n, m] in which a wire is 0, and those in which it is 1."""
    tensor = state.reshape(-1, 2, 1 << wire, state.shape[1])
    zero, one = (tensor[:, value].reshape(-1, state.shape[1]) for value in (0, 1))
    return zero, one


class ProductOracle(Oracle):
    """Reads a program as the branching oracle does, on any number of wires, of which few depend on each other.

    values: label -> the mean of what is saved there.
    """

    def __init__(self, misread: Mapping[int, NDArray[np.float64]] | None = None) -> None:
        super().__init__(0, misread)
        self.factors: list[Factor] = []
        self.values: dict[str, NDArray[np.float64]] = {}

    # --- what programs call beside gates ------------------------------------------------------------------------------

    def channel(self, kraus: Matrix, wires: Sequence[int]) -> Oracle:
        """Apply a channel."""
        factor = self._factor(wires)
        factor.oracle.channel(kraus, factor.local(wires))
        factor.leave_out()
        return self

    def measure(self, wires: Sequence[int], clbits: Sequence[int]) -> Oracle:
        """Measure wires into classical bits, one after the other."""
        for wire, clbit in zip(wires, clbits, strict=True):
            factor = self._factor([wire], [clbit] if self._conditions else [])
            for other in self.factors:
                if other is not factor and clbit in other.bits:
                    other.forget(clbit)
            factor.oracle.measure(factor.local([wire]), [clbit])
            factor.bits.add(clbit)
            factor.leave_out()
        return self

    def save(
        self,
        label: str = "statevector",
        what: str = "",
        *,
        wires: Sequence[int] = (),
        observable: Mapping[str, float] | None = None,
    ) -> Oracle:
        """Keep the probabilities of some wires, or an expectation value."""
        if what == "expectation_value":
            sums = [(c, dict(zip(wires, letters, strict=True))) for letters, c in (observable or {}).items()]
            self.values[label] = np.array(self.mean(sums))
            return self
        assert what == "probabilities"
        size = 1 << len(wires)
        found = np.zeros(size)
        for mask in range(size):
            letters = {wire: "Z" for k, wire in enumerate(wires) if mask >> k & 1}
            signs = np.array([1 - 2 * ((value & mask).bit_count() & 1) for value in range(size)])
            found += signs * self.mean([(1.0, letters)]) / size
        self.values[label] = found
        return self

    # --- what checks ask ----------------------------------------------------------------------------------------------

    def mean(self, terms: Iterable[tuple[float, Letters]]) -> float:
        """Return the expectation value of a Pauli sum."""
        total = 0.0
        for coefficient, letters in terms:
            held = {wire for factor in self.factors for wire in factor.wires}
            if any(letter in "XY" for wire, letter in letters.items() if wire not in held):
                continue  # Z and I of |0⟩ are 1, X and Y are 0
            value = coefficient
            for factor in self.factors:
                text = "".join(letters.get(wire, "I") for wire in factor.wires)
                value *= factor.oracle.expectation({text: 1.0}).real
            total += value
        return total

    def distributions(self, groups: Sequence[Misread] = ()) -> list[tuple[tuple[int, ...], dict[int, float]]]:
        """Return bits that may depend on each other with the probability of each value; values have all bits' places.

        groups: bits that are misread together at the end.
        """
        found = [(factor.bits, factor.oracle.distribution()) for factor in self.factors if factor.bits]
        for clbits, matrix in groups:
            joined, bits, rest = {0: 1.0}, set(clbits), []
            for own, distribution in found:
                if own.isdisjoint(clbits):
                    rest.append((own, distribution))
                else:
                    joined, bits = times(joined, distribution), bits | own
            reader = Oracle(0)
            reader.branches = {value: np.array([[np.sqrt(p)]]) for value, p in joined.items()}
            found = [*rest, (bits, reader.distribution([(clbits, matrix)]))]
        return [(tuple(sorted(bits)), distribution) for bits, distribution in found]

    def distribution(self, misread: Sequence[Misread] = ()) -> dict[int, float]:
        """Return the probability of each value of all classical bits, where they are few."""
        found = {0: 1.0}
        for _, distribution in self.distributions(misread):
            found = times(found, distribution)
        return found

    # --- inside -------------------------------------------------------------------------------------------------------

    def _apply(
        self, matrix: Matrix, wires: Sequence[int], controls: Sequence[int] = (), values: int | None = None
    ) -> Oracle:
        if not (wires or controls):
            return self  # a phase of the whole state
        factor = self._factor([*wires, *controls])
        factor.oracle._apply(matrix, factor.local(wires), factor.local(controls), values)
        factor.leave_out()
        return self

    def _factor(self, wires: Iterable[int], bits: Iterable[int] = ()) -> Factor:
        """Return the factor of some wires and bits, and of those that conditions read; new wires are |0⟩ in it."""
        on, read = set(wires), {*bits, *(bit for read, _ in self._conditions for bit in read)}
        joined = Factor(Oracle(0, self.misread))
        joined.oracle._conditions = self._conditions
        for factor in self._of(on, read):
            joined.join(factor)
        for wire in sorted(on.difference(joined.wires)):
            zero = Factor(Oracle(1), [wire])
            joined.join(zero)
        kept = [factor for factor in self.factors if factor.bits.isdisjoint(joined.bits)]
        self.factors = [factor for factor in kept if not set(factor.wires) & set(joined.wires)]
        self.factors.append(joined)
        return joined

    def _of(self, wires: set[int], bits: set[int]) -> Iterator[Factor]:
        return (factor for factor in self.factors if wires & set(factor.wires) or bits & factor.bits)


def times(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    """Return the distribution of independent bits together."""
    return {a | b: p * q for (a, p), (b, q) in product(one.items(), other.items())}
