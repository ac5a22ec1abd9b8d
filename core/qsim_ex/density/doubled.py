"""The circuit that does to a density matrix what another circuit does to states: on twice as many wires.

A gate U becomes U on the row wires and its conjugate on the column wires, and a channel one matrix on both
(`superoperators`). A measured bit that is read later is held by its wire or by a **bit wire** behind row and column
wires (`bit_wires`). A bit wire has one index bit and no two, so ρ is then Σ_b ρ_b ⊗ |b⟩: every value of the bit has its
own density matrix, whose trace is its probability, and an operation under a condition is an operation that reads the
bit wire. So no branch is chosen at random: all of them are in the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.control import Else, End, If, Leave, Marker, NextRound, Once, Record, Store, While
from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.noise.readout import ReadoutError, ReadoutErrors, key_of
from qsim_ex.circuit.ops import (
    ALWAYS,
    Begin,
    Channel,
    Conditional,
    Entry,
    Initialize,
    Instruction,
    Known,
    Measure,
    Op,
    Pattern,
    Permutation,
    Reset,
    Save,
    SetState,
    When,
    conjugate,
    mask_of,
    pattern,
    wires_of,
)
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.density.bit_life import BitLife
from qsim_ex.density.bit_wires import BitWires, Places, Wires
from qsim_ex.density.conditions import assigned, cubes, joined, on_columns
from qsim_ex.density.questions import check_mixed
from qsim_ex.density.superoperators import KrausPlace, places_of, superoperators
from qsim_ex.errors import NotSupported

Complex = NDArray[np.complex128]

_REAL = frozenset({Entry.ZERO, Entry.ONE, Entry.MINUS_ONE, Entry.REAL, Known.ROOT, Known.MINUS_ROOT})

_CLEAR = np.array([1, 0, 0, 1, *[0] * 12], dtype=np.complex128)


@dataclass(frozen=True, eq=False, slots=True)
class Doubled:
    """A circuit on density matrices.

    structure: row wires, column wires and bit wires, in this order. num_wires: of the density matrix. bits: the number
    of bit wires. final: the places of the classical bits at the end. saved: their places at each save by classical
    memory, by its label. read: the groups of bits whose readout error is applied already.
    touched: mask of the row wires that may not be |0⟩ at the end.
    literals: the operands that depend on no circuit. channels: the superoperators that follow them.
    """

    structure: Structure
    num_wires: int
    bits: int
    final: Places
    saved: dict[str, Places]
    read: frozenset[Wires]
    touched: int
    literals: Complex
    channels: tuple[KrausPlace, ...]

    @property
    def size(self) -> int:
        """The number of wires of the state."""
        return 2 * self.num_wires + self.bits

    def operands(self, of: Complex) -> Complex:
        """Return the operands for those of the circuit, [rows, total]: they, their conjugates, and the channels."""
        literals = np.broadcast_to(self.literals, (len(of), len(self.literals)))
        return np.concatenate([of, of.conj(), literals, *(superoperators(of, one) for one in self.channels)], axis=1)


def doubled(
    structure: Structure,
    total: int,
    patterns: Sequence[Pattern],
    *,
    observed: bool = False,
    sampled: bool = True,
    readout: ReadoutErrors = (),
    num_wires: int | None = None,
    touched: int = 0,
    dephased: bool = False,
) -> Doubled:
    """Return the circuit on density matrices; it is the same object for equal arguments.

    total: the number of operands. patterns: those of the superoperators of `places_of` the structure.
    observed: whether expectation values are taken at the end. sampled: whether the classical bits at the end are asked
        for. dephased: whether the state at the end is that after measurements at the end.
    readout: the readout errors, for conditions on bits that have one.
    num_wires: of a density matrix that has more wires than the circuit. touched: mask of the wires that may not be |0⟩
        at the beginning.
    Raises `NotSupported` for saves of amplitudes, which a mixed state does not have, and for control flow.
    """
    wires = structure.num_qubits if num_wires is None else num_wires
    asked = Asked(total, wires, touched, observed, sampled, dephased)
    return _doubled(structure, asked, tuple(patterns), key_of(readout))


class Asked(NamedTuple):
    """The arguments of `doubled` that are numbers."""

    total: int
    num_wires: int
    touched: int
    observed: bool
    sampled: bool
    dephased: bool


@Kept
def _doubled(structure: Structure, asked: Asked, patterns: tuple[Pattern, ...], errors: Any) -> Doubled:
    readout = []
    for clbits, data, measurement in errors:
        size = 1 << len(clbits)
        readout.append(ReadoutError(clbits, np.frombuffer(data).reshape(size, size), measurement))
    return Doubler(structure, asked, patterns, tuple(readout)).doubled()


class Doubler:
    """Doubles one circuit; measured bits are held by wires (see `branching` for another way)."""

    def __init__(self, structure: Structure, asked: Asked, patterns: Sequence[Pattern], readout: ReadoutErrors) -> None:
        self._structure = structure
        self._asked = asked
        self._n = asked.num_wires
        self._total = asked.total
        # Whether the state between instructions matters, and not only the bits that are read at the end.
        self._observed = asked.observed or structure.has_saves
        self._made: list[Instruction] = []
        self._literals: list[Complex] = []
        self._literal_size = 0
        self._bits = BitWires(structure, self._n, BitLife(structure, asked.sampled), readout, self._made, self._literal)
        self._clear = self._literal(_CLEAR)
        self._touched = asked.touched
        self._patterns = dict(zip(places_of(structure), patterns, strict=True))

    def doubled(self) -> Doubled:
        """Return the circuit on density matrices."""
        channels: list[tuple[int, Channel]] = []
        for place, instruction in enumerate(self._structure.instructions):
            self._put(place, instruction, channels)
        if self._asked.dephased:
            self._bits.dephase(wires_of(self._bits.measured))
        offsets, at = {}, 2 * self._total + self._literal_size
        for one in self._patterns:
            offsets[one] = at
            at += one.size
        for number, channel in channels:
            self._made[number] = self._superoperator(channel, offsets)
        return Doubled(
            structure_of(2 * self._n + self._bits.count, self._structure.num_clbits, tuple(self._made)),
            self._n,
            self._bits.count,
            self._bits.places,
            self._bits.kept,
            self._bits.read,
            self._touched,
            np.concatenate(self._literals),
            tuple(self._patterns),
        )

    def _put(self, place: int, instruction: Instruction, channels: list[tuple[int, Channel]]) -> None:
        match instruction:
            case Op():
                self._op(place, instruction)
            case Permutation(wires, indices):
                self._before_mixing(place, wires)
                self._made += [instruction, Permutation(self._columns(wires), indices)]
            case Initialize(wires, operand) | SetState(wires, operand):
                self._reset(place, wires)
                self._made.append(Initialize(wires, operand, cleared=True))
                self._made.append(Initialize(self._columns(wires), self._total + operand, cleared=True))
                self._touched |= mask_of(wires)
            case Measure(wires, clbits, kept):
                self._measure(wires, clbits)
                if kept:
                    self._measure(wires, kept)
                    self._reset(place + 1, wires)
            case Reset(wires):
                self._reset(place, wires)
            case Begin():
                pass
            case Channel(wires):
                self._before_mixing(place, wires)
                channels.append((len(self._made), instruction))
                self._made.append(instruction)  # its place, until all literals are known
            case Conditional(operation, clbits, values):
                self._conditional(place, operation, clbits, values)
            case Save():
                self._save(place, instruction)
            case If() | Else() | While() | Once() | End() | Leave() | NextRound() | Store() | Record():
                self._control(instruction)
            case _:
                assert_never(instruction)

    def _control(self, instruction: Marker | Store | Record) -> None:
        raise NotSupported(
            f"expected a circuit without loops, variables, or blocks with measurements in them, got {instruction!r}; "
            "run it with Simulator(method='density_matrix') and save the density matrix."
        )

    # --- gates and channels ------------------------------------------------------------------------------------------

    def _columns(self, wires: Iterable[int]) -> Wires:
        return tuple(self._n + wire for wire in wires)

    def _op(self, place: int, op: Op) -> None:
        if not (op.mixes or op.reads or op.when.mask):
            return  # a global phase cancels
        self._before_mixing(place, op.mixes)
        self._before_reading(op)
        self._made += [op, self._conjugate(op)]

    def _conjugate(self, op: Op) -> Op:
        """Return the conjugate of an operation on the column wires."""
        n = self._n
        real = all(entry in _REAL for entry in op.pattern)
        reads, when = tuple(read << n for read in op.reads), When(op.when.mask << n, op.when.value << n)
        operand = op.operand if real else self._total + op.operand
        return Op(self._columns(op.mixes), reads, when, conjugate(op.pattern), operand, op.name, op.unitary)

    def _superoperator(self, channel: Channel, offsets: dict[KrausPlace, int]) -> Op:
        key = KrausPlace(channel.operand, channel.count, len(channel.wires))
        of, wires = self._patterns[key], (*channel.wires, *self._columns(channel.wires))
        return Op(wires, (), ALWAYS, of, offsets[key], channel.name, unitary=False)

    def _reset(self, place: int, wires: Wires) -> None:
        """Put wires into |0⟩: the populations of both values are added up."""
        used = tuple(wire for wire in wires if self._touched >> wire & 1)
        self._before_mixing(place, used)
        for wire in used:
            of = pattern("r00r" + 12 * "0")
            self._made.append(Op((wire, self._n + wire), (), ALWAYS, of, self._clear, "reset", unitary=False))
            self._touched &= ~(1 << wire)

    # --- measurements ------------------------------------------------------------------------------------------------

    def _measure(self, wires: Wires, clbits: Wires) -> None:
        self._bits.measure(wires, clbits, self._touched)

    def _before_reading(self, op: Op) -> None:
        """Where the state matters, end the coherences of measured wires that an operation reads; it mixes none."""
        if self._observed:
            self._bits.dephase(wires_of(op.acts_on & self._bits.measured))

    def _before_mixing(self, place: int, wires: Wires) -> None:
        """Copy the bits that wires hold to bit wires, and end the coherences of measured wires."""
        for wire in wires:
            self._touched |= 1 << wire
            self._bits.let_go(place, wire)

    # --- classical bits ----------------------------------------------------------------------------------------------

    def _conditional(self, place: int, op: Op, clbits: Wires, values: Wires) -> None:
        """Put an operation under a condition: it reads the wires of the bits."""
        self._bits.misread(place, clbits)
        self._before_mixing(place, op.mixes)
        self._before_reading(op)
        if not (op.mixes or op.reads or op.when.mask):
            return  # a global phase cancels for each value of the bits
        places = [self._bits.places.get(clbit) for clbit in clbits]
        if self._observed:
            self._bits.dephase(at for at in {*places} if at is not None and self._bits.measured >> at & 1)
        conjugate = self._conjugate(op)
        for when in cubes(assigned(places, values)):
            rows, columns = joined(op.when, when), joined(conjugate.when, on_columns(when, self._n))
            if rows is not None and columns is not None:
                self._made += [op._replace(when=rows), conjugate._replace(when=columns)]

    def _save(self, place: int, save: Save) -> None:
        check_mixed(save)
        if save.by_memory:
            self._bits.keep(place, save.label)
        self._bits.dephase(wires_of(self._bits.measured))
        self._made.append(save)

    def _literal(self, entries: Complex) -> int:
        """Return the place of some operands that depend on no circuit."""
        self._literals.append(entries)
        self._literal_size += entries.size
        return 2 * self._total + self._literal_size - entries.size
