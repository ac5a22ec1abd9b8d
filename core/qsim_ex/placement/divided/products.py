"""H|ψ⟩ on a divided state with its cotangent beside it (see `placement.paired`), for a sum H of Pauli strings.

Strings with one X-part move amplitudes alike. The wires of an X-part have to be near at the same time, and the wire of
both with them; X-parts that fit together share a visit (`strings.visits`), and one that is too wide is made narrow by
CX gates on both, which are undone (`strings.folded`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.ops import wires_of
from qsim_ex.devices.adjoint import Differentiates
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.divided import strings
from qsim_ex.placement.divided.near import NearSubState, Visited, brought, fits

Strings = Sequence[tuple[int, complex]]
"""Strings of one X-part: the Z-part of each, a mask of wires, and its coefficient behind both."""


class Beside(NamedTuple):
    """The part that is here of sums over a state and the cotangent beside it: ⟨cotangent|state⟩ and squared norms."""

    overlap: complex = 0j
    state: float = 0.0
    cotangent: float = 0.0

    def plus(self, near: NearSubState) -> Beside:
        """Return the sums with those of a sub state vector."""
        device, half = near.device, 1 << near.layout.address[-1]
        blocks = (near.buffer[first : first + 2 * half] for first in range(0, 1 << near.local, 2 * half))
        overlap = sum((device.inner(block[half:], block[:half]) for block in blocks), self.overlap)
        norms = device.norms(near.buffer, (1 << near.local) // half)
        return Beside(overlap, self.state + float(norms[::2].sum()), self.cotangent + float(norms[1::2].sum()))


def write_product(state: Visited, observable: PauliSum) -> Beside:
    """Write H|ψ⟩ to the cotangent, where nothing has been yet, and return the part that is here of ⟨ψ|H|ψ⟩ and norms.

    The state is at the 0 of its highest wire, and the cotangent comes to the 1 of it.
    """
    wire = state.num_wires - 1
    if others := state.fresh & ~(1 << state.layout.address[wire]):
        state.write_zeros(others)
    parts = _by_x(observable)
    narrow = [x for x in parts if fits(state, (*wires_of(x), wire))]
    made = strings.visits_of(state, [x | 1 << wire for x in narrow]) or [strings.Visit((), ())]
    found, wide = Beside(), [x for x in parts if x not in narrow]
    for visit in made:
        last = visit is made[-1] and not wide
        for near in state.visit(visit.near, write=True):
            _add(near, {narrow[place]: parts[narrow[place]] for place in visit.parts})
            found = found.plus(near) if last else found
    for x in wide:
        with strings.made_narrow(state, x, [z for z, _ in parts[x]], (wire,)) as (reduced, zs):
            given = [(z, coefficient) for z, (_, coefficient) in zip(zs, parts[x], strict=True)]
            for near in state.visit(brought(state, (*wires_of(reduced), wire)), write=True):
                _add(near, {reduced: given})
    if wide:
        for near in state.visit():
            found = found.plus(near)
    return found


def write_basis_state(state: Visited, amplitude: complex) -> Beside:
    """Write |0…0⟩ times an amplitude to the cotangent, where nothing has been yet; return what `write_product` does."""
    state.write_zeros()
    to, found = state.layout.index(1 << state.num_wires - 1), Beside()
    for near in state.visit(write=True):
        if near.high == to >> near.local:
            begin = to - (near.high << near.local)
            near.device.write(near.buffer, begin, np.array([amplitude], dtype=state.dtype))
        found = found.plus(near)
    return found


def _by_x(observable: PauliSum) -> dict[int, list[tuple[int, complex]]]:
    """Return the strings of each X-part, in the order in which they are met."""
    found: dict[int, list[tuple[int, complex]]] = defaultdict(list)
    for term in observable.terms:
        found[term.x].append((term.z, (1, 1j, -1, -1j)[term.num_y % 4] * term.coefficient))
    return found


def _add(near: NearSubState, parts: Mapping[int, Strings]) -> None:
    """Add the strings of some X-parts, all of whose wires are local, to the cotangent of a sub state vector.

    The bit of both may stand anywhere: amplitudes that differ above it are blocks, which X-parts take to one another.
    """
    bit, layout, local = near.layout.address[-1], near.layout, near.local
    inside, above = (1 << bit) - 1, bit + 1
    moves: dict[int, list[tuple[int, int, complex]]] = defaultdict(list)
    for x, own in parts.items():
        mask = at.index_mask(layout, x)
        for z, coefficient in own:
            stored = at.index_mask(layout, z)
            moves[mask >> above].append((mask & inside, stored, at.parity_sign(layout, stored) * coefficient))
    device = cast(Differentiates, near.device)
    for block in range(1 << local - above):
        base = near.high << local | block << above
        for moved, own_strings in moves.items():
            terms = tuple((x, z & inside, -c if (z & base).bit_count() & 1 else c) for x, z, c in own_strings)
            state, to = near.buffer[block << above :], near.buffer[(block ^ moved) << above :]
            device.begin_sums(state[: 1 << bit], to[1 << bit : 2 << bit], bit, [terms], adds=True)()
