"""Dense matrices on four bits by tensor cores: the places of numbers for `mma.sync`, and the kernel's text.

A tile is a matrix of 16 rows (the values of the four near bits) and many columns, its groups. A warp multiplies eight
columns at a time. Column bits go to lanes as the instruction requires; the near bits of a lane's number are free, and
so are the others: they are chosen so that neither reading nor writing has bank conflicts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.write import tensor
from qsim_ex.kernels.cuda.write.register_layout import runs, slot_of, swizzle
from qsim_ex.kernels.cuda.write.tensor import FragmentLayout, mask
from qsim_ex.kernels.cuda.write.words import spread
from qsim_ex.precision import DOUBLE, SINGLE, Precision

HERE = Path(__file__).parent

NAME = "blocks"
MATRIX_SCALE = 256.0
"""Matrices in half precision are scaled, so that their second terms are not subnormal."""


@dataclass(frozen=True)
class Kind:
    """One way to use the tensor cores.

    define: the number format as the text knows it. terms: short numbers that make one real number.
    depth: columns of one FP64 instruction, 0 for the shape of eight rows. precision: of amplitudes.
    warps: of a block. limit: the relative error above which a kernel is wrong.
    """

    define: str
    terms: int = 1
    depth: int = 0
    precision: Precision = SINGLE
    warps: int = 8
    limit: float = 1e-5

    @property
    def products(self) -> int:
        """Short products that make one real product."""
        return self.terms * (self.terms + 1) // 2

    @property
    def tile(self) -> int:
        """Bits of a tile."""
        return self.precision.geometry.tile_bits


KINDS = {
    "tf32": Kind("TF32", limit=1e-2),
    "f16": Kind("F16", limit=1e-2),
    "3xtf32": Kind("TF32", 2),
    "3xtf32, 4 warps": Kind("TF32", 2, warps=4),
    "3xf16": Kind("F16", 2),
    "6xbf16": Kind("BF16", 3),
    "dmma 8x8x4": Kind("DOUBLE", depth=0, precision=DOUBLE, warps=4, limit=1e-13),
    "dmma 16x8x4": Kind("DOUBLE", depth=4, precision=DOUBLE, warps=4, limit=1e-13),
    "dmma 16x8x8": Kind("DOUBLE", depth=8, precision=DOUBLE, warps=4, limit=1e-13),
    "dmma 16x8x16": Kind("DOUBLE", depth=16, precision=DOUBLE, warps=4, limit=1e-13),
}


def arrange(near: tuple[int, ...], kind: Kind) -> FragmentLayout:
    """Choose the lanes as the engine does; with fewer warps than it has, each loops more often."""
    found = tensor.arrange(near, kind.tile, kind.precision)
    loops = len(found.warps) - kind.warps.bit_length() + 1
    return replace(found, loops=(*found.loops, *found.warps[:loops]), warps=found.warps[loops:])


# --- The matrix, as lanes load it ---


def entries(kind: Kind, place: FragmentLayout) -> NDArray[np.int64]:
    """Which entry of a matrix each lane loads, in the order in which the numbers lie in memory, of one part."""
    if kind.define not in ("F16", "BF16"):
        return tensor.entries(place, kind.precision)
    half, lane, number = np.ix_(range(2), range(32), range(4))  # pairs; then row + 8; then column + 8
    row, column = (lane >> 2) + 8 * (number >> 1), 2 * (lane & 3) + (number & 1) + 8 * half
    shape = np.broadcast_shapes(row.shape, column.shape)
    columns = [2 * (bits & 3) + (bits >> 2 & 1) + 8 * (bits >> 3) for bits in range(16)]
    return tensor.in_order(place, (np.broadcast_to(row, shape), np.broadcast_to(column, shape)), columns).ravel()


def table(kind: Kind, matrices: NDArray[np.complex128], near: list[FragmentLayout]) -> NDArray[np.floating[Any]]:
    """Matrices [phases, 16, 16], whose indices have `near` as bits, in the order in which lanes load them."""
    scale = MATRIX_SCALE if kind.define == "F16" else 1.0
    taken = np.stack([m.ravel()[entries(kind, place)] for m, place in zip(matrices, near, strict=True)]) * scale
    real = kind.precision.storage.real
    return np.stack([taken.real, taken.imag], axis=1).ravel().astype(real)


# --- The text ---


def head(kind: Kind, *, instructions: bool = True) -> str:
    """Definitions and functions; without instructions, something else has to provide them."""
    real = kind.precision.storage.cuda.real
    lines = [
        f"typedef {real} real;",
        f"typedef {real}2 amp;",
        "typedef unsigned long long u64;",
        f"#define {kind.define}",
        f"#define TERMS {kind.terms}",
        f"#define DEPTH {kind.depth}",
    ]
    texts = [instruction(kind)] if instructions else []
    if kind.precision is DOUBLE:
        return "\n".join([*lines, *texts, (HERE / "products_double.cu").read_text()])
    terms = (HERE / ("terms.cu" if kind.define == "TF32" else "fragments.cu")).read_text()
    return "\n".join([*lines, *texts, tensor.part("reals.cu"), terms, (HERE / "products.cu").read_text()])


def instruction(kind: Kind) -> str:
    """The text of a kind's instructions: the engine's where it uses the same."""
    if kind.define == "TF32":
        return (HERE / "tf32.cu").read_text()
    return tensor.part("f64.cu") if kind.depth == 8 else (HERE / "instructions.cu").read_text()


def text(kind: Kind, near: list[tuple[int, ...]], *, instructions: bool = True) -> str:
    """A sweep over tiles of the lowest bits: one matrix for each of the four near positions of each register block."""
    placed = [arrange(positions, kind) for positions in near]
    blocks = 24 // kind.warps if kind.precision is SINGLE else 16 // kind.warps
    lines = [
        f'extern "C" __global__ void __launch_bounds__({32 * kind.warps}, {blocks}) {NAME}(',
        "    amp* state,",
        "    const real* table)",
        "{",
        f"    __shared__ amp tile[{1 << kind.tile}];",
        "    unsigned t = threadIdx.x;",
        f"    amp* const here = state + ((u64)blockIdx.x << {kind.tile});",
        "    Matrix m;",
    ]
    for number, place in enumerate(placed):
        first, last = number == 0, number == len(placed) - 1
        lines += ["    {", *_phase(kind, place, number * 512, first, last), "    }"]
        lines += [] if last else ["    __syncthreads();"]
        if first and kind.define == "F16":
            lines = _scaled(lines)
    return "\n".join([head(kind, instructions=instructions), *lines, "}", ""])


def _scaled(lines: list[str]) -> list[str]:
    """The scale is known after the first register block has loaded, and used in the last: it is declared outside."""
    return [line.replace("    Matrix m;", "    Matrix m;\n    float up, down;") for line in lines]


def _phase(kind: Kind, place: FragmentLayout, at: int, first: bool, last: bool) -> list[str]:
    """One register block: read columns, multiply, write columns; the first from memory, the last to memory."""
    lines = [] if first else ['asm volatile("" : "+r"(t));']
    lines += [
        f"load(m, table + {at}, t & 31);",
        f"const unsigned p = {spread('t', runs(place.reading), wide=False)};",
        f"const unsigned q = {spread('t', runs(place.writing), wide=False)};",
    ]
    lines += [] if first else [f"const unsigned from = {slot_of('p', kind.tile, kind.precision)};"]
    lines += [] if last else [f"const unsigned to = {slot_of('q', kind.tile, kind.precision)};"]
    loops = range(1 << len(place.loops))
    offsets = [mask(place.loops, loop) for loop in loops]
    inputs = [mask(place.columns[2:], r) for r in range(4)]
    outputs = [mask((place.groups[0], place.rows[3]), r) for r in range(4)]

    def read(offset: int, r: int) -> str:
        mask = offset | inputs[r]
        return f"here[p + {mask:#x}]" if first else f"tile[from ^ {swizzle(mask, kind.precision):#x}]"

    def write(offset: int, r: int) -> str:
        mask = offset | outputs[r]
        return f"here[q + {mask:#x}]" if last else f"tile[to ^ {swizzle(mask, kind.precision):#x}]"

    scaled = kind.define == "F16"
    if first and scaled:
        lines += [
            f"amp a{k}[4] = {{{', '.join(read(offset, r) for r in range(4))}}};" for k, offset in enumerate(offsets)
        ]
        lines += ["unsigned most = 0;"]
        lines += [f"most = largest(most, a{k});" for k in loops]
        lines += ["scales(block_max(most), up, down);"]
        lines += [f"scale(a{k}, up);" for k in loops]
    for k, offset in enumerate(offsets):
        # Eight columns after eight: the compiler would otherwise load several at once, and spill.
        lines += ["{"] if first or k == 0 else ['asm volatile("" ::: "memory");', "{"]
        if not (first and scaled):
            lines.append(f"    amp a{k}[4] = {{{', '.join(read(offset, r) for r in range(4))}}};")
        lines += ["    amp c[4];", f"    multiply(m, a{k}, c);"]
        if scaled:
            lines.append(f"    scale(c, {1 / MATRIX_SCALE}f{' * down' if last else ''});")
        if last and place.groups[0] == 0 and kind.precision is SINGLE:  # two neighbours in one instruction
            for r in (0, 2):
                lines.append(f"    *(float4*)&{write(offset, r)} = {{c[{r}].x, c[{r}].y, c[{r + 1}].x, c[{r + 1}].y}};")
        else:
            lines += [f"    {write(offset, r)} = c[{r}];" for r in range(4)]
        lines.append("}")
    return [f"        {line}" for line in lines]


CEILING = """
extern "C" __global__ void __launch_bounds__(256) ceiling(real* out, const unsigned rounds)
{
    Matrix m;
    real d[CHAINS][4];
    for (int k = 0; k < 4 * CHAINS; ++k) d[k / 4][k % 4] = threadIdx.x + k;
    START
#pragma unroll 1
    for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < CHAINS; ++k) PRODUCT;
    }
    real sum = 0;
    for (int k = 0; k < 4 * CHAINS; ++k) sum += d[k / 4][k % 4];
    if (sum == (real)0.5) out[0] = sum;
}
"""


def ceiling(kind: Kind) -> tuple[str, int]:
    """A kernel of products alone, and the multiply-adds of one thread in one round."""
    if kind.define == "DOUBLE":
        start = "for (int k = 0; k < 8; ++k) m.v[0][k] = threadIdx.x * 1e-9;"
        start += " const double b[4] = {m.v[0][0], m.v[0][1], m.v[0][2], m.v[0][3]};"
        product, each, chains = "mma(d[k], m.v[0], b)", 16 * 8 * 16, 4
    else:
        start = "for (int k = 0; k < 4; ++k) m.v[0][0][0][k] = threadIdx.x * 0x10001u;"
        product = "mma(d[k], m.v[0][0][0], m.v[0][0][0][0], m.v[0][0][0][1])"
        each, chains = 16 * 8 * (8 if kind.define == "TF32" else 16), 8
    code = CEILING.replace("START", start).replace("PRODUCT", product).replace("CHAINS", str(chains))
    return head(kind) + code, chains * each // 32
