"""Real rotations in generated kernels, written in four ways: for `benchmarks.blocks`.

Each way is the emitter's own text with another body of the function for one pair of amplitudes, and other numbers:

- ``matrix``: as the engine does it, four multiplications (two of them fused) for each amplitude;
- ``shears``: three shears, x by −tan φ/2, y by sin φ, x by −tan φ/2, where R turns by φ: three;
- ``scaled``: cos φ taken out, [[1, −t], [t, 1]] with t = tan φ, and the product of all cosines at the end of the sweep:
  two, but t has no bound, and the product of the cosines may vanish;
- ``pivoted``: where |t| > 1, sin φ is taken out instead, [[u, −1], [1, u]] with u = cot φ: two, both forms being in the
  code, and a number deciding between them.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, pattern
from qsim_ex.steps import Diagonal, Mix, RegisterBlock, Slot, Sweep

WAYS = {"matrix": 4, "shears": 3, "scaled": 2, "pivoted": 2}
"""Arithmetic instructions for each amplitude and rotation."""

ANGLES = ("random", "near π/2", "near π")
"""RY by θ turns by φ = θ/2: near π the tangent has no bound."""

NEAR = ((8, 9, 10, 11), (0, 1, 2, 3), (4, 5, 6, 7))

_SHEARS = """\
    a0.x += m[0] * a1.x;
    a0.y += m[0] * a1.y;
    a1.x += m[1] * a0.x;
    a1.y += m[1] * a0.y;
    a0.x += m[0] * a1.x;
    a0.y += m[0] * a1.y;
"""

_SCALED = """\
    const amp b0 = a0, b1 = a1;
    a0.x = b0.x - m[0] * b1.x;
    a0.y = b0.y - m[0] * b1.y;
    a1.x = b1.x + m[0] * b0.x;
    a1.y = b1.y + m[0] * b0.y;
"""

_TURNED = """\
__device__ __forceinline__ void turned(amp& a0, amp& a1, const real* m)
{
    const amp b0 = a0, b1 = a1;
    a0.x = m[0] * b0.x - b1.x;
    a0.y = m[0] * b0.y - b1.y;
    a1.x = m[0] * b1.x + b0.x;
    a1.y = m[0] * b1.y + b0.y;
}
"""

_FUNCTION = re.compile(r"(__device__ __forceinline__ void mix_rrrr\([^)]*\)\n\{\n).*?(^\}\n)", re.DOTALL | re.MULTILINE)
_CALLS = re.compile(r"(?:^ *mix_rrrr\(\w+, \w+, (v(?: \+ \d+)?)\);\n)(?:^ *mix_rrrr\(\w+, \w+, \1\);\n)*", re.MULTILINE)


def turns(angles: str, rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The angles θ [register block, round, bit]."""
    shape = (len(NEAR), rounds, 4)
    if angles == "random":
        return rng.uniform(-np.pi, np.pi, shape)
    middle = np.pi / 2 if angles == "near π/2" else np.pi
    return middle * rng.choice([-1, 1], shape) * (1 - 10 ** rng.uniform(-6, -2, shape))


def sweep(way: str, rounds: int) -> Sweep:
    """All bits of a tile of 12 bits are turned `rounds` times, four bits in each register block."""
    at, register_blocks = 0, []
    for near in NEAR:
        items: list[Mix | Diagonal] = []
        for _ in range(rounds):
            for bit in near:
                items.append(Mix((bit,), (), ALWAYS, pattern("rrrr"), Slot(at, 4)))
                at += 4
        register_blocks.append((near, items))
    if way in ("scaled", "pivoted"):
        register_blocks[-1][1].append(Diagonal((), ALWAYS, pattern("r"), Slot(at, 1)))
        at += 1
    return Sweep(tuple(range(12)), tuple(RegisterBlock(near, tuple(items)) for near, items in register_blocks), at, 0)


def numbers(way: str, theta: NDArray[np.float64]) -> NDArray[np.complex128]:
    """The packed numbers of `sweep`; four for each rotation, of which a way may use fewer, and the scale."""
    phi = theta.ravel() / 2
    cos, sin, zero = np.cos(phi), np.sin(phi), np.zeros_like(phi)
    if way == "matrix":
        return np.stack([cos, -sin, sin, cos], axis=1).ravel().astype(np.complex128)
    if way == "shears":
        return np.stack([-np.tan(phi / 2), sin, zero, zero], axis=1).ravel().astype(np.complex128)
    pivot = (np.abs(sin) > np.abs(cos)) & (way == "pivoted")
    scale = np.where(pivot, sin, cos)
    ratio = np.where(pivot, cos, sin) / scale
    packed = np.stack([ratio, pivot.astype(float), zero, zero], axis=1).ravel()
    return np.append(packed, np.prod(scale)).astype(np.complex128)


def written(way: str, code: str) -> str:
    """The emitter's text, changed to a way."""
    if way == "matrix":
        return code
    body = _SHEARS if way == "shears" else _SCALED
    code, count = _FUNCTION.subn(lambda found: found[1] + body + found[2], code + "\n")
    assert count == 1, "the emitter writes rotations in another way"
    if way != "pivoted":
        return code
    code, count = _CALLS.subn(_both_forms, code)
    assert count, "the emitter writes rotations in another way"
    return code.replace('extern "C"', _TURNED + 'extern "C"', 1)


def _both_forms(found: re.Match[str]) -> str:
    calls, where = found[0], found[1]
    return f"if (({where})[1] != 0) {{\n{calls.replace('mix_rrrr', 'turned')}}} else {{\n{calls}}}\n"


def turned(tiles: NDArray[np.complex128], theta: NDArray[np.float64]) -> NDArray[np.complex128]:
    """What the rotations make of tiles [tile, 2^12], by definition."""
    for near, rounds in zip(NEAR, theta, strict=True):
        for angles in rounds:
            for bit, angle in zip(near, angles, strict=True):
                pairs = tiles.reshape(len(tiles), -1, 2, 1 << bit)
                matrix = np.array([[np.cos(angle / 2), -np.sin(angle / 2)], [np.sin(angle / 2), np.cos(angle / 2)]])
                tiles = np.einsum("xy,tayb->taxb", matrix, pairs).reshape(len(tiles), -1)
    return tiles
