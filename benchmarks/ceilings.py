"""The ceilings of a GPU: a copy of device memory, and multiply-adds that access no memory.

Kernels of sweeps are long straight code, so multiply-adds are measured in straight code of several lengths too: where
that is slower than a loop, fetching instructions is the limit and not arithmetic.
"""

from __future__ import annotations

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
