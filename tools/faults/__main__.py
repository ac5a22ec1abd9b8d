"""Hinder runs in drawn ways, and look whether the same process, or the file that is left, goes on right.

    python -m tools.faults signals --count 200       # SIGINT at so many moments of each kind of run
    python -m tools.faults memory --count 50         # so many buffers of NumPy refused to each kind of run
    python -m tools.faults disks                     # truncated checkpoints, killed writers, disks that fill
    python -m tools.faults forms --count 5000        # faults in native code of forms, found within so many circuits
    python -m tools.faults rewrites --count 2000     # the same in native code that rewrites work

Prints a line for each kind of run, and returns 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from time import perf_counter

from tools.faults.runs import RUNS, check_the_definition


def signals(count: int, seed: int, kind: str) -> tuple[Counter[str], list[str]]:
    """Interrupt one kind of run."""
    from tools.faults.interrupts import interrupt

    told = interrupt(RUNS[kind], count, seed)
    print(f"  the latest KeyboardInterrupt came {told.slowest:.2f} s after the signal")
    return told.how, told.faults


def memory(count: int, seed: int, kind: str) -> tuple[Counter[str], list[str]]:
    """Refuse buffers to one kind of run."""
    from tools.faults.buffers import refuse

    return refuse(RUNS[kind], count, seed)


def disks(_count: int, _seed: int, kind: str) -> tuple[Counter[str], list[str]]:
    """Hinder the writing of one kind of checkpoint."""
    from tools.faults.disks import KINDS

    return KINDS[kind]()


def forms(count: int, _seed: int, kind: str) -> tuple[Counter[str], list[str]]:
    """Plant a fault into native code that finds or writes forms."""
    from tools.faults.forms import FAULTS, KIND
    from tools.faults.planted import search

    return search(count, kind, FAULTS[kind], KIND)


def rewrites(count: int, _seed: int, kind: str) -> tuple[Counter[str], list[str]]:
    """Plant a fault into native code that rewrites work."""
    from tools.faults.planted import search
    from tools.faults.rewrites import FAULTS, KIND

    return search(count, kind, FAULTS[kind], KIND)


CAMPAIGNS = {"signals": signals, "memory": memory, "disks": disks, "forms": forms, "rewrites": rewrites}


def main() -> int:
    """Run one campaign."""
    parser = argparse.ArgumentParser(prog="python -m tools.faults", description=__doc__)
    parser.add_argument("campaign", choices=[*CAMPAIGNS])
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="kinds whose name begins so")
    given = parser.parse_args()
    check_the_definition()
    campaign = CAMPAIGNS[given.campaign]
    kinds = [kind for kind in _kinds(given.campaign) if kind.startswith(given.only)]
    total, wrong = Counter[str](), 0
    for kind in kinds:
        began = perf_counter()
        how, faults = campaign(given.count, given.seed, kind)
        counts = ", ".join(f"{number} {name}" for name, number in sorted(how.items()))
        print(f"{kind}: {counts}; {len(faults)} wrong, {perf_counter() - began:.0f} s", flush=True)
        for fault in faults[:10]:
            print(f"  WRONG: {fault}", flush=True)
        total += how
        wrong += len(faults)
    counts = ", ".join(f"{number} {name}" for name, number in sorted(total.items()))
    print(f"{given.campaign}: {sum(total.values())} in {len(kinds)} kinds ({counts}), {wrong} wrong")
    return int(wrong > 0)


def _kinds(campaign: str) -> list[str]:
    if campaign == "disks":
        from tools.faults.disks import KINDS

        return list(KINDS)
    if campaign == "forms":
        from tools.faults.forms import FAULTS

        return list(FAULTS)
    if campaign == "rewrites":
        from tools.faults import rewrites as planted

        return list(planted.FAULTS)
    return list(RUNS)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # what NumPy allocated through a handler of ours is not freed while Python ends
