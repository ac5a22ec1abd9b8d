"""Values of stabilizer states at points of a circuit: expectation values, probabilities of few wires, and tableaus.

Which Pauli strings have a certain sign in a state, given all outcomes before, does not depend on the outcomes: these
change signs alone. So one reference run says which strings they are. Measuring one of them disturbs nothing, and tells
its sign in each shot; all other strings have the mean 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.saves import Save, SaveValues, What
from qsim_ex.stabilizer.cliffords import Pauli
from qsim_ex.stabilizer.gates import pauli_string, stim_module
from qsim_ex.stabilizer.parities import Parity

if TYPE_CHECKING:
    import stim

KEPT: tuple[What, ...] = ("expectation_value", "expectation_value_variance", "probabilities", "stabilizer")
"""The kinds of values that stabilizer states have here."""

MOST_WIRES = 10
"""The most wires of saved probabilities, which are sums over the means of all products of their Z."""

Samples = NDArray[np.uint8]


def refusal(save: Save, wires: int) -> str | None:
    """Return why a value of a circuit of some wires is not kept here; None if it is."""
    if save.what not in KEPT:
        return f"stabilizer states have no {save.what.replace('_', ' ')} here; save {', '.join(KEPT)}"
    if save.what == "probabilities" and (count := len(save.depends_on(wires))) > MOST_WIRES:
        return f"expected the probabilities of at most {MOST_WIRES} wires, got {count}; save those of fewer"
    return None


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of ±1, each with a factor: the constant, and for each record the factor that it may turn round."""

    constant: complex
    factors: Mapping[int, complex]

    def of(self, samples: Samples) -> NDArray[np.complex128]:
        """Return the sum in each shot; samples: uint8 [records, shots]."""
        found = np.full(samples.shape[1], self.constant, dtype=np.complex128)
        for record, factor in self.factors.items():
            found += factor * (1 - 2.0 * samples[record])
        return found


@dataclass(frozen=True, eq=False, slots=True)
class Populations:
    """The probabilities of all values of k wires: those that pass some checks of parity are equally likely.

    parities: which checks a value of the wires has odd parity in, as bits of a number, [2^k]. expected: which have odd
    parity in every shot. records: of each check the record that tells its parity in a shot; none if nothing is random.
    """

    parities: NDArray[np.int64]
    expected: int
    records: tuple[int, ...]
    each: float

    def of(self, samples: Samples) -> NDArray[np.float64]:
        """Return the probabilities in each shot, [shots, 2^k]; samples: uint8 [records, shots]."""
        wanted = np.full(samples.shape[1], self.expected)
        for check, record in enumerate(self.records):
            wanted ^= samples[record].astype(np.int64) << check
        found: NDArray[np.float64] = (self.parities == wanted[:, None]) * self.each
        return found


@dataclass(frozen=True, eq=False, slots=True)
class SavedPoint:
    """What is saved at a point. records: how many records it makes. memory: the classical bits there, if it asks.

    sums: of an expectation value the value, of a variance also the mean of the square. populations: of probabilities.
    tableau: of a stabilizer save uint8 [2n, 2n + 1], and signs: the records of the signs of its lower half, () if they
    are certain.
    """

    save: Save
    records: int
    memory: tuple[Parity, ...]
    sums: tuple[Sum, ...] = ()
    tableau: NDArray[np.uint8] | None = None
    signs: tuple[int, ...] = ()
    populations: Populations | None = None

    @property
    def reads(self) -> tuple[int, ...]:
        """The records on which the value of a shot depends."""
        of_populations = self.populations.records if self.populations is not None else ()
        return (*dict.fromkeys(record for one in self.sums for record in one.factors), *self.signs, *of_populations)

    def of(self, samples: Samples) -> SaveValues:
        """Return the value in each shot, [shots, …]; samples: uint8 [records, shots]."""
        if self.tableau is not None:
            found = np.repeat(self.tableau[None], samples.shape[1], axis=0)
            half = len(self.tableau) // 2
            if self.signs:
                found[:, half:, -1] = samples[list(self.signs)].T
            return found
        if self.populations is not None:
            return self.populations.of(samples)
        mean = self.sums[0].of(samples)
        if len(self.sums) == 1:
            return mean
        return np.stack([mean.real, self.sums[1].of(samples).real - mean.real**2], axis=1)


class Values:
    """The values of one circuit, whose lines for Stim are written meanwhile.

    wires: the number of wires. random: whether something is random before a value; otherwise signs are the same in all
    shots. saved: the points so far.
    """

    def __init__(self, lines: list[str], wires: int, random: bool) -> None:
        self.saved: list[SavedPoint] = []
        self._lines = lines
        self._wires = wires
        self._random = random
        self._state: stim.TableauSimulator | None = None
        self._done = 0  # lines that the reference run has done

    def save(self, save: Save, records: int, memory: tuple[Parity, ...]) -> SavedPoint:
        """Save a value at this point. records: how many there are before. memory: the classical bits, if it asks."""
        if save.what == "stabilizer":
            found = self._tableau(save, records, memory)
        elif save.what == "probabilities":
            found = self._populations(save, records, memory)
        else:
            assert save.observable is not None
            observable = save.observable.on(save.depends_on(self._wires))
            sums = [observable] if save.what == "expectation_value" else [observable, observable.squared()]
            found = self._sums(save, sums, records, memory)
        self.saved.append(found)
        return found

    def _reference(self) -> stim.TableauSimulator:
        """Return the state of the reference run at this point."""
        module = stim_module()
        if self._state is None:
            self._state = module.TableauSimulator(seed=0)
            self._state.set_num_qubits(self._wires)
        self._state.do(module.Circuit("\n".join(self._lines[self._done :])))
        self._done = len(self._lines)
        return self._state

    def _sums(
        self, save: Save, observables: Sequence[PauliSum], records: int, memory: tuple[Parity, ...]
    ) -> SavedPoint:
        state, made = self._reference(), []
        record_of: dict[tuple[int, int], int] = {}
        for observable in observables:
            constant, factors = 0j, dict[int, complex]()
            for term in observable.terms:
                factor, string = complex(term.coefficient), Pauli(term.x, term.z)
                if not (string.x or string.z):
                    constant += factor
                elif sign := state.peek_observable_expectation(pauli_string(string)):
                    if not self._random:
                        constant += sign * factor
                        continue
                    key = string.x, string.z
                    if key not in record_of:
                        record_of[key] = records + len(record_of)
                        self._lines.append(_measured(string))
                    factors[record_of[key]] = factors.get(record_of[key], 0) + factor
            made.append(Sum(constant, factors))
        return SavedPoint(save, len(record_of), memory, tuple(made))

    def _populations(self, save: Save, records: int, memory: tuple[Parity, ...]) -> SavedPoint:
        state, masks = self._reference(), [0]
        for wire in save.depends_on(self._wires):
            masks += [mask | 1 << wire for mask in masks]  # so that the bits of a subset are those of a value
        subsets = np.arange(len(masks))
        parities, expected, spanned, checks = np.zeros_like(subsets), 0, {0}, list[Pauli]()
        for subset, mask in enumerate(masks):
            string = Pauli(0, mask)
            if subset in spanned or not (sign := state.peek_observable_expectation(pauli_string(string))):
                continue
            parities |= (np.bitwise_count(subsets & subset).astype(np.int64) & 1) << len(checks)
            expected |= (sign < 0) << len(checks)
            spanned |= {subset ^ other for other in spanned}
            checks.append(string)
        each = 2.0 ** len(checks) / len(masks)
        if not self._random:
            return SavedPoint(save, 0, memory, populations=Populations(parities, expected, (), each))
        self._lines += map(_measured, checks)
        found = Populations(parities, 0, tuple(range(records, records + len(checks))), each)
        return SavedPoint(save, len(checks), memory, populations=found)

    def _tableau(self, save: Save, records: int, memory: tuple[Parity, ...]) -> SavedPoint:
        tableau = self._reference().current_inverse_tableau().inverse()
        x2x, x2z, z2x, z2z, x_signs, z_signs = tableau.to_numpy()
        upper, lower = np.hstack([x2x, x2z, x_signs[:, None]]), np.hstack([z2x, z2z, z_signs[:, None]])
        signs: tuple[int, ...] = ()
        if self._random:
            for x, z in zip(z2x, z2z, strict=True):
                self._lines.append(_measured(Pauli(_mask(x), _mask(z))))
            signs = tuple(range(records, records + self._wires))
        return SavedPoint(save, len(signs), memory, (), np.vstack([upper, lower]).astype(np.uint8), signs)


def _mask(bits: NDArray[np.bool_]) -> int:
    return sum(1 << wire for wire in np.flatnonzero(bits).tolist())


def _measured(string: Pauli) -> str:
    """Return Stim's instruction that measures a product of Pauli matrices."""
    letters = string.letters((string.x | string.z).bit_length())
    return "MPP " + "*".join(f"{letter}{wire}" for wire, letter in enumerate(letters) if letter != "I")
