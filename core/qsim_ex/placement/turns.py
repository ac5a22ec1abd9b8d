"""Moving index bits into slices: what one pass over a migrated state can do of a permutation.

Bits of a slice's number change by renumbering slices. Bits inside slices are permuted on the device, while those that
shall come inside are near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qsim_ex.placement.windows import Window


@dataclass(frozen=True, slots=True)
class Turn:
    """One pass.

    window: what is near. moves, flip: for `Device.permute` on each window. came: the index bit at which the content of
    an index bit is afterwards. left: what is still to be done, as `sources` of `turn`.
    """

    window: Window
    moves: tuple[int, ...]
    flip: int
    came: dict[int, int]
    left: tuple[int, ...]

    def mask(self, bits: int) -> int:
        """A mask of index bits after the pass."""
        return sum(1 << self.came.get(bit, bit) for bit in range(len(self.left)) if bits >> bit & 1)


def turn(window: Window, sources: Sequence[int], flip: int) -> Turn | None:
    """The next pass towards a state in which index bit k below the slice is bit ``sources[k]``, XOR bit k of `flip`.

    window: what is near now. None if nothing is left to do inside slices.
    """
    inside, local = window.slice, window.local
    if not flip and all(sources[bit] == bit for bit in range(inside)):
        return None
    coming = [source for source in sources[:inside] if source >= inside]
    window = window.bringing(coming[: local - inside])
    wanted = {bit: window.position[sources[bit]] for bit in range(inside)}
    moves = _completed({bit: position for bit, position in wanted.items() if position < local}, local)
    came = {window.bits[source]: window.bits[position] for position, source in enumerate(moves)}
    left = tuple(came.get(source, source) for source in sources)
    last = all(left[bit] == bit for bit in range(inside))
    return Turn(window, moves, flip if last else 0, came, left)


def _completed(moves: dict[int, int], count: int) -> tuple[int, ...]:
    """A permutation of `count` bits with the given sources, in which as many others as can be stay."""
    out = dict(moves)
    taken = set(out.values())
    for bit in range(count):
        if bit not in out and bit not in taken:
            out[bit] = bit
            taken.add(bit)
    left = iter([bit for bit in range(count) if bit not in taken])
    return tuple(out[bit] if bit in out else next(left) for bit in range(count))
