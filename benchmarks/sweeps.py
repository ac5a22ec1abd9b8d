"""The sweeps of circuits: ``python -m benchmarks.sweeps --n 28`` times the kernel of every large sweep of every family.

For each sweep: its time (the median of several, by CUDA events), bytes, bytes per second, multiply-adds, multiply-adds
per second, the shares of this GPU's ceilings (measured in the same run), registers and spilled bytes. For each
variant of writing kernels: the time of all sweeps of a family. Two variants are not for use but for understanding:
``moves`` has no arithmetic, and ``cached`` finds its amplitudes in the L2 cache. Where their times add up to the whole
time, memory and arithmetic do not overlap; where ``cached`` is far above the multiply-adds' own time, look at the
straight-code ceilings.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.ceilings import Bench, Ceilings, CupyBench, measured
from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.kernels.cuda.compile import compilation
from qsim_ex.kernels.cuda.launch import loading
from qsim_ex.kernels.cuda.write import emit
from qsim_ex.kernels.cuda.write.register_layout import visited_bits
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.cost.summary import step_cost
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import BY_DTYPE, PRECISIONS, Precision
from qsim_ex.steps import Layout, Plan, RegisterBlock, Sweep

ORDER = ("brick", "qv", "grid", "qft", "qaoa", "su2", "ghz")
"""Families whose kernels matter most come first, in case time runs out."""

SMALL = 4
"""Sweeps that visit less than 2^-SMALL of the state are left out: they take no time worth measuring."""


@dataclass(frozen=True)
class Variant:
    """A way to write kernels: with another tile, or with a change of the text.

    tile: how many bits smaller than usual the tile is. edit: changes the text, given multiply-adds of a thread.
    empty: register blocks without items. tensor: whether dense blocks are for the tensor cores, if the GPU's are good
    at it.
    """

    tile: int = 0
    edit: Callable[[str, float], str] | None = None
    empty: bool = False
    tensor: bool = True


BLOCK = "    const u64 b = blockIdx.x;\n"


def _cached(text: str, work: float) -> str:
    """All blocks work on the same 512 tiles, which the L2 cache holds."""
    del work
    assert BLOCK in text
    return text.replace(BLOCK, "    const u64 b = blockIdx.x & 0x1ff;\n")


def _staggered(text: str, work: float) -> str:
    """The blocks that begin together wait for different times, so that some load while others compute."""
    assert BLOCK in text
    return text.replace(
        BLOCK,
        BLOCK
        + "#ifdef __CUDA_ARCH__\n    unsigned sms;\n"
        + '    asm("mov.u32 %0, %%nsmid;" : "=r"(sms));\n'
        + f"    if (b < 4 * sms) for (const long long from = clock64(), wait = b / sms * {int(2.4 * work)}ll;"
        + " clock64() - from < wait;);\n#endif\n",
    )


VARIANTS = {
    "base": Variant(),
    "gates": Variant(tensor=False),
    "moves": Variant(empty=True),
    "cached": Variant(edit=_cached),
    "stagger": Variant(edit=_staggered),
    "tile-1": Variant(tile=1),
}


@dataclass
class Row:
    """One sweep in one variant."""

    family: str
    variant: str
    number: int
    visits: int
    blocks: int
    items: int
    bytes: float
    fma: float
    threads: int
    registers: int = 0
    spilled: int = 0
    seconds: float = 0.0


@dataclass
class Job:
    """A row that waits for its kernel."""

    row: Row
    sweep: Sweep
    numbers: Any
    kernel: emit.Kernel
    compiled: Future[tuple[Any, compilation.KernelResources]]


@functools.cache
def plan_of(family: str, n: int, precision: Precision, smaller: int, tensor: bool) -> tuple[Plan, Any]:
    """A family's plan, from |0…0>, and its numbers."""
    circuit = circuit_of(FAMILIES[family].build(n, 1), n)
    shape = shape_of(precision, tensor)
    shape = replace(shape, tile=shape.tile - smaller)
    plan = make_plan(circuit.instructions, n, Layout.identity(n), shape, (1 << n) - 1)
    return plan, bind(plan, circuit.operands)


def jobs_of(
    bench: Bench, pool: ThreadPoolExecutor, family: str, variants: Sequence[str], n: int, precision: Precision
) -> list[Job]:
    """All kernels of a family, on their way through the compiler, the longest first."""
    made: list[tuple[Row, Sweep, Any, emit.Kernel, str]] = []
    for name in variants:
        variant = VARIANTS[name]
        tensor = variant.tensor and bench.runtime.tensor
        plan, numbers = plan_of(family, n, precision, variant.tile, tensor)
        for number, (step, packed) in enumerate(zip(plan.steps, numbers, strict=True)):
            if not isinstance(step, Sweep) or visited_bits(step, n) < n - SMALL:
                continue
            cost = step_cost(step, n, precision, plan.shape)
            items = sum(len(block.items) for block in step.register_blocks)
            sweep = (
                replace(step, register_blocks=tuple(RegisterBlock(b.registers, ()) for b in step.register_blocks))
                if variant.empty
                else step
            )
            kernel = emit.emit(sweep, precision, bench.runtime.room, tensor=tensor)
            row = Row(
                family, name, number, visited_bits(step, n), len(step.register_blocks), items, cost.bytes, cost.fma,
                kernel.threads,
            )  # fmt: skip
            code = kernel.code
            if variant.edit:
                amplitudes = 1 << min(4, len(step.tile))
                code = variant.edit(code + "\n", cost.fma / (1 << row.visits) * amplitudes)
            made.append((row, sweep, packed, kernel, code))
    made.sort(key=lambda job: -len(job[4]))
    texts = {code: pool.submit(bench.function, code, emit.NAME) for *_, code in made}
    return [Job(row, sweep, packed, kernel, texts[code]) for row, sweep, packed, kernel, code in made]


def measure(bench: Bench, state: Any, jobs: Sequence[Job], n: int, repeat: int) -> list[Row]:
    """Time every kernel of a family."""
    rows = []
    real = BY_DTYPE[state.dtype].storage.real.type
    for job in jobs:
        machine_code, report = job.compiled.result()
        function = bench.load(machine_code, emit.NAME)
        takes = loading.NumberTakes(job.kernel.values, job.kernel.table, pivots=job.kernel.pivots)
        given = loading.give(bench.runtime, takes, job.numbers, real)
        blocks = 1 << n - job.kernel.skipped_bits

        def launch(
            function: Any = function, blocks: int = blocks, threads: int = job.kernel.threads, given: Any = given
        ) -> None:
            bench.runtime.launch(function, blocks, threads, state, given.on_device, np.uint64(0), given.by_value)

        job.row.seconds = bench.seconds(launch, repeat)
        job.row.registers, job.row.spilled = report
        rows.append(job.row)
    return rows


def page(found: Ceilings, rows: Sequence[Row], left_out: Sequence[str]) -> str:
    """The figures as text: ceilings, sweeps, families by variants."""
    mem, fma = found.bytes_per_second, found.fma_per_second
    straight = ", ".join(f"{kb} KB {rate / 1e12:.1f}" for kb, rate in found.straight.items())
    arithmetic = f"{fma / 1e12:.1f} T/s in a loop, {found.by_value / 1e12:.1f} by value, in straight code {straight}"
    lines = [
        f"copy {mem / 1e12:.2f} TB/s; multiply-adds {arithmetic}; matrix product {found.product / 1e12:.1f} T/s",
        "family  no 2^v ph items    GB  fma/a     ms  TB/s T/s  mem  fma  reg spill | moves cached",
    ]
    by = {(row.family, row.variant, row.number): row for row in rows}
    for row in sorted(rows, key=lambda row: (ORDER.index(row.family), row.number)):
        if row.variant != "base":
            continue
        others = [by.get((row.family, name, row.number)) for name in ("moves", "cached")]
        shown = " ".join(f"{other.seconds * 1e3:6.2f}" if other else "     -" for other in others)
        lines.append(
            f"{row.family:6} {row.number:3d} {row.visits:3d} {row.blocks:2d} {row.items:5d} {row.bytes / 1e9:5.2f} "
            f"{row.fma / 2**row.visits:6.0f} {row.seconds * 1e3:6.2f} {row.bytes / row.seconds / 1e12:5.2f} "
            f"{row.fma / row.seconds / 1e12:4.1f} {row.bytes / row.seconds / mem:4.0%} "
            f"{row.fma / row.seconds / fma:4.0%} {row.registers:4d} {row.spilled:5d} | {shown}"
        )
    names = list(dict.fromkeys(row.variant for row in rows))
    names = [name for name in VARIANTS if name in names]
    lines += ["", "all large sweeps, ms (bound: the larger ceiling of each sweep; best: each sweep's best variant)"]
    lines.append("family  bound   best " + " ".join(f"{name:>8}" for name in names))
    for family in ORDER:
        chosen = [row for row in rows if row.family == family]
        base = [row for row in chosen if row.variant == "base"]
        if not base:
            continue
        bound = sum(max(row.bytes / mem, row.fma / fma) for row in base)
        real = [row for row in chosen if row.variant not in ("moves", "cached") and not VARIANTS[row.variant].tile]
        best = sum(min(row.seconds for row in real if row.number == number) for number in {r.number for r in real})
        sums = [sum(row.seconds for row in chosen if row.variant == name) for name in names]
        lines.append(
            f"{family:6} {bound * 1e3:6.2f} {best * 1e3:6.2f} " + " ".join(f"{1e3 * total:8.2f}" for total in sums)
        )
    spilled = [f"{r.family} {r.number} {r.variant}: {r.spilled}" for r in rows if r.spilled > 128]
    lines.append(f"more than 128 bytes spilled: {'; '.join(spilled[:20]) or 'none'}")
    if left_out:
        lines.append(f"left out, since time ran out: {', '.join(left_out)}")
    return "\n".join(lines)


def run(bench: Bench, chosen: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Measure everything that was chosen, while there is time; returns the page and the document."""
    start = perf_counter()
    precision = PRECISIONS[chosen.precision]
    families = [family for family in ORDER if family in chosen.families]
    state = bench.runtime.empty(1 << chosen.n, precision.storage.dtype)
    rows: list[Row] = []
    left_out: list[str] = []
    with ThreadPoolExecutor(compilation.cores()) as pool:
        waiting = [jobs_of(bench, pool, family, chosen.variants, chosen.n, precision) for family in families]
        found = measured(bench, state, precision, chosen.blocks, chosen.repeat)
        for family, jobs in zip(families, waiting, strict=True):
            if perf_counter() - start > chosen.seconds:
                left_out.append(family)
                for job in jobs:
                    job.compiled.cancel()
                continue
            rows += measure(bench, state, jobs, chosen.n, chosen.repeat)
    text = page(found, rows, left_out)
    return f"{text}\n{perf_counter() - start:.0f} s in all", {
        "kind": "sweeps",
        "n": chosen.n,
        "precision": chosen.precision,
        "commit": chosen.commit or machine.commit(),
        "machine": machine.describe(),
        "ceilings": asdict(found),
        "rows": [asdict(row) for row in rows],
    }


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.sweeps", description=__doc__)
    made.add_argument("--n", type=int, default=28)
    made.add_argument("--precision", default="single", choices=("single", "double"))
    made.add_argument("--families", nargs="+", choices=ORDER, default=list(ORDER))
    made.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    made.add_argument("--repeat", type=int, default=5)
    made.add_argument("--blocks", type=int, default=132 * 24, help="blocks of the ceilings' kernels")
    made.add_argument("--seconds", type=float, default=75.0, help="no family is begun after so many seconds")
    made.add_argument("--commit", help="default: what git says; name it where there is no git")
    made.add_argument("--out", type=Path, help="the JSON file to write")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Measure on the GPU at hand, print the page, write JSON if asked."""
    chosen = parser().parse_args(argv)
    text, document = run(CupyBench(), chosen)
    print(text)
    if chosen.out:
        chosen.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
