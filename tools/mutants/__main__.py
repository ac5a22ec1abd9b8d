"""The command line: ``python -m tools.mutants``."""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

from tools.mutants import cpp, python, runner
from tools.mutants.crew import Crew, campaign
from tools.mutants.mapped import noted
from tools.mutants.mutant import Mutant, Record, Result, share, table
from tools.mutants.reach import ROOT
from tools.mutants.runner import Checkout, outcome

FOLDER = ROOT / "build/mutants"
ENOUGH = 0.95
"""Which share of the mutants that are not equivalent has to be killed."""


def arguments() -> argparse.ArgumentParser:
    """What may be given."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--python", type=int, default=0, metavar="COUNT", help="how many mutants of Python")
    parser.add_argument("--cpp", type=int, default=0, metavar="COUNT", help="how many of C++")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn")
    parser.add_argument("--room", action="append", help="only of these rooms; all by default")
    parser.add_argument("--again", action="store_true", help="run survivors again: tests were added")
    parser.add_argument("--processes", type=int, default=1, help="how many run at once, each in its own copy; 1")
    parser.add_argument("--compiler", default="", help="a C++ compiler of this machine; ziglang's by default")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where results and the copies lie; build/mutants")
    return parser


def main() -> int:
    """Draw mutants, run them, and print what became of them; 1 if less than 95 % of one language's were killed."""
    given = arguments().parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    reach = noted(given.folder, given.processes)
    record = Record(given.folder / "results.jsonl")

    def of_python(tests: Checkout, mutant: Mutant) -> Result:
        names = reach.tests(mutant.path, mutant.line, mutant.until)
        return outcome(tests, mutant, {mutant.path: mutant.text.encode()}, names, reach.length)

    def of_cpp(tests: Checkout, mutant: Mutant) -> Result | None:
        return cpp.outcome_of(tests, mutant, reach, given.compiler)

    of_seed = python.drawn(reach, given.seed, given.room or python.ROOMS)
    of_seed_cpp = cpp.drawn(given.seed, given.room or cpp.ROOMS)
    with Crew(given.folder.resolve(), given.processes) as crew:
        results = [
            campaign(crew, record, of_seed, given.python, of_python, again=given.again),
            campaign(crew, record, of_seed_cpp, given.cpp, of_cpp, again=given.again),
        ]
        killers = sorted({one.by for one in itertools.chain(*results) if one.by.startswith("tests/")})
        parts = [killers[k :: given.processes] for k in range(given.processes)]
        failing = crew.map(
            lambda tests, names: tests.failing(names, 60 + runner.SLOWER * sum(map(reach.length, names))), parts
        )
    for name in sorted(set().union(*failing)):
        print(f"{name} fails without a mutant too: its kills are none")
    for found in filter(None, results):
        print(table(found))
    return int(any(failing) or any(share(found) < ENOUGH for found in results))


if __name__ == "__main__":
    sys.exit(main())
