"""Correctness of every peer: ``python -m benchmarks.check cpu|gpu`` compares whole states with the oracle.

Run this first on a new machine: a fast wrong answer is worth nothing. Each peer, variant, precision
and family runs twice with fresh numbers (the second run would show a stale plan or queue); norm
and relative error of all amplitudes are checked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.dense import relative_error, simulate
from benchmarks.families import EXTRA, FAMILIES
from benchmarks.measure import Case
from benchmarks.peers import PEERS, Peer, PeerMissing, load
from benchmarks.peers.base import CannotDivide, Precision, Setup


def check(peer: Peer, variant: str, case: Case) -> str | None:
    """Run one case in full; return what is wrong with it, or None."""
    gates = case.gates(seed=2)
    session = peer.open(case.setup(1, tuple(range(2**case.n))), variant)
    try:
        session.load(case.gates(seed=1))
        session.run()
        session.load(gates)
        session.run()
        state = session.amplitudes()
    finally:
        session.close()
    error, norm = relative_error(state, simulate(gates, case.n)), float(np.linalg.norm(state))
    limit = case.tolerance(len(gates)) / 10  # whole states, so without the allowance for a sample
    if error <= limit and abs(norm - 1) <= limit:
        return None
    return f"relative error {error:.1e}, norm {norm:.9f}; at most {limit:.1e} is allowed"


def check_peer(peer: Peer, sizes: Sequence[int], gpus: int = 1, device_wires: int | None = None) -> int:
    """Check a peer in all variants, precisions, families and sizes; print and count what is wrong.

    gpus, device_wires: how the states are divided (see `Setup`). Raises `CannotDivide` for a peer that cannot.
    """
    wrong = total = 0
    for precision in peer.precisions:
        for case in _cases(sizes, precision, gpus, device_wires):
            for variant in peer.variants(case.setup(1, (0,))):
                total += 1
                trouble = _try(peer, variant, case)
                if trouble:
                    wrong += 1
                    print(f"WRONG {peer.name}/{variant} {case.family} n={case.n} {precision}: {trouble}")
    print(f"{peer.name} {peer.version}: {total - wrong} of {total} right")
    return wrong


def _try(peer: Peer, variant: str, case: Case) -> str | None:
    """Check, and take an error for an answer: the other cases and peers still have their turn."""
    try:
        return check(peer, variant, case)
    except Exception as error:  # noqa: BLE001 - reported, counted, and the exit code says it
        return f"{type(error).__name__}: {error}"


def _cases(sizes: Sequence[int], precision: Precision, gpus: int, device_wires: int | None) -> list[Case]:
    families = (FAMILIES | EXTRA).values()
    return [Case(f.name, n, precision, gpus, device_wires) for n in sizes for f in families if n >= f.smallest]


def main(argv: Sequence[str] | None = None) -> int:
    """Check all peers of a device; return 1 if one is wrong, 2 if none is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check", description=__doc__)
    parser.add_argument("device", choices=("cpu", "gpu"))
    parser.add_argument("--peers", nargs="+", help="default: all of the device")
    parser.add_argument("--n", type=int, nargs="+", default=[4, 7, 11], help="at most 14")
    parser.add_argument("--gpus", type=int, default=1, help="devices that share each state; on a CPU sub state vectors")
    parser.add_argument("--device-wires", type=int, help="wires of one sub state vector; the rest is in host memory")
    chosen = parser.parse_args(argv)
    for n in chosen.n:
        try:
            Setup(n, "single", 1, gpus=chosen.gpus, device_wires=chosen.device_wires)
        except ValueError as error:
            parser.error(str(error))
    checked = wrong = 0
    for name in chosen.peers or PEERS[chosen.device]:
        try:
            wrong += check_peer(load(name, chosen.device), chosen.n, chosen.gpus, chosen.device_wires)
            checked += 1
        except (PeerMissing, CannotDivide) as error:
            print(f"skipped {error}")
    return 2 if not checked else int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
