"""The slots of a tile's amplitudes in shared memory, without conflicts between banks: by XOR, or with gaps.

By XOR of its bits a tile takes no more memory than it has amplitudes, but each of a thread's registers has an address
that is computed. With gaps a slot is a sum of what each bit of the position adds, so that a thread has one address, and
its registers are at constants from it: 15 instructions less in a register block, and fewer registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from qsim_ex.kernels.cuda.write.register_layout import RegisterLayout, banks, slot_of, swizzle
from qsim_ex.precision import Precision


@dataclass(frozen=True)
class TileSlots:
    """How amplitudes of a precision lie in a tile; padded: with gaps."""

    precision: Precision
    padded: bool = False

    def count(self, size: int) -> int:
        """Return the slots of a tile of 2^size amplitudes."""
        return self._spread((1 << size) - 1) + 1 if self.padded else 1 << size

    def of(self, position: str, size: int) -> str:
        """Return the expression of the slot of a thread's position in the tile."""
        if not self.padded:
            return slot_of(position, size, self.precision)
        width = banks(self.precision)
        return " + ".join([position, *(f"({position} >> {shift})" for shift in range(width, size, width))])

    def registers(self, place: RegisterLayout) -> list[int]:
        """Return for each register the constant that `at` joins to a thread's slot."""
        count = 1 << len(place.registers)
        masks = [sum(1 << position for k, position in enumerate(place.registers) if r >> k & 1) for r in range(count)]
        return [self._spread(mask) if self.padded else swizzle(mask, self.precision) for mask in masks]

    def at(self, slot: str, constant: int) -> str:
        """Return the amplitude of a thread's slot and a register's constant."""
        return f"tile[{slot} {'+' if self.padded else '^'} {constant:#x}]"

    def _spread(self, position: int) -> int:
        width = banks(self.precision)
        return sum(position >> shift for shift in range(0, max(position.bit_length(), 1), width))
