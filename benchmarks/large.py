"""A state larger than a GPU against known amplitudes: ``python -m benchmarks.large --n 35``.

The QFT of a basis state |x> has the amplitude exp(2πi·x·y / 2^n) / √(2^n) at y. It is run from |x> on one GPU, with
host memory where the state does not fit, or on several (--gpus 4 --n 36), and slices of consecutive amplitudes,
anywhere in the state, are compared: ‖found − known‖ / ‖known‖ over all of them. The page and the JSON have seconds,
bytes over each link as planned and as counted, the placement of the state, and the memory that it took. The first run
also plans and compiles kernels; --repeat 2 adds one that does not.

Each pass over a state of 35 wires in single precision copies 256 GiB to the GPU and back, about 6 s; the QFT needs two
or three, the comparison up to one (--slices fewer, or 0). Locking host memory takes 0.2 s for each GiB, once.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from math import pi
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine
from benchmarks.memory import Peak, wait_for_all, watched_pool
from qsim_ex import Circuit, CircuitBuilder, Options, Simulator, StateVector
from qsim_ex.errors import QsimExError

FORMAT = 1
SLICES = 16
SLICE_BITS = 16


def qft(n: int) -> Circuit:
    """Build the QFT of n wires, swaps included: |x> becomes Σ_y exp(2πi·x·y / 2^n) |y> / √(2^n)."""
    builder = CircuitBuilder(n)
    for target in reversed(range(n)):
        builder.gate("h", (target,))
        for control in reversed(range(target)):
            builder.gate("cp", (control, target), pi / 2 ** (target - control))
    for wire in range(n // 2):
        builder.gate("swap", (wire, n - 1 - wire))
    return builder.build()


def known(n: int, x: int, indices: NDArray[np.int64]) -> NDArray[np.complex128]:
    """Return the amplitudes of the QFT of |x>; x·y is reduced modulo 2^n in whole numbers, so no phase is lost."""
    turns = (np.uint64(x) * indices.astype(np.uint64)) & np.uint64((1 << n) - 1)  # modulo 2^64 it wraps around
    found: NDArray[np.complex128] = np.exp(2j * pi * (turns.astype(np.float64) / 2.0**n)) / 2 ** (n / 2)
    return found


def sampled(n: int, slices: int, bits: int, seed: int) -> NDArray[np.int64]:
    """Choose slices of 2^bits consecutive amplitudes: the first, the last, others; int64 [slices, 2^bits]."""
    bits = min(bits, n)
    rng = np.random.default_rng(seed)
    last = (1 << n - bits) - 1
    begins = [0, last, *(int(b) for b in rng.integers(0, last + 1, slices))][:slices]
    return (np.array(begins, dtype=np.int64)[:, None] << bits) + np.arange(1 << bits, dtype=np.int64)


def compare(state: StateVector, x: int, chosen: NDArray[np.int64]) -> list[float]:
    """Return the squared norms of what is wrong, and of what should be there, summed over all slices.

    All slices are read in one go, since each reading of a state in host memory may be a pass over it.
    """
    found = state.amplitudes(chosen.reshape(-1)).astype(np.complex128)
    wanted = known(state.num_wires, x, chosen.reshape(-1))
    return [float(np.sum(np.abs(found - wanted) ** 2)), float(np.sum(np.abs(wanted) ** 2))]


def measure(options: Options, n: int, *, x: int, slices: int, bits: int, gpus: int, repeat: int = 1) -> dict[str, Any]:
    """Run the QFT of |x> and compare the last state; everything that is worth knowing, as what JSON can hold."""
    runs = []
    for k in range(repeat):
        found = _once(options, n, x, slices if k == repeat - 1 else 0, bits)
        runs.append(found["seconds"]["run"])
    return {"gpus": gpus, **found, "runs": runs}


def _once(options: Options, n: int, x: int, slices: int, bits: int) -> dict[str, Any]:
    circuit, simulator = qft(n), Simulator(options)
    on_gpu = simulator.placement(n).device.kind == "gpu"
    numbers = options.devices or (options.device_id,)
    peak = Peak()
    with watched_pool(peak) if on_gpu else nullcontext():
        start = perf_counter()
        with StateVector(n, options=options, initial=x) as state:
            made = perf_counter()
            state.apply(circuit)
            state.synchronize()
            if on_gpu:
                wait_for_all(max(numbers) + 1)
            done = perf_counter()
            with state.placed() as placed:
                facts = placed.report()
            deployment = state.where.deployment
            wrong, all_of_it = compare(state, x, sampled(n, slices, bits, n)) if slices else (0.0, 0.0)
            compared = perf_counter()
    planned = simulator.summary(circuit).to_json()
    return {
        "n": n,
        "x": x,
        "precision": options.precision,
        "deployment": deployment.to_json(),
        "described": deployment.describe(),
        "seconds": {"allocate": made - start, "run": done - made, "compare": compared - done},
        "planned": planned,
        "facts": facts,
        "peak_device_bytes": [peak.most.get(number, 0) for number in numbers] if on_gpu else None,
        "slices": slices,
        "amplitudes_per_slice": 1 << min(bits, n),
        "relative_error": (wrong / all_of_it) ** 0.5 if slices else None,
    }


def allowed(precision: str, gates: int) -> float:
    """Bound the relative error of a whole state; slices of it are samples, all of them alike."""
    return 1e-6 + 3e-8 * gates if precision == "single" else 1e-12


def _gib(size: float) -> str:
    return f"{size / 2**30:.4g}"


def report(found: dict[str, Any]) -> str:
    """Say it in lines."""
    facts, planned, seconds = found["facts"], found["planned"], found["seconds"]
    host = _gib(sum(facts.get("bytes_from_host", ())) + sum(facts.get("bytes_to_host", ())))
    sent = _gib(sum(facts.get("bytes_sent", {}).values()))
    planned_host, planned_peers = _gib(planned["bytes_host"]), _gib(planned["bytes_peers"])
    lines = [
        f"QFT of |{found['x']}> on {found['n']} wires, {found['precision']} precision",
        found["described"],
        f"allocate {seconds['allocate']:.2f} s, compare {seconds['compare']:.2f} s",
        f"run {', '.join(f'{run:.3f}' for run in found['runs'])} s, predicted {planned['seconds']:.3f} s",
        f"{planned['passes']} passes, GiB to and from the host: {planned_host} planned, {host} counted",
        f"{planned['exchanges']} exchanges, GiB between devices: {planned_peers} planned, {sent} counted",
    ]
    if "bytes_held" in facts:
        on_host = f"{_gib(facts['bytes_held_on_host'])} GiB {facts.get('host_memory_kind', '')}".strip()
        lines.append(f"held: {_gib(max(facts['bytes_held']))} GiB on a device, {on_host} on the host")
    if found["peak_device_bytes"]:
        lines.append(f"most that was taken on a device: {_gib(max(found['peak_device_bytes']))} GiB")
    if found["relative_error"] is not None:
        lines.append(
            f"{found['slices']} slices of {found['amplitudes_per_slice']} amplitudes: relative error "
            f"{found['relative_error']:.2e}, at most {found['allowed']:.2e} is right: "
            f"{'right' if found['right'] else 'WRONG'}"
        )
    return "\n".join(lines)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.large", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("device", nargs="?", choices=("cpu", "gpu"), default="gpu", help="cpu: only to try the code")
    parser.add_argument("--n", type=int, default=35)
    parser.add_argument("--x", type=int, help="the basis state; default: one with about as many ones as zeros")
    parser.add_argument("--precision", choices=("single", "double"), default="single")
    parser.add_argument(
        "--gpus", type=int, help="share the state among GPUs 0, 1, …; on a CPU so many sub state vectors"
    )
    parser.add_argument("--devices", type=int, nargs="+", help="share it among these GPUs")
    parser.add_argument("--device-wires", type=int, help="wires of one sub state vector; default: as many as fit")
    parser.add_argument("--in-flight", type=int, help="sub state vectors on a device at a time")
    parser.add_argument("--host-memory", choices=("auto", "whole", "spread"), default="auto")
    parser.add_argument("--max-memory", type=int, help="bytes of each device, in place of what is free")
    parser.add_argument("--max-host-memory", type=int, help="bytes of the host, in place of what is reported as free")
    parser.add_argument("--repeat", type=int, default=1, help="runs; the last one is compared")
    parser.add_argument("--slices", type=int, default=SLICES, help="how many are compared; 0 compares nothing")
    parser.add_argument("--slice-bits", type=int, default=SLICE_BITS, help="a slice has 2 to this many amplitudes")
    parser.add_argument("--commit", help="default: what git says; name it where there is no git")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    chosen = parser.parse_args(argv)
    if not 2 <= chosen.n <= 62:
        parser.error(f"expected --n from 2 to 62, got {chosen.n}")
    if chosen.x is None:
        chosen.x = 0x2C9B_7A63_5D1E_94F5 & (1 << chosen.n) - 1
    if not 0 <= chosen.x < 1 << chosen.n:
        parser.error(f"--x {chosen.x}: {chosen.n} wires have basis states 0 to {(1 << chosen.n) - 1}")
    if chosen.gpus and chosen.devices:
        parser.error("--gpus or --devices, not both")
    if chosen.slices < 0 or chosen.slice_bits < 0 or chosen.repeat < 1:
        parser.error("--slices and --slice-bits: 0 or more; --repeat: 1 or more")
    return chosen


def options_of(chosen: argparse.Namespace) -> Options:
    """Return the simulator's options; raises `OptionError`."""
    devices = tuple(chosen.devices) if chosen.devices else None
    if chosen.gpus and chosen.device == "gpu":
        devices = tuple(range(chosen.gpus))
    return Options(
        device=chosen.device,
        devices=devices,
        virtual_peers=chosen.gpus if chosen.gpus and chosen.device == "cpu" else 1,
        precision=chosen.precision,
        device_wires=chosen.device_wires,
        in_flight_buffers=chosen.in_flight,
        host_memory=chosen.host_memory,
        max_memory=chosen.max_memory,
        max_host_memory=chosen.max_host_memory,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run, compare, print; return 1 if the amplitudes are wrong, 2 if the state could not be made."""
    chosen = arguments(argv)
    try:
        options = options_of(chosen)
        gpus = chosen.gpus or len(options.devices or (0,))
        asked = {"slices": chosen.slices, "bits": chosen.slice_bits, "repeat": chosen.repeat}
        found = measure(options, chosen.n, x=chosen.x, gpus=gpus, **asked)
    except QsimExError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    found["allowed"] = allowed(chosen.precision, found["planned"]["gates"])
    found["right"] = found["relative_error"] is None or found["relative_error"] <= found["allowed"]
    print(report(found))
    if chosen.out:
        about = {"format": FORMAT, "kind": "large", "device": chosen.device, "machine": machine.describe()}
        document = {**about, "commit": chosen.commit or machine.commit(), **found}
        chosen.out.write_text(json.dumps(document, indent=1) + "\n")
    return int(not found["right"])


if __name__ == "__main__":
    sys.exit(main())
