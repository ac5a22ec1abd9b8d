"""Small device functions that generated kernels call: a matrix of a given pattern on 2, 4 or 8 amplitudes, a factor.

Only what the pattern needs is computed: a real entry costs two multiplications, an entry of 1 an addition, and
an entry of 0 nothing. All functions are inlined, so that numbers passed by value become operands of the
multiplications themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from qsim_ex.circuit.ops import Entry, letters

FACTORS = {
    "times": """\
__device__ __forceinline__ void times(amp& a, const real x, const real y)  // a ← (x + i y) a
{
    const amp b = a;
    a.x = x * b.x - y * b.y;
    a.y = x * b.y + y * b.x;
}
""",
    "scale": """\
__device__ __forceinline__ void scale(amp& a, const real x)  // a ← x a
{
    a.x = x * a.x;
    a.y = x * a.y;
}
""",
    "turn": """\
__device__ __forceinline__ void turn(amp& a, const real y)  // a ← i y a
{
    const amp b = a;
    a.x = -y * b.y;
    a.y = y * b.x;
}
""",
    "negate": """\
__device__ __forceinline__ void negate(amp& a)  // a ← −a
{
    a.x = -a.x;
    a.y = -a.y;
}
""",
    "clear": """\
__device__ __forceinline__ void clear(amp& a)  // a ← 0
{
    a.x = 0;
    a.y = 0;
}
""",
    "swap": """\
__device__ __forceinline__ void swap(amp& a, amp& b)
{
    const amp c = a;
    a = b;
    b = c;
}
""",
    "add": """\
__device__ __forceinline__ void add(amp& a, const amp b, const real x, const real y)  // a ← a + (x + i y) b
{
    a.x += x * b.x;  // one term at a time, each a fused multiply-add
    a.x -= y * b.y;
    a.y += x * b.y;
    a.y += y * b.x;
}
""",
    "add_real": """\
__device__ __forceinline__ void add_real(amp& a, const amp b, const real x)  // a ← a + x b
{
    a.x += x * b.x;
    a.y += x * b.y;
}
""",
    "add_imaginary": """\
__device__ __forceinline__ void add_imaginary(amp& a, const amp b, const real y)  // a ← a + i y b
{
    a.x -= y * b.y;
    a.y += y * b.x;
}
""",
    "mix_imaginary": """\
__device__ __forceinline__ void mix_imaginary(  // (a, b) ← [x, i y; i z, w] (a, b)
    amp& a, amp& b, const real x, const real y, const real z, const real w)
{
    const amp c = a, d = b;
    a.x = x * c.x - y * d.y;
    a.y = x * c.y + y * d.x;
    b.x = w * d.x - z * c.y;
    b.y = w * d.y + z * c.x;
}
""",
    "mix_real": """\
__device__ __forceinline__ void mix_real(  // (a, b) ← [x, y; z, w] (a, b)
    amp& a, amp& b, const real x, const real y, const real z, const real w)
{
    const amp c = a, d = b;
    a.x = x * c.x + y * d.x;
    a.y = x * c.y + y * d.y;
    b.x = z * c.x + w * d.x;
    b.y = z * c.y + w * d.y;
}
""",
    "by_tangent_imaginary": """\
__device__ __forceinline__ void by_tangent_imaginary(amp& a, amp& b, const real t)  // (a, b) ← [1, i t; i t, 1] (a, b)
{
    const amp c = a;
    a.x -= t * b.y;
    a.y += t * b.x;
    b.x -= t * c.y;
    b.y += t * c.x;
}
""",
    "by_cotangent_imaginary": """\
__device__ __forceinline__ void by_cotangent_imaginary(amp& a, amp& b, const real t)  // (a, b) ← [t, i; i, t] (a, b)
{
    const amp c = a;
    a.x = t * c.x - b.y;
    a.y = t * c.y + b.x;
    b.x = t * b.x - c.y;
    b.y = t * b.y + c.x;
}
""",
    "load": """\
template <int count>
__device__ __forceinline__ void load(real (&m)[count], const real* at)  // m ← numbers from a table, by pairs
{
#pragma unroll
    for (int k = 0; k < count; k += 2) {
        const amp pair = __ldg((const amp*)(at + k));
        m[k] = pair.x;
        m[k + 1] = pair.y;
    }
}
""",
}
"""Functions that kernels use by name; a kernel's source holds those that it calls."""


def merged(classes: Iterable[int]) -> Entry:
    """Return the narrowest class that holds entries of all these classes."""
    found = set(classes)
    if len(found) == 1:
        return Entry(found.pop())
    if found <= {Entry.ZERO, Entry.ONE, Entry.MINUS_ONE, Entry.REAL}:
        return Entry.REAL
    if found <= {Entry.ZERO, Entry.IMAG}:
        return Entry.IMAG
    return Entry.COMPLEX


def width(entry: Entry) -> int:
    """Return how many real numbers an entry of a class needs."""
    return _WIDTHS[entry]


_WIDTHS = tuple({Entry.REAL: 1, Entry.IMAG: 1, Entry.COMPLEX: 2}.get(entry, 0) for entry in Entry)


def reals(pattern: bytes) -> int:
    """Return how many real numbers a matrix needs."""
    return pattern.count(Entry.REAL) + pattern.count(Entry.IMAG) + 2 * pattern.count(Entry.COMPLEX)


def matrix_function(name: str, classes: tuple[Entry, ...], fetched: int = 0, pair: str | None = None) -> str:
    """Return the function that multiplies 2^k amplitudes by a matrix whose entries have these classes (C order).

    fetched: the numbers (2 or 4) that are loaded from memory at once, those of a row just before the row, so that few
    are in registers; 0: they are in registers already. pair: the type that loads four, the numbers of two amplitudes.
    """
    size = int(len(classes) ** 0.5)
    arguments = ", ".join(f"amp& a{k}" for k in range(size))
    rows = [letters(bytes(classes[r * size : r * size + size])) for r in range(size)]
    lines = [
        f"// a ← M a with M = [{', '.join(rows)}]",
        f"__device__ __forceinline__ void {name}({arguments}, const real* m)",
        "{",
        f"    const amp {', '.join(f'b{k} = a{k}' for k in range(size))};",
    ]
    at = loaded = 0
    for row in range(size):
        real, imag = "", ""
        for column in range(size):
            entry = classes[row * size + column]
            real += _real_part(entry, at, column)
            imag += _imaginary_part(entry, at, column)
            at += width(entry)
        if fetched:
            vector, wanted = "amp" if fetched == 2 else pair, -(-at // fetched)
            lines += [f"    const {vector} q{k} = __ldg((const {vector}*)m + {k});" for k in range(loaded, wanted)]
            loaded = wanted
            real, imag = (_of_vectors(terms, fetched) for terms in (real, imag))
        lines += [f"    a{row}.x ={_trimmed(real)};", f"    a{row}.y ={_trimmed(imag)};"]
    return "\n".join([*lines, "}", ""])


def _of_vectors(terms: str, size: int) -> str:
    """Return terms whose numbers ``m[k]`` are parts of vectors."""
    return re.sub(r"m\[(\d+)\]", lambda m: f"q{int(m[1]) // size}.{'xyzw'[int(m[1]) % size]}", terms)


def _real_part(entry: Entry, at: int, column: int) -> str:
    """Return the entry's terms in the real part of a row; the sign always comes first."""
    b = f"b{column}"
    return {
        Entry.ZERO: "",
        Entry.ONE: f" + {b}.x",
        Entry.MINUS_ONE: f" - {b}.x",
        Entry.REAL: f" + m[{at}] * {b}.x",
        Entry.IMAG: f" - m[{at}] * {b}.y",
        Entry.COMPLEX: f" + m[{at}] * {b}.x - m[{at + 1}] * {b}.y",
    }[entry]


def _imaginary_part(entry: Entry, at: int, column: int) -> str:
    b = f"b{column}"
    return {
        Entry.ZERO: "",
        Entry.ONE: f" + {b}.y",
        Entry.MINUS_ONE: f" - {b}.y",
        Entry.REAL: f" + m[{at}] * {b}.y",
        Entry.IMAG: f" + m[{at}] * {b}.x",
        Entry.COMPLEX: f" + m[{at}] * {b}.y + m[{at + 1}] * {b}.x",
    }[entry]


def _trimmed(terms: str) -> str:
    """Return a sum without the plus sign before its first term."""
    if terms.startswith(" - "):
        return " -" + terms.removeprefix(" - ")
    return terms.removeprefix(" +") or " 0"
