"""The command line: ``python -m tools.fuzz``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from tools.fuzz.kinds import drawn, kinds, missing
from tools.fuzz.options import DEVICES
from tools.fuzz.run import Found, Tally, many, outcome_of, quiet
from tools.fuzz.shrink import shrink


def arguments() -> argparse.ArgumentParser:
    """What may be given."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, help="how many circuits (1,000 if no time is given either)")
    parser.add_argument("--seconds", type=float, help="for how long")
    parser.add_argument("--processes", type=int, default=1, help="how many processes")
    parser.add_argument("--seed", type=int, default=0, help="the first case's seed; the others count up from it")
    parser.add_argument("--only", action="append", default=[], metavar="KIND", help="kinds whose name begins so")
    parser.add_argument("--case", type=int, metavar="SEED", help="repeat one case, with the --only it was found with")
    parser.add_argument("--devices", help="draw from these kinds of devices alone: cpu, gpu, or cpu,gpu")
    parser.add_argument("--failures", type=int, default=10, help="stop after so many failures")
    parser.add_argument("--no-shrink", action="store_true", help="print failures as they were drawn")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts and failures to a file")
    parser.add_argument("--ways", action="store_true", help="fail as well if a side of a threshold was never met")
    parser.add_argument("--list", action="store_true", help="print the kinds that can be drawn here")
    return parser


def main() -> int:
    """Run the fuzzer; 1 if anything failed."""
    given = arguments().parse_args()
    if given.devices:
        os.environ[DEVICES] = given.devices
    quiet()
    only = tuple(given.only)
    if packages := missing(only):
        print(f"{', '.join(only)} compares with Aer, which is not installed: pip install {packages}")
        return 2
    if unknown := [name for name in only if not kinds((name,))]:
        print(f"expected a kind that can be drawn here ({', '.join(kinds())}), got {', '.join(unknown)}")
        return 2
    if given.list:
        print("\n".join(f"{kind.name:20} {kind.check.__doc__}" for kind in kinds().values()))
        return 0
    if given.case is not None:
        return _repeat(given.case, only, small=not given.no_shrink)
    count = 1000 if given.count is None and given.seconds is None else given.count
    tally = Tally()
    for tally in many(given.seed, count, given.seconds, given.processes, only, given.failures):
        if sys.stderr.isatty():
            print(f"\r{tally.line()}", end="", file=sys.stderr)
        if given.json:  # whoever kills a long run has what it found so far
            given.json.write_text(json.dumps({"seed": given.seed, **tally.to_json()}, indent=2) + "\n")
    for found in tally.found[: given.failures]:
        _show(found, only, small=not given.no_shrink)
    print(f"seed {given.seed}: {tally.line()}")
    ways = tally.ways_not_taken() if given.ways else []
    if given.ways:
        print(f"ways not taken: {'; '.join(ways) or 'none'}")
    return 1 if tally.found or ways else 0


def _repeat(seed: int, only: tuple[str, ...], *, small: bool) -> int:
    case = drawn(seed, only)
    outcome = outcome_of(case)
    print(case.script())
    print(f"# {outcome.trouble or outcome.refusal or 'nothing differs'}")
    if outcome.trouble is None:
        return 0
    if small:
        _show(Found(seed, case.kind, outcome.trouble), only, small=True)
    return 1


def _show(found: Found, only: tuple[str, ...], *, small: bool) -> None:
    """Print a failure as Python, made smaller."""
    case = drawn(found.seed, only)
    kind = found.trouble.split(":")[0].split("[")[0]
    if small:
        case = shrink(case, lambda one: (outcome_of(one).trouble or "").startswith(kind))
    chosen = "".join(f" --only {name}" for name in only)
    print(f"\n# case {found.seed} ({found.kind}); repeat: python -m tools.fuzz --case {found.seed}{chosen}")
    print(f"# {outcome_of(case).trouble or found.trouble}")
    print(case.script())


if __name__ == "__main__":
    sys.exit(main())
