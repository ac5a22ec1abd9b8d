"""What the sweeps of circuits take on a GPU, beside what is predicted: ``python -m benchmarks.sweep_costs FILE``.

The file is one that ``python -m benchmarks.written_out --write FILE`` makes: circuits by name. Of each the plan from
|0…0⟩ is made, and each of its sweeps is timed between two events, interpreted and by its own kernel (median of three).
A row of the result has these times in milliseconds, those predicted, the bytes of the kernel's machine code, its
registers and what did not fit into them. Printed are circuits, and the geometric mean of how far predictions are off.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import machine
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.kernels.cuda.compile import compilation
from qsim_ex.planning.cost.rates import H200
from qsim_ex.planning.cost.step_cost import step_cost
from qsim_ex.steps import Sweep

FEW_MS = 0.3
"""Sweeps that take less say little about their arithmetic."""


class Reports:
    """What the assembler said of each text that was compiled."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[int, compilation.KernelResources]] = {}
        self._translate = compilation.translate
        compilation.translate = self._kept

    def _kept(self, code: str, arch: str) -> tuple[bytes, str]:
        cubin, log = self._translate(code, arch)
        self._of[code] = len(cubin), compilation.report(log)
        return cubin, log

    def of(self, code: str) -> dict[str, int]:
        """Return the bytes, registers and spilled bytes of a text; nothing if it was not compiled here."""
        found = self._of.get(code)
        return {} if found is None else {"bytes": found[0], **found[1]._asdict()}


def timed(device: Any, steps: Any, num_bits: int, ready: Any, numbers: Any, buffer: Any) -> list[float]:
    """Return the milliseconds of each step, the median of three runs."""
    import cupy

    runs = []
    for _ in range(3):
        device.begin(buffer)
        events = [cupy.cuda.Event()]
        events[0].record()
        for step, given in zip(steps, numbers, strict=True):
            device.run(buffer, num_bits, step, given, ready)
            events.append(cupy.cuda.Event())
            events[-1].record()
        events[-1].synchronize()
        runs.append([cupy.cuda.get_elapsed_time(a, b) for a, b in pairwise(events)])
    return [median(times) for times in zip(*runs, strict=True)]


def rows(name: str, circuit: Circuit, device: Any, dtype: np.dtype[Any], reports: Reports) -> Iterator[dict[str, Any]]:
    """Yield a row for each sweep of a circuit's plan."""
    from qsim_ex.execution.prepare import prepare
    from qsim_ex.planning.planner import make_plan
    from qsim_ex.precision import BY_DTYPE
    from qsim_ex.steps import Layout

    n, precision, shape = circuit.num_qubits, BY_DTYPE[dtype], device.shape(dtype)
    plan = make_plan(circuit.instructions, n, Layout.identity(n), shape, (1 << n) - 1, None, True)  # type: ignore[arg-type]
    fma = H200.fma * (H200.double if precision.storage.real_bytes > 4 else 1)
    buffer, found = device.allocate(1 << n, dtype), {}
    for compile in ("never", "always"):
        ((ready, coefficients),) = prepare(plan, circuit.operands, [device], dtype, compile)
        found[compile] = timed(device, plan.steps, n, ready, list(coefficients), buffer)
    for number, step in enumerate(plan.steps):
        if not isinstance(step, Sweep):
            continue
        launch: Any = ready.launch(step)
        cost, slow = step_cost(step, n, precision, shape), step_cost(step, n, precision, shape, interpreted=True)
        yield {
            "name": name,
            "step": number,
            "predicted": 1e3 * cost.seconds(H200.memory, fma, H200.seen),
            "compiled": found["always"][number],
            "predicted_interpreted": 1e3 * slow.seconds(H200.memory, H200.interpreted, H200.interpreted_seen),
            "interpreted": found["never"][number],
            **reports.of(launch.kernel.code),
        }


def off(found: list[dict[str, Any]], predicted: str, measured: str) -> str:
    """Return by which factor predictions of longer sweeps are off in the mean, and measured over predicted times."""
    logs = [math.log(row[measured] / row[predicted]) for row in found if row[measured] > FEW_MS]
    if not logs:
        return f"{measured}: none"
    mean, error = sum(logs) / len(logs), sum(map(abs, logs)) / len(logs)
    return f"{measured}: {len(logs)} sweeps, {math.exp(mean):.3f} of predicted times, off by {math.exp(error):.3f}"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("circuits", type=Path)
    parser.add_argument("--dtype", choices=("complex64", "complex128"), default="complex64")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no circuit after that")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--commit", help="default: what git says; name it where there is no git")
    given = parser.parse_args()
    os.environ["QSIM_EX_CACHE_DIR"] = tempfile.mkdtemp(prefix="sweep_costs")
    from qsim_ex.devices.gpu.device import GpuDevice

    device, reports, every = GpuDevice(), Reports(), list[dict[str, Any]]()
    began = perf_counter()
    for name, circuit in pickle.loads(given.circuits.read_bytes()).items():
        if perf_counter() - began > given.seconds:
            break
        found = list(rows(name, circuit, device, np.dtype(given.dtype), reports))
        every += found
        keys = ("predicted", "compiled", "predicted_interpreted", "interpreted")
        sums = "  ".join(f"{key} {sum(row[key] for row in found):8.2f}" for key in keys)
        print(f"{name:40} {len(found):4} sweeps  {sums}", flush=True)
    print(off(every, "predicted", "compiled"))
    print(off(every, "predicted_interpreted", "interpreted"))
    if given.out:
        what = {"kind": "sweep_costs", "commit": given.commit or machine.commit(), "machine": machine.describe()}
        given.out.write_text(json.dumps(what | {"dtype": given.dtype, "sweeps": every}) + "\n")


if __name__ == "__main__":
    main()
