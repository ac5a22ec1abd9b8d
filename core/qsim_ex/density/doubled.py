"""The circuit that does to a density matrix what another circuit does to states: on twice as many wires.

A gate U becomes U on the row wires and its conjugate on the column wires, and a channel one matrix on both
(`superoperators`). A measured bit is held by its wire as long as nothing mixes that wire, since row and column of a
measured wire are equal. Only then is it copied to a **bit wire** behind row and column wires, if something still reads
it. A bit wire has one index bit and no two, so ρ is then Σ_b ρ_b ⊗ |b⟩: every value of the bit has its own density
matrix, whose trace is its probability, and an operation under a condition is an operation that reads the bit wire.
So no branch is chosen at random: all of them are in the state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.control import Else, End, If, Leave, Marker, NextRound, Once, Record, Store, While
from qsim_ex.circuit.noise.readout import ReadoutError, ReadoutErrors, key_of, matrix_of
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
from qsim_ex.circuit.saves import SAVE_KINDS
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.density.bit_life import BitLife
from qsim_ex.density.conditions import assigned, cubes, joined
from qsim_ex.density.superoperators import KrausPlace, places_of, superoperators
from qsim_ex.errors import NotSupported
from qsim_ex.program.readings import ReadingTracker

Complex = NDArray[np.complex128]
Wires = tuple[int, ...]
Places = dict[int, int]
"""Classical bit -> the wire that holds its value; a bit that is 0 is missing."""

_REAL = frozenset({Entry.ZERO, Entry.ONE, Entry.MINUS_ONE, Entry.REAL, Known.ROOT, Known.MINUS_ROOT})

_FLIP = np.array([0, 1, 1, 0], dtype=np.complex128)
_SUM = np.array([1, 1, 0, 0], dtype=np.complex128)
_MEASURE = np.array([1, 0], dtype=np.complex128)  # by the parity of row and column
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


@lru_cache(maxsize=256)
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
        self._readout = readout
        groups = tuple(sorted({error.clbits for error in readout}))
        self._reader = ReadingTracker(groups, structure.instructions, lambda bits: (0,) * bits)  # wires hold them
        self._made: list[Instruction] = []
        self._bits = 0
        self._places: Places = {}
        self._saved: dict[str, Places] = {}
        self._measured = 0  # mask of wires that were measured, and whose coherences are not zero yet
        self._touched = asked.touched
        self._life = BitLife(structure, asked.sampled)
        self._literals: list[Complex] = []
        self._literal_size = 0
        self._flip, self._sum = self._literal(_FLIP), self._literal(_SUM)
        self._parity, self._clear = self._literal(_MEASURE), self._literal(_CLEAR)
        self._patterns = dict(zip(places_of(structure), patterns, strict=True))

    def doubled(self) -> Doubled:
        """Return the circuit on density matrices."""
        channels: list[tuple[int, Channel]] = []
        for place, instruction in enumerate(self._structure.instructions):
            self._put(place, instruction, channels)
        if self._asked.dephased:
            self._dephase(wires_of(self._measured))
        offsets, at = {}, 2 * self._total + self._literal_size
        for one in self._patterns:
            offsets[one] = at
            at += one.size
        for number, channel in channels:
            self._made[number] = self._superoperator(channel, offsets)
        return Doubled(
            structure_of(2 * self._n + self._bits, self._structure.num_clbits, tuple(self._made)),
            self._n,
            self._bits,
            self._places,
            self._saved,
            frozenset(self._reader.current()),
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
        self._reader.measured(clbits)
        for wire, clbit in zip(wires, clbits, strict=True):
            self._places.pop(clbit, None)
            if self._touched >> wire & 1:
                self._places[clbit] = wire
                self._measured |= 1 << wire

    def _before_reading(self, op: Op) -> None:
        """Where the state matters, end the coherences of measured wires that an operation reads."""
        if self._observed and self._measured:
            read = op.when.mask
            for mask in op.reads:
                read |= mask
            self._dephase(wires_of(read & self._measured))

    def _before_mixing(self, place: int, wires: Wires) -> None:
        """Copy the bits that wires hold to bit wires, and end the coherences of measured wires."""
        for wire in wires:
            self._touched |= 1 << wire
            self._let_go(place, wire)

    def _let_go(self, place: int, wire: int) -> None:
        """Copy the bits that a wire holds to a bit wire."""
        if self._measured >> wire & 1:
            self._dephase((wire,))
        held = [clbit for clbit, at in self._places.items() if at == wire]
        if any(self._life.is_read(clbit, place) for clbit in held):
            made = self._copy(place, wire)
            self._places.update(dict.fromkeys(held, made))
        else:
            for clbit in held:
                del self._places[clbit]

    def _dephase(self, wires: Iterable[int]) -> None:
        """Set to zero what is neither at row 0 and column 0 nor at row 1 and column 1 of measured wires."""
        for wire in wires:
            read = 1 << wire | 1 << self._n + wire
            self._made.append(Op((), (read,), ALWAYS, pattern("1r"), self._parity, "measure", unitary=False))
            self._measured &= ~(1 << wire)

    def _copy(self, place: int, wire: int | None, taken: Collection[int] = ()) -> int:
        """Return a bit wire with the value of a measured wire or of another bit wire; None: with 0."""
        made = self._free_bit(place, taken)
        if wire is not None:
            self._made.append(Op((made,), (), When(1 << wire, 1 << wire), pattern("0110"), self._flip, "measure"))
        return made

    def _free_bit(self, place: int, taken: Collection[int]) -> int:
        """Return a bit wire at 0: one whose bits nothing reads any more, or a new one."""
        read = {at for clbit, at in self._places.items() if self._life.is_read(clbit, place)} | {*taken}
        for wire in range(2 * self._n, 2 * self._n + self._bits):
            if wire not in read:
                self._places = {clbit: at for clbit, at in self._places.items() if at != wire}
                of = pattern("rr00")
                self._made.append(Op((wire,), (), ALWAYS, of, self._sum, "forget", unitary=False))
                return wire
        self._bits += 1
        return 2 * self._n + self._bits - 1

    # --- classical bits ----------------------------------------------------------------------------------------------

    def _conditional(self, place: int, op: Op, clbits: Wires, values: Wires) -> None:
        """Put an operation under a condition: it reads the wires of the bits."""
        self._misread(place, clbits)
        self._before_mixing(place, op.mixes)
        self._before_reading(op)
        if not (op.mixes or op.reads or op.when.mask):
            return  # a global phase cancels for each value of the bits
        places = [self._places.get(clbit) for clbit in clbits]
        if self._observed:
            self._dephase(at for at in {*places} if at is not None and self._measured >> at & 1)
        conjugate = self._conjugate(op)
        for when in cubes(assigned(places, values)):
            rows, columns = joined(op.when, when), joined(conjugate.when, self._column_when(when))
            if rows is not None and columns is not None:
                self._made += [op._replace(when=rows), conjugate._replace(when=columns)]

    def _column_when(self, when: When) -> When:
        """Return a condition as column wires hold it; bit wires have no columns."""
        rows = (1 << self._n) - 1
        mask, value = when.mask & rows, when.value & rows
        return When(when.mask & ~rows | mask << self._n, when.value & ~rows | value << self._n)

    def _misread(self, place: int, clbits: Iterable[int]) -> None:
        """Apply the readout errors of bits that are read now."""
        for clbit in clbits:
            if not self._reader.misreads(clbit):
                continue
            reading, new = self._reader.reading(clbit, lambda _: None)
            matrix = matrix_of(self._readout, reading.clbits, reading.measurement) if new else None
            if matrix is None:
                continue
            wires: list[int] = []
            for one in reading.clbits:
                at = self._places.get(one)
                if at is not None and self._measured >> at & 1:
                    self._dephase((at,))
                wires.append(self._copy(place, at, [*wires, *self._places.values()]))
            self._places.update(zip(reading.clbits, wires, strict=True))
            of = bytes([Entry.REAL]) * matrix.size
            operand = self._literal(matrix.T.reshape(-1).astype(np.complex128))
            self._made.append(Op(tuple(wires), (), ALWAYS, of, operand, "readout", unitary=False))

    def _save(self, place: int, save: Save) -> None:
        check_mixed(save)
        if save.by_memory:
            self._misread(place, range(self._structure.num_clbits))
            for wire in sorted(at for at in {*self._places.values()} if at < self._n):
                self._let_go(place, wire)
            self._saved[save.label] = dict(self._places)
        self._dephase(wires_of(self._measured))
        self._made.append(save)

    def _literal(self, entries: Complex) -> int:
        """Return the place of some operands that depend on no circuit."""
        self._literals.append(entries)
        self._literal_size += entries.size
        return 2 * self._total + self._literal_size - entries.size


def check_mixed(save: Save) -> None:
    """Check that a mixed state has the value that is saved; raises `NotSupported`."""
    if not SAVE_KINDS[save.what].of_mixed:
        raise NotSupported(
            f"expected values that a mixed state has, got save {save.label!r} of the {save.what} with "
            "method='density_matrix'; save the density matrix, or leave method out."
        )
