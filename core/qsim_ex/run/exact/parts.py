"""Density matrices of parts that nothing joins: each is computed by itself, and shots and values are put together.

A part hands on the probabilities of its wires, or the traces of the Pauli strings that observables have on it; the
value of a string on several parts is a product. A shot carries one number in [0, 1) from the highest wire down, as in
`observe.joint`: what is left of it after one wire chooses the next one. So shots are those of all wires together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.circuit.ops import Save
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.saves import SaveValues
from qsim_ex.circuit.structure import structure_of
from qsim_ex.observe import sampling, seeding
from qsim_ex.observe.readout import apply_readout
from qsim_ex.program.separation import SeparatePart, Separation
from qsim_ex.result import BatchResult
from qsim_ex.run.over_ranks import with_agreed_seeds
from qsim_ex.run.pipeline import BatchCall

Floats = NDArray[np.float64]
Run = Callable[[BatchCall], BatchResult]

_LABEL = "\\x00populations"
_LEAST = 1e-300


def can_part(call: BatchCall, separation: Separation) -> bool:
    """Return whether parts have nothing to do with one another, and one kind of answer is asked for."""
    if (call.shots is not None and call.observables) or call.groups:
        return False
    return are_apart(separation)


def are_apart(separation: Separation) -> bool:
    """Return whether there are several parts, none of which needs outcomes of another or keeps its own on the way."""
    kept = any(part.given or part.copied for part in separation.parts)
    return len(separation.parts) > 1 and not separation.known and not kept


def run_parts(call: BatchCall, separation: Separation, final: Sequence[dict[int, int]], run: Run) -> BatchResult:
    """Run every part and put the answers together.

    final: for each part, its wire that holds each of its classical bits at the end. run: runs one part.
    """
    call = with_agreed_seeds(call, max(2 * len(part.wires) for part in separation.parts))  # all draw the same
    known = seeding.given_seeds(call.seeds, call.bound.count, call.options)
    seeds = known or seeding.fresh_seeds(call.bound.count)
    strings = _strings(call.observables, separation)
    results = []
    for number, part in enumerate(separation.parts):
        own = part_of(call, part)
        own = _saving(own) if call.shots is not None else own
        asked = tuple(PauliSum((PauliString(x, z),)) for x, z in strings[number])
        results.append(run(replace(own, observables=asked, shots=None, seeds=seeds, readout=())))
    packed = None
    if call.shots is not None:
        tables = [result.saved[_LABEL] for result in results]
        each = ([table[row] for table in tables] for row in range(len(seeds)))
        drawn = (_drawn(call, separation, final, of, seed) for of, seed in zip(each, seeds, strict=True))
        packed = np.stack(list(drawn))
    values = _values(call, separation, strings, results)
    widest = max(results, key=lambda result: result.provenance.peak_bytes)
    provenance = replace(widest.provenance, facts={**widest.provenance.facts, **separation.facts()})
    return replace(
        widest,
        shots=call.shots,
        num_clbits=call.circuit.num_clbits,
        packed=packed,
        saved={},
        values=values,
        errors=np.zeros(values.shape),
        seeds=seeds,
        provenance=provenance,
    )


def part_of(call: BatchCall, part: SeparatePart) -> BatchCall:
    """Return the call for a part's circuit."""
    columns, bound = part.columns, call.bound
    operands = call.circuit.operands if columns is None else call.circuit.operands[:, columns]
    if columns is not None:
        bound = Bindings(bound.count, lambda begin, end: call.bound.operands(begin, end)[:, columns])
    return replace(call, circuit=Circuit.of_structure(part.structure, operands), bound=bound)


def _saving(call: BatchCall) -> BatchCall:
    """Return the call for the same circuit with a save of all populations at its end."""
    of = call.circuit.structure
    save = Save(_LABEL, "probabilities", tuple(range(of.num_qubits)), "average")
    structure = structure_of(of.num_qubits, of.num_clbits, (*of.instructions, save))
    return replace(call, circuit=Circuit.of_structure(structure, call.circuit.operands))


# --- shots ------------------------------------------------------------------------------------------------------------


def _drawn(
    call: BatchCall, separation: Separation, final: Sequence[dict[int, int]], tables: Sequence[Floats], seed: int
) -> NDArray[np.uint8]:
    """Return the classical bits of all shots of a binding, uint8 [shots, bytes].

    tables: the populations of each part.
    """
    shots = call.shots
    assert shots is not None
    numbers = sampling.uniforms(seed, 0, shots)
    walks = [_Walk(table, sorted({*places.values()}), shots) for table, places in zip(tables, final, strict=True)]
    packed = np.zeros((shots, -(-call.circuit.num_clbits // 8)), dtype=np.uint8)
    holders = [
        (part.wires[at], number, at)
        for number, (part, walk) in enumerate(zip(separation.parts, walks, strict=True))
        for at in walk.wires
    ]
    used = 0  # wires that the numbers have chosen
    for k, (_, number, at) in enumerate(sorted(holders, reverse=True)):
        if used >= thresholds.now.wires_for_a_number:
            used, numbers = 0, sampling.uniforms(seed, k, shots)
        used += 1
        bit, numbers = walks[number].next(numbers)
        for clbit, held in final[number].items():
            if held == at:
                whole = separation.parts[number].clbits[clbit]
                packed[:, whole // 8] |= bit << whole % 8
    return apply_readout(packed, call.readout, seed) if call.readout else packed


class _Walk:
    """The way of all shots down the wires of a part, from the highest to the lowest.

    wires: those that hold classical bits, ascending; the others are summed over.
    """

    def __init__(self, populations: Floats, wires: Sequence[int], shots: int) -> None:
        self.wires = wires
        n = populations.size.bit_length() - 1
        others = tuple(n - 1 - wire for wire in range(n) if wire not in wires)
        kept = np.maximum(populations, 0).reshape((2,) * n).sum(axis=others).reshape(-1)
        self._ends = np.concatenate(([0.0], np.cumsum(kept)))
        self._left = len(wires)
        self._prefix = np.zeros(shots, dtype=np.int64)

    def next(self, numbers: Floats) -> tuple[NDArray[np.uint8], Floats]:
        """Return the next wire's bit in every shot, and what is left of the shots' numbers."""
        self._left -= 1
        step = 1 << self._left
        begin = 2 * self._prefix * step
        zero = self._ends[begin + step] - self._ends[begin]
        total = self._ends[begin + 2 * step] - self._ends[begin]
        share = np.divide(zero, total, out=np.ones_like(zero), where=total > 0)
        bit = numbers >= share
        rest = np.where(bit, (numbers - share) / np.maximum(1 - share, _LEAST), numbers / np.maximum(share, _LEAST))
        self._prefix = 2 * self._prefix + bit
        return bit.astype(np.uint8), np.clip(rest, 0, np.nextafter(1.0, 0.0))


# --- expectation values -----------------------------------------------------------------------------------------------


def _strings(sums: Sequence[PauliSum], separation: Separation) -> list[dict[tuple[int, int], int]]:
    """Return for each part the strings (x, z) on its wires that are asked for, and the number of each."""
    found: list[dict[tuple[int, int], int]] = [{} for _ in separation.parts]
    for one in sums:
        for term in one.terms:
            for number, own in enumerate(found):
                own.setdefault(_on(term, number, separation), len(own))
    return found


def _on(term: PauliString, part: int, separation: Separation) -> tuple[int, int]:
    """Return the masks of a string on the wires of a part."""
    places = [(wire, at) for wire, (number, at) in separation.place.items() if number == part]
    return sum((term.x >> wire & 1) << at for wire, at in places), sum(
        (term.z >> wire & 1) << at for wire, at in places
    )


def _values(
    call: BatchCall,
    separation: Separation,
    strings: Sequence[dict[tuple[int, int], int]],
    results: Sequence[BatchResult],
) -> SaveValues:
    """Return the expectation value of each observable, [bindings, observables]; wires in no part are |0⟩."""
    apart = ~sum(1 << wire for wire in separation.place)
    found = np.zeros((call.bound.count, len(call.observables)), dtype=np.complex128)
    for k, one in enumerate(call.observables):
        for term in one.terms:
            if term.x & apart:
                continue  # the mean of X and Y is 0 there
            value: Any = term.coefficient
            for number, result in enumerate(results):
                value = value * result.values[:, strings[number][_on(term, number, separation)]]
            found[:, k] += value
    real = all(complex(term.coefficient).imag == 0 for one in call.observables for term in one.terms)
    return np.ascontiguousarray(found.real) if real else found
