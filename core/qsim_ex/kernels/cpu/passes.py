"""A permutation of index bits as passes over memory, each of which moves bits only inside tiles."""

from __future__ import annotations

TILE_BITS = 13
"""The bits of a tile: 128 KiB of complex64 or 256 KiB of complex128 are set aside while it is permuted."""
LOW_BITS = 5
"""The low bits that are in every tile, so that memory is accessed in whole cache lines."""


def passes(sources: tuple[int, ...], flip: int) -> list[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """Return (tile, sources in tile coordinates, flip in tile coordinates) of each pass; none for the identity.

    New bit k is old bit ``sources[k]``, XOR bit k of `flip`. Every pass moves as many bits to their place as fit.
    """
    wanted = list(sources)
    done = []
    while any(wanted[k] != k for k in range(len(wanted))) or flip:
        tile = _choose(wanted, flip)
        moves = _moves(wanted, tile)
        to = {old: new for new, old in moves.items()}
        wanted = [to.get(old, old) for old in wanted]
        turn = sum(1 << i for i, bit in enumerate(tile) if flip >> bit & 1 and wanted[bit] == bit)
        flip &= ~sum(1 << bit for bit in tile if wanted[bit] == bit)
        done.append((tile, tuple(tile.index(moves[bit]) for bit in tile), turn))
    return done


def _choose(wanted: list[int], flip: int) -> tuple[int, ...]:
    """Return the low bits, then bits along the cycles that are still to be moved."""
    tile = set(range(min(LOW_BITS, len(wanted))))
    for start in range(len(wanted)):
        bit = start
        while wanted[bit] != bit or flip >> bit & 1:
            if len(tile) == TILE_BITS and bit not in tile:
                return tuple(sorted(tile))
            tile.add(bit)
            bit = wanted[bit]
            if bit == start:
                break
    return tuple(sorted(tile))


def _moves(wanted: list[int], tile: tuple[int, ...]) -> dict[int, int]:
    """Return for each new bit of the tile its old bit: the one it should have, if that is in the tile."""
    moves = {bit: wanted[bit] for bit in tile if wanted[bit] in tile}
    left = [bit for bit in tile if bit not in moves.values()]
    for bit in tile:
        if bit not in moves:
            moves[bit] = bit if bit in left else left[0]
            left.remove(moves[bit])
    return moves
