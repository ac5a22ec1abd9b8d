"""The form of a circuit: Pauli rotations, then one Clifford operator, then a phase, whatever basis it was written in.

Native code finds it (core/native/planner/form). Angles are those of one binding: a sum that is a multiple of π/2 is no
rotation, so other bindings of a structure may have another form. `planning.written` has one for all bindings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliString
from qsim_ex.circuit.ops import Unitary
from qsim_ex.errors import NotSupported
from qsim_ex.native.library import address, function
from qsim_ex.planning.planner import MOST_WIRES, as_ops, worked

UNBOUNDED = -1

TOLERANCE = 1e-12
"""How far angles and matrices may be off, in radians, so that double precision is as exact as before."""


@dataclass(frozen=True, slots=True)
class PauliRotation:
    """exp(−i angle/2 P), of an angle above −π/4 and up to π/4. Rotations in one layer commute."""

    pauli: PauliString
    angle: float
    layer: int


@dataclass(frozen=True, slots=True)
class DenseBlock:
    """An instruction of which no rotations are known, between the rotations of its layer and those behind.

    instruction: its place in the circuit.
    generators: the images of X of each wire that it mixes, of Z of each of these, and of Z of the parities that it
        reads and of its controls, Pauli strings with coefficients 1 and −1; its matrix acts on these as on the wires.
    """

    instruction: int
    generators: tuple[PauliString, ...]
    layer: int


@dataclass(frozen=True, slots=True)
class Clifford:
    """A Clifford operator C on all wires: C†XC for each wire, and C†ZC, Pauli strings with coefficients 1 and −1.

    Its phase is such that the first amplitude of C|0…0⟩ that is not 0 is positive.
    """

    x_images: tuple[PauliString, ...]
    z_images: tuple[PauliString, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """e^{i phase} C … R₂ R₁ for rotations and blocks R in the order of their layers, and a Clifford operator C.

    key: a number of 64 bits that depends on Pauli strings, layers and blocks, and on which angles are ±π/4; the same
        for the same list in every process.
    """

    num_wires: int
    rotations: tuple[PauliRotation, ...]
    blocks: tuple[DenseBlock, ...]
    clifford: Clifford
    phase: float
    key: int

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        items: tuple[PauliRotation | DenseBlock, ...] = (*self.rotations, *self.blocks)
        return max((item.layer + 1 for item in items), default=0)

    @property
    def active_width(self) -> int:
        """The rank of what rotations and blocks flip: so many directions of |0…0⟩ they mix.

        All others are only moved by the Clifford operator at the end.
        """
        strings = [one.pauli for one in self.rotations]
        strings += [image for block in self.blocks for image in block.generators]
        reduced: list[int] = []
        for flips in {string.x for string in strings}:
            for other in reduced:
                flips = min(flips, flips ^ other)  # the highest bit of `other` is cleared
            if flips:
                reduced.append(flips)
        return len(reduced)

    def describe(self) -> str:
        """Return its numbers in words, without its strings."""
        counts = f"{len(self.rotations):,} Pauli rotation{'s' * (len(self.rotations) != 1)}"
        counts += f" and {len(self.blocks):,} dense block{'s' * (len(self.blocks) != 1)}" * bool(self.blocks)
        layers = f"{self.num_layers:,} layer{'s' * (self.num_layers != 1)}"
        return (
            f"{counts} in {layers}, active width {self.active_width} of {self.num_wires}, and a Clifford operator "
            f"(key {self.key:016x})"
        )


def label(string: PauliString, num_wires: int) -> str:
    """Return a letter for each wire, the highest wire first as in Qiskit, behind a minus sign if it is negative."""
    letters = ("IXZY"[(string.x >> wire & 1) + 2 * (string.z >> wire & 1)] for wire in reversed(range(num_wires)))
    return "-" * (string.coefficient == -1) + "".join(letters)


def form_of(circuit: Circuit, tolerance: float = TOLERANCE, *, zeros: bool = False) -> Form:
    """Return the form of a circuit of gates, for its first binding.

    tolerance: how far an angle, in radians, or a matrix entry may be from one that means something. zeros: whether the
    form is to do what the circuit does to |0…0⟩ alone, so that fewer rotations may do. Raises `Cancelled`
    as planning does, `NotSupported` for too many wires and for instructions that are no gates, and `OutOfMemory`.
    """
    made = begun(Circuit.of_structure(circuit.structure, circuit.operands[:1]), tolerance, UNBOUNDED, zeros)
    made.run()
    return made.form()


def begun(circuit: Circuit, tolerance: float, most: int, zeros: bool, *, only_read: bool = False) -> FormInMaking:
    """Return the form of a circuit in the making, one for all of its bindings.

    most: of its rotations and blocks, once all is read. zeros: as `form_of` takes it. only_read: whether it ends when
    all is read; such a form has no rotations and no operator, and all that is written of it is what was read.
    """
    if not circuit.structure.only_gates:
        raise NotSupported("expected a circuit of gates alone, got other instructions; take the form of its gates.")
    if circuit.num_qubits > MOST_WIRES:
        raise NotSupported(
            f"expected at most {MOST_WIRES} wires, got {circuit.num_qubits}; use fewer wires that gates join."
        )
    instructions = cast(tuple[Unitary, ...], circuit.instructions)
    return FormInMaking(
        instructions, np.ascontiguousarray(circuit.operands), circuit.num_qubits, tolerance, most, zeros, only_read
    )


class FormInMaking:
    """A form in the making in native code.

    operands: complex128 [bindings, total]. What differs among bindings is sums of phases, and is never taken to be 0.
    """

    handle = 0  # until there is one: Ctrl-C may come before `__init__` begins

    def __init__(
        self,
        instructions: tuple[Unitary, ...],
        operands: NDArray[np.complex128],
        num_wires: int,
        tolerance: float,
        most: int,
        zeros: bool,
        only_read: bool = False,
    ) -> None:
        self._free = function("form_free")
        ops, types = as_ops(instructions)
        self.num_wires = num_wires
        self._read = ops, types, operands  # kept, since they are read part by part
        self.handle = function("form_begin")(
            ops,
            0 if types is None else address(types),
            address(operands),
            *operands.shape,
            num_wires,
            tolerance,
            most,
            zeros,
            only_read,
        )

    @classmethod
    def of_read(cls, read: FormInMaking, most: int) -> FormInMaking:
        """Return the whole form of a circuit, of which only what was read is there; most: as `begun` takes it."""
        made = cls.__new__(cls)
        made._free, made.num_wires, made._read = read._free, read.num_wires, read._read
        made.handle = function("form_begin_again")(read.handle, most)
        return made

    def run(self) -> bool:
        """Work to the end; return whether there is a form of so few rotations, for all bindings."""
        state = worked(self.handle, "form")
        if state == -1:
            raise NotSupported("expected gates alone, got an instruction that makes a state; take the form behind it.")
        return state == 0

    def counts(self) -> list[int]:
        """Return the numbers of rotations, blocks and generators, and the key."""
        counts = np.empty(4, dtype=np.int64)
        function("form_counts")(self.handle, address(counts))
        return counts.tolist()

    def form(self) -> Form:
        """Return what native code has found."""
        num_rotations, num_blocks, num_generators, key = self.counts()
        num_strings, wires = num_rotations + num_generators + 2 * self.num_wires, self.num_wires
        strings = np.empty((num_strings, 2), dtype=np.int64)
        numbers = np.empty(num_strings + 3 * num_blocks, dtype=np.int64)
        angles = np.empty(num_rotations + 1)
        function("form_write")(self.handle, address(strings), address(numbers), address(angles))
        layers, rest = numbers[:num_rotations].tolist(), numbers[num_rotations:]
        rows, signs = rest[: 3 * num_blocks].reshape(-1, 3).tolist(), rest[3 * num_blocks :].tolist()
        masks = strings.view(np.uint64).tolist()
        signed = [
            PauliString(x, z, -1.0 if sign else 1.0) for (x, z), sign in zip(masks[num_rotations:], signs, strict=True)
        ]
        generators, images = iter(signed[:num_generators]), signed[num_generators:]
        turned = zip(masks, angles.tolist(), layers, strict=False)
        return Form(
            num_wires=wires,
            rotations=tuple(PauliRotation(PauliString(x, z), angle, layer) for (x, z), angle, layer in turned),
            blocks=tuple(
                DenseBlock(number, tuple(next(generators) for _ in range(count)), layer)
                for number, count, layer in rows
            ),
            clifford=Clifford(tuple(images[:wires]), tuple(images[wires:])),
            phase=float(angles[-1]),
            key=key & (1 << 64) - 1,
        )

    def __del__(self) -> None:
        if self.handle:
            self._free(self.handle)
