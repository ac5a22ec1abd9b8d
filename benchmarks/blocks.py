"""Dense blocks and real rotations: ``python -m benchmarks.blocks --n 28`` measures whether other arithmetic is faster.

*Dense blocks*: a sweep of k register blocks, each of which applies the same dense unitary on four bits to the whole
tile: as four gates on two bits, as one matrix on four (both written by the emitter), and by tensor cores in several
number formats. ``moves`` has the same register blocks without arithmetic. *Rotations*: all bits of a tile are rotated
many times, in the four ways of `benchmarks.rotations`.

Every kernel is compared with complex128 NumPy on sampled tiles before it is timed; a kernel that is wrong, or does not
compile, is reported and has no time. Tiles are the lowest index bits, for all kernels alike.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import ceilings, fragments, machine, rotations, sweeps
from benchmarks.dense import relative_error
from benchmarks.fragments import KINDS, Kind
from benchmarks.gates import haar
from qsim_ex.circuit.ops import ALWAYS, pattern
from qsim_ex.errors import DeviceError
from qsim_ex.kernels.cuda.compile import compilation
from qsim_ex.kernels.cuda.launch import loading
from qsim_ex.kernels.cuda.write import emit
from qsim_ex.precision import PRECISIONS, SINGLE, Precision
from qsim_ex.steps import Mix, RegisterBlock, Slot, Sweep

Tiles = NDArray[np.complex128]

SIZES = (1, 2, 4, 8)
ROUNDS = (1, 2, 4)
SLOW_TO_COMPILE = {"matrix": 4, "3xtf32, 4 warps": 4}
"""Most register blocks of kernels that need a minute of one core beyond."""

NEAR = {"single": ((8, 9, 10, 11), (4, 5, 6, 7), (0, 1, 2, 3)), "double": ((7, 8, 9, 10), (4, 5, 6, 7), (0, 1, 2, 3))}
"""The bits of register blocks, in turn; neither the first nor the last of `SIZES` blocks has the lowest ones."""

PAIRS = ((0, 1), (2, 3), (1, 2), (0, 3))
"""The four gates of a register block."""

LIMIT = {"single": 1e-5, "double": 1e-13}
CEILING_ROUNDS = 1024
EMITTED = ("moves", "gates", "matrix")


@dataclass
class Row:
    """One kernel. size: register blocks, or rounds of rotations. error: relative, in the 2-norm; errors: by angles."""

    part: str
    precision: str
    name: str
    size: int
    registers: int = 0
    spilled: int = 0
    error: float = float("nan")
    seconds: float = 0.0
    note: str = ""


@dataclass
class Task:
    """A kernel that is to be verified and timed.

    code, name: its text and the function's name. given: its arguments behind the state, made when it is loaded.
    exact: what it makes of tiles.
    """

    row: Row
    code: str
    name: str
    threads: int
    tile: int
    given: Callable[[Any], tuple[Any, ...]]
    exact: Callable[[Tiles], Tiles]
    limit: float


# --- What is measured ---


def block(rng: np.random.Generator) -> tuple[list[Tiles], Tiles]:
    """Four unitary gates on the `PAIRS` of four bits, and their product [16, 16]."""
    gates, product = [haar(rng, 2) for _ in PAIRS], np.eye(16, dtype=np.complex128)
    for gate, pair in zip(gates, PAIRS, strict=True):
        product = applied(gate, pair, product.T).T
    return gates, product


def applied(matrix: Tiles, bits: Sequence[int], vectors: Tiles) -> Tiles:
    """A matrix on some bits of the last index of `vectors` [count, 2^n]; ``bits[0]`` is its least significant."""
    size = vectors.shape[1].bit_length() - 1
    axes = [1 + size - 1 - bit for bit in reversed(bits)]
    grid = np.moveaxis(vectors.reshape(len(vectors), *[2] * size), axes, range(1, 1 + len(bits)))
    mixed = np.einsum("xy,cyr->cxr", matrix, grid.reshape(len(vectors), len(matrix), -1))
    whole: Tiles = np.moveaxis(mixed.reshape(grid.shape), range(1, 1 + len(bits)), axes).reshape(vectors.shape)
    return whole


def emitted(name: str, near: Sequence[tuple[int, ...]], blocks: Sequence[tuple[list[Tiles], Tiles]], tile: int) -> Any:
    """A sweep as planning makes it, and its packed numbers."""
    register_blocks, numbers = [], []
    at = 0
    for bits, (gates, product) in zip(near, blocks, strict=True):
        items = []
        every: dict[str, list[tuple[Tiles, tuple[int, ...]]]] = {
            "moves": [],
            "gates": list(zip(gates, PAIRS, strict=True)),
            "matrix": [(product, (0, 1, 2, 3))],
        }
        for matrix, pair in every[name]:
            numbers.append(matrix.ravel())
            mixed = tuple(bits[k] for k in pair)
            items.append(Mix(mixed, (), ALWAYS, pattern("c" * matrix.size), Slot(at, matrix.size)))
            at += matrix.size
        register_blocks.append(RegisterBlock(tuple(bits), tuple(items)))
    packed = np.concatenate(numbers) if numbers else np.zeros(0, dtype=np.complex128)
    return Sweep(tuple(range(tile)), tuple(register_blocks), at, 0), packed


def by_emitter(row: Row, made: Sweep, packed: Tiles, exact: Callable[[Tiles], Tiles], way: str, room: int) -> Task:
    """A task for a sweep that the emitter writes."""
    precision = PRECISIONS[row.precision]
    kernel = emit.emit(made, precision, room)
    real = precision.storage.real.type
    takes = loading.NumberTakes(kernel.values, kernel.table, pivots=kernel.pivots)

    def given(runtime: Any) -> tuple[Any, ...]:
        found = loading.give(runtime, takes, packed, real)
        return found.on_device, np.uint64(0), found.by_value

    code = rotations.written(way, kernel.code)
    return Task(row, code, emit.NAME, kernel.threads, len(made.tile), given, exact, LIMIT[precision.name])


def by_tensor(
    row: Row, kind: Kind, near: Sequence[tuple[int, ...]], exact: Callable[[Tiles], Tiles], all16: Any
) -> Task:
    """A task for a sweep that uses the tensor cores."""
    placed = [fragments.arrange(bits, kind) for bits in near]
    words = fragments.table(kind, np.stack(all16), placed)
    code = fragments.text(kind, list(near))
    threads = 32 * kind.warps
    return Task(
        row, code, fragments.NAME, threads, kind.tile, lambda runtime: (runtime.upload(words),), exact, kind.limit
    )


def dense_tasks(precision: Precision, room: int) -> list[Task]:
    """All kernels for dense blocks in one precision."""
    rng = np.random.default_rng(7)
    tile, named = precision.geometry.tile_bits, precision.name
    blocks = [block(rng) for _ in range(max(SIZES))]
    tasks = []
    for size in SIZES:
        near = [NEAR[named][k % 3] for k in range(size)]

        def exact(tiles: Tiles, near: Any = near) -> Tiles:
            for bits, (_, product) in zip(near, blocks, strict=False):
                tiles = applied(product, bits, tiles)
            return tiles

        for name in EMITTED:
            if size > SLOW_TO_COMPILE.get(name, size):
                continue
            made, packed = emitted(name, near, blocks[:size], tile)
            row = Row("dense", named, name, size)
            task = by_emitter(row, made, packed, _same if name == "moves" else exact, "matrix", room)
            tasks.append(replace(task, code=kept(task.code)) if name == "moves" else task)
        for name, kind in KINDS.items():
            if kind.precision is precision and size <= SLOW_TO_COMPILE.get(name, size):
                row = Row("dense", named, name, size)
                tasks.append(by_tensor(row, kind, near, exact, [product for _, product in blocks[:size]]))
    return tasks


def _same(tiles: Tiles) -> Tiles:
    return tiles


def rotation_tasks(room: int) -> list[Task]:
    """All kernels for rotations; those for special angles are verified and not timed."""
    tasks = []
    for rounds in ROUNDS:
        for way in rotations.WAYS:
            for angles in rotations.ANGLES if rounds == ROUNDS[-1] else ("random",):
                theta = rotations.turns(angles, rounds, np.random.default_rng(11))
                row = Row("rotations", "single", way, rounds, note="" if angles == "random" else angles)
                made, packed = rotations.sweep(way, rounds), rotations.numbers(way, theta)
                tasks.append(by_emitter(row, made, packed, partial(rotations.turned, theta=theta), way, room))
    return tasks


KEEP = """\
__device__ __forceinline__ void keep(amp& a)  // the compiler has to believe that it changes
{
#ifdef __CUDA_ARCH__
    asm volatile("" : "+%"(a.x), "+%"(a.y));
#endif
}
"""


def kept(code: str) -> str:
    """A text without arithmetic, whose amplitudes nevertheless move: what is stored where it was would not be."""
    letter = "d" if "typedef double real" in code else "f"
    code = re.sub(r"^( *)((?:tile\[w|state\[here).* = (a\d+);)$", r"\1keep(\3); \2", code, flags=re.MULTILINE)
    return code.replace('extern "C"', KEEP.replace("%", letter) + 'extern "C"', 1)


# --- Measuring ---


def measure(bench: Any, state: Any, fill: Callable[[], None], task: Task, compiled: Future[Any], repeat: int) -> Row:
    """Verify one kernel and time it; what goes wrong stands in the row's note."""
    row = task.row
    special = bool(row.note)
    try:
        machine_code, report = compiled.result()
    except DeviceError as error:
        row.note = f"does not compile: {str(error)[-300:]}"
        return row
    row.registers, row.spilled = report
    function = bench.load(machine_code, task.name)
    arguments = task.given(bench.runtime)
    size = 1 << task.tile
    count = state.size // size

    def launch() -> None:
        bench.runtime.launch(function, count, task.threads, state, *arguments)

    fill()
    samples = sorted({0, count // 2 + 1 if count > 2 else 0, count - 1})

    def read() -> Tiles:
        taken = [bench.runtime.download(state[k * size : k * size + size]) for k in samples]
        return np.stack(taken).astype(np.complex128)

    before = read()
    launch()
    bench.runtime.synchronize()
    after = read()
    with np.errstate(all="ignore"):
        row.error = relative_error(after, task.exact(before))
    if special:
        return row
    if not row.error <= task.limit:
        row.note = f"WRONG: error {row.error:.1e}"
        return row
    row.seconds = bench.seconds(launch, repeat)
    return row


def tensor_ceilings(bench: Any, precision: Precision, blocks: int, repeat: int) -> dict[str, float]:
    """Multiply-adds per second of `mma.sync` alone, by kind; those whose instruction does not compile are left out."""
    out = bench.runtime.empty(4, precision.storage.real)
    rates: dict[tuple[str, int], float] = {}
    for kind in {(k.define, k.depth): k for k in KINDS.values() if k.precision is precision}.values():
        code, work = fragments.ceiling(kind)
        with contextlib.suppress(DeviceError):
            function = bench.load(bench.function(code, "ceiling")[0], "ceiling")

            def launch(function: Any = function) -> None:
                bench.runtime.launch(function, blocks, 256, out, np.uint32(CEILING_ROUNDS))

            rates[kind.define, kind.depth] = work * CEILING_ROUNDS * 256.0 * blocks / bench.seconds(launch, repeat)
    return {name: rates[k.define, k.depth] for name, k in KINDS.items() if (k.define, k.depth) in rates}


# --- The page ---


def slope(rows: Sequence[Row]) -> float:
    """Seconds for each further register block or round, by least squares, the first one left out; NaN without times."""
    timed = [row for row in rows if row.seconds and row.size > 1]
    if len(timed) < 2:
        return float("nan")
    return float(np.polyfit([row.size for row in timed], [row.seconds for row in timed], 1)[0])


def dense_page(rows: Sequence[Row], precision: str, n: int, found: dict[str, Any]) -> list[str]:
    """Times, slopes, rates and errors of dense blocks in one precision."""
    by = {name: [row for row in rows if row.name == name] for name in dict.fromkeys(row.name for row in rows)}
    slopes = {name: slope(of) for name, of in by.items()}
    gate = (slopes["gates"] - slopes["moves"]) / 4
    lines = [
        (
            f"dense blocks, complex{64 if precision == 'single' else 128}: ms of a sweep with k blocks; ms of a "
            "further block; T multiply-adds per second in it, their share of the ceiling; gates that take as long"
        ),
        f"{'':16}" + " ".join(f"{f'k={k}':>7}" for k in SIZES) + "   block    T/s share gates   error  reg spill",
    ]
    for name, of in by.items():
        kind = KINDS.get(name)
        work = 0 if name == "moves" else 64.0 * (kind.products if kind else 1) * 2**n
        top = found["tensor"].get(name, float("nan")) if kind else found["fma_per_second"]
        rate = work / slopes[name]
        at = {row.size: row for row in of if row.seconds}
        times = " ".join(f"{at[k].seconds * 1e3:7.2f}" if k in at else "      -" for k in SIZES)
        lines.append(
            f"{name:16}{times} {slopes[name] * 1e3:7.3f} {rate / 1e12:6.1f} {rate / top:5.0%} "
            f"{(slopes[name] - slopes['moves']) / gate:5.2f} {of[-1].error:7.1e} {of[-1].registers:4d} "
            f"{of[-1].spilled:5d}"
        )
    return [*lines, f"one gate on two bits: {gate * 1e3:.3f} ms"]


def rotations_page(rows: Sequence[Row], n: int, fma_per_second: float) -> list[str]:
    """Times and errors of rotations."""
    lines = [
        ("rotations, complex64: ms of a sweep with so many rounds on 12 bits; µs of a further rotation, and the "
        "share of the ceiling; errors by angles"),
        f"{'':10}" + " ".join(f"{k:7d}" for k in ROUNDS) + "  µs each share  reg spill  "
        + "  ".join(f"{angles:>8}" for angles in rotations.ANGLES),
    ]  # fmt: skip
    for way, work in rotations.WAYS.items():
        of = [row for row in rows if row.name == way]
        timed = {row.size: row for row in of if row.seconds}
        times = " ".join(f"{timed[k].seconds * 1e3:7.2f}" if k in timed else "      -" for k in ROUNDS)
        each = slope(list(timed.values())) / 12
        errors = {row.note or "random": row.error for row in of if row.size == ROUNDS[-1]}
        last = of[-1]
        lines.append(
            f"{way:10}{times} {each * 1e6:8.1f} {work * 2**n / each / fma_per_second:5.0%} {last.registers:4d} "
            f"{last.spilled:5d}  " + "  ".join(f"{errors.get(a, float('nan')):8.1e}" for a in rotations.ANGLES)
        )
    return lines


# --- The command ---


def run(bench: Any, chosen: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Measure all; returns the page and the document."""
    start = perf_counter()
    rows: list[Row] = []
    lines: list[str] = []
    tops = {}
    with ThreadPoolExecutor(compilation.cores()) as pool:
        tasks = {row: dense_tasks(row, bench.runtime.room) for row in PRECISIONS.values()}
        tasks[SINGLE] += rotation_tasks(bench.runtime.room)
        codes = dict.fromkeys((task.code, task.name) for of in tasks.values() for task in of)
        ordered = sorted(codes, key=lambda text: -len(text[0]))  # the longest first
        begun = {text: pool.submit(bench.function, *text) for text in ordered}
        for precision, of in tasks.items():
            state = bench.runtime.empty(1 << chosen.n, precision.storage.dtype)
            top = asdict(sweeps.measure_ceilings(bench, state, precision, chosen.blocks, chosen.repeat))
            top["tensor"] = tensor_ceilings(bench, precision, chosen.blocks, chosen.repeat)
            tops[precision.name] = top
            text = ceilings.head(precision) + ceilings.FILL
            filler = bench.load(bench.function(text, "ceiling")[0], "ceiling")

            def fill(filler: Any = filler, state: Any = state) -> None:
                bench.runtime.launch(filler, chosen.blocks, 256, state, np.uint64(2 * state.size))

            found = [measure(bench, state, fill, task, begun[task.code, task.name], chosen.repeat) for task in of]
            del state, fill
            rows += found
            tensor = ", ".join(f"{name} {rate / 1e12:.0f}" for name, rate in top["tensor"].items())
            lines += [
                (
                    f"{precision.name}: copy {top['bytes_per_second'] / 1e12:.2f} TB/s; multiply-adds "
                    f"{top['fma_per_second'] / 1e12:.1f} T/s; by tensor cores alone {tensor}"
                ),
                *dense_page([row for row in found if row.part == "dense"], precision.name, chosen.n, top),
                "",
            ]
    lines += rotations_page([r for r in rows if r.part == "rotations"], chosen.n, tops["single"]["fma_per_second"])
    lines += [f"{row.precision} {row.name} {row.size}: {row.note}" for row in rows if ":" in row.note]
    lines.append(f"{perf_counter() - start:.0f} s in all")
    return "\n".join(lines), {
        "kind": "blocks",
        "n": chosen.n,
        "commit": chosen.commit or machine.commit(),
        "machine": machine.describe(),
        "ceilings": tops,
        "rows": [asdict(row) for row in rows],
    }


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.blocks", description=__doc__)
    made.add_argument("--n", type=int, default=28)
    made.add_argument("--repeat", type=int, default=5)
    made.add_argument("--blocks", type=int, default=132 * 24, help="blocks of the ceilings' kernels")
    made.add_argument("--commit", help="default: what git says; name it where there is no git")
    made.add_argument("--out", type=Path, help="the JSON file to write")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Measure on the GPU at hand, print the page, write JSON if asked."""
    chosen = parser().parse_args(argv)
    text, document = run(sweeps.CupyBench(), chosen)
    print(text)
    if chosen.out:
        chosen.out.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if any(":" in row["note"] for row in document["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
