"""The ceilings of a GPU: a copy of device memory, and multiply-adds that access no memory.

Kernels of sweeps are long straight code, so multiply-adds are measured in straight code of several lengths too: where
that is slower than a loop, fetching instructions is the limit and not arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol

import numpy as np

from qsim_ex.kernels.cuda.compile import compilation
from qsim_ex.kernels.cuda.cupy_runtime import CupyRuntime
from qsim_ex.kernels.cuda.fixed import fixed
from qsim_ex.kernels.cuda.runtime import ByValue
from qsim_ex.precision import Precision

COPY = """\
extern "C" __global__ void __launch_bounds__(256) ceiling(Chunk* state, const unsigned long long half)
{
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long k = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; k < half; k += step)
        state[half + k] = state[k];
}
"""
"""Copies the first half of a buffer to its second half; a half is counted in chunks of 16 bytes."""

FILL = """\
extern "C" __global__ void __launch_bounds__(256) ceiling(real* state, const unsigned long long count)
{
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long k = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += step)
        state[k] = (real)((k * 2654435761ull >> 7 & 0xffff) / 65536.0 - 0.5) / 16384;
}
"""
"""Fills a buffer with numbers that look random, since zeros would cost less power."""

ACCUMULATORS = 24

LONG = (16384, 1, False)
"""The longest straight code among the ceilings: multiply-adds, rounds, whether all is in registers."""


def head(precision: Precision) -> str:
    """The types that all texts here use."""
    real = precision.storage.cuda.real
    return f"typedef {real} real;\nstruct __align__(16) Chunk {{ double x, y; }};\nstruct Numbers {{ real v[64]; }};\n"


def multiply_adds(length: int, precision: Precision, *, registers: bool = False) -> str:
    """A kernel whose threads run `length` multiply-adds in straight code, and this `rounds` times.

    One factor of each is a number that was passed by value, as in sweeps; with `registers` it is in a register, and
    differs between threads, or the compiler would find out.
    """
    bounds = f"{precision.geometry.threads}, {precision.geometry.blocks}"
    lines = [
        f'extern "C" __global__ void __launch_bounds__({bounds}) ceiling(',
        "    real* out, const unsigned rounds, const __grid_constant__ Numbers n)",
        "{",
        *[f"    real a{k} = threadIdx.x + {k};" for k in range(ACCUMULATORS)],
        *[f"    const real v{k} = n.v[{k}] + threadIdx.x * (real)1e-9;" for k in range(8)],
        "#pragma unroll 1",
        "    for (unsigned round = 0; round < rounds; ++round) {",
    ]
    for k in range(length):
        to, other = k % ACCUMULATORS, (k * 7 + 5) % ACCUMULATORS
        factor = f"v{k // 8 % 8}" if registers else f"n.v[{k // 8 % 64}]"
        lines.append(f"        a{to} = {factor} * a{other} + a{to};")
    total = " + ".join([f"a{k}" for k in range(ACCUMULATORS)] + [f"v{k}" for k in range(8)])
    return head(precision) + "\n".join([*lines, "    }", f"    if ({total} == (real)0.5) out[0] = 1;", "}", ""])


class Bench(Protocol):
    """A GPU, or what stands in for it, as the measurements need it."""

    runtime: Any

    def function(self, code: str, name: str) -> tuple[Any, compilation.KernelResources]:
        """Compile; called from several threads."""

    def load(self, compiled: Any, name: str) -> Any:
        """What `runtime.launch` takes."""

    def seconds(self, launch: Callable[[], None], repeat: int) -> float:
        """The median time of a launch on the device."""


class CupyBench:
    """The GPU at hand."""

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        self.runtime = CupyRuntime()
        self._arch = cupy.cuda.Device(0).compute_capability
        compilation.compiler()

    def function(self, code: str, name: str) -> tuple[Any, compilation.KernelResources]:
        """Compile, whatever the cache on disk holds, for the assembler's report."""
        del name
        cubin, log = compilation.translate(code, self._arch)
        return cubin, compilation.report(log)

    def load(self, compiled: Any, name: str) -> Any:
        """Load machine code."""
        module = self._cupy.cuda.Module()
        module.load(compiled)
        return module.get_function(name)

    def seconds(self, launch: Callable[[], None], repeat: int) -> float:
        """Between two events; one launch before, which does not count."""
        launch()
        times = []
        for _ in range(repeat):
            start, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
            start.record()
            launch()
            end.record()
            end.synchronize()
            times.append(self._cupy.cuda.get_elapsed_time(start, end) / 1e3)
        return median(times)


@dataclass
class Ceilings:
    """What this GPU does at most.

    straight: multiply-adds per second by kilobytes of straight code. by_value: those in a loop, one factor of each
    being passed by value; for `fma_per_second` all are in registers. product: those of the matrix product.
    """

    bytes_per_second: float
    fma_per_second: float
    by_value: float = 0.0
    straight: dict[int, float] = field(default_factory=dict)
    product: float = 0.0


def measured(bench: Bench, state: Any, precision: Precision, blocks: int, repeat: int) -> Ceilings:
    """Copy, multiply-adds in a loop and in straight code, and the matrix product of wide gates."""
    reals = np.uint64(2 * state.size)
    types = head(precision)

    def built(code: str) -> Any:
        return bench.load(bench.function(code, "ceiling")[0], "ceiling")

    bench.runtime.launch(built(types + FILL), blocks, 256, state, reals)
    copy = built(types + COPY)
    half = np.uint64(state.nbytes // 32)
    seconds = bench.seconds(lambda: bench.runtime.launch(copy, blocks, 256, state, half), repeat)
    found = Ceilings(state.nbytes / seconds, 0.0)
    real = precision.storage.real.type
    numbers = ByValue(np.linspace(-0.01, 0.01, 64).astype(real))
    threads, out = precision.geometry.threads, bench.runtime.empty(1, real)
    for length, rounds, registers in ((240, 64, True), (256, 64, False), (1024, 1, False), (4096, 1, False), LONG):
        kernel = built(multiply_adds(length, precision, registers=registers))
        grid = max(1, blocks * 16 // max(1, length // 1024))

        def launch(kernel: Any = kernel, grid: int = grid, rounds: int = rounds) -> None:
            bench.runtime.launch(kernel, grid, threads, out, np.uint32(rounds), numbers)

        rate = length * rounds * threads * grid / bench.seconds(launch, repeat)
        if registers:
            found.fma_per_second = rate
        elif rounds > 1:
            found.by_value = rate
        else:
            found.straight[length // 64] = rate
    side = min(1024, 1 << (int(state.size).bit_length() - 1) // 2)
    columns = max(1, min(1 << 16, state.size // side // 2))
    area = side * columns
    left = bench.runtime.upload(np.ones(side * side, dtype=state.dtype) / side)
    tiles = -(-side // 64) * -(-columns // 64)

    def product() -> None:
        halves = state[:area], state[area : 2 * area]
        fixed.launch(bench.runtime, "product", precision, tiles, 256, left, *halves, side, side, columns)

    found.product = 4.0 * side * side * columns / bench.seconds(product, repeat)
    return found
