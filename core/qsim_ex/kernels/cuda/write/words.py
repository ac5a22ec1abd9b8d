"""The small expressions of CUDA C++ in kernels: indices, bits, parities and conditions.

In every kernel ``u64`` is a 64-bit index and ``i`` the number that a thread's amplitudes have in the whole state,
with 0 for its register bits. ``around`` is what all threads of a tile have of it, 0 for the tile's bits, and ``t`` the
number of a thread in its tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qsim_ex.kernels.cuda.write.register_layout import BitRun

WORD = 32


def spread(source: str, moves: Iterable[BitRun], wide: bool) -> str:
    """Return the bits of a number moved to their places: ``(t & 0xf) | (t >> 4 & 0x3) << 9``; wide: in 64 bits."""
    terms = []
    for move in moves:
        term = f"{source} >> {move.source}" if move.source else source
        if move.length < WORD:
            term = f"({term} & {(1 << move.length) - 1:#x})"
        elif move.source:
            term = f"({term})"
        if wide:
            term = f"(u64){term}"
        terms.append(f"{term} << {move.target}" if move.target else term)
    return " | ".join(terms) or "0"


def masked(mask: int, source: str = "i") -> str:
    """Return the bits of a number under a mask, in 32 bits if they suffice."""
    return f"((unsigned){source} & {mask:#x})" if mask < 1 << WORD else f"({source} & {mask:#x}ull)"


def condition(mask: int, value: int, source: str = "i") -> str:
    """Return the condition that the bits of a number under a mask have a value."""
    suffix = "" if mask < 1 << WORD else "ull"
    return f"{masked(mask, source)} == {value:#x}{suffix}"


def selection(masks: Sequence[int], source: str = "i") -> str:
    """Return the number whose bit k is the parity of a number under ``masks[k]``; an empty mask gives 0."""
    terms = []
    k = 0
    while k < len(masks):
        length = 1
        if masks[k] and masks[k] & (masks[k] - 1) == 0:
            while k + length < len(masks) and masks[k + length] == masks[k] << length:
                length += 1
            start = masks[k].bit_length() - 1
            bits = f"(unsigned)({source} >> {start})" if start else f"(unsigned){source}"
            term = f"({bits} & {(1 << length) - 1:#x})"
        elif masks[k]:
            term = f"(__popc{'' if masks[k] < 1 << WORD else 'll'}{masked(masks[k], source)} & 1)"
        else:
            k += 1
            continue
        terms.append(f"{term} << {k}" if k else term)
        k += length
    return " | ".join(terms) or "0"


def one_line(label: str) -> str:
    """Return a label that cannot end the comment that it is in."""
    return " ".join(label.replace("\\", "/").replace("?", ".").split())
