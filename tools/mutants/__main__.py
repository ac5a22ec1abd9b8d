"""The command line: ``python -m tools.mutants``."""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.mutants import cpp, python, runner
from tools.mutants.mutant import Mutant, Record, Result, share, table
from tools.mutants.reach import ROOT, Reach
from tools.mutants.runner import Checkout, copy, outcome

FOLDER = ROOT / "build/mutants"
ENOUGH = 0.95
"""Which share of the mutants that are not equivalent has to be killed."""

TESTED = ("circuit", "steps", "program", "planning", "placement", "kernels", "devices", "density", "deployment")
TESTED += ("execution", "observe", "comm", "state", "files", "frameworks", "native", "options", "thresholds", "run")
TESTED += ("contract", "qsim_ex_provider", "qsim_ex_cirq")
"""Folders of tests that mutants are given to."""


def arguments() -> argparse.ArgumentParser:
    """What may be given."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--python", type=int, default=0, metavar="COUNT", help="how many mutants of Python")
    parser.add_argument("--cpp", type=int, default=0, metavar="COUNT", help="how many of C++")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn")
    parser.add_argument("--room", action="append", help="only of these rooms; all by default")
    parser.add_argument("--again", action="store_true", help="run survivors again: tests were added")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where results and the copy lie; build/mutants")
    return parser


def noted(folder: Path) -> Reach:
    """Return which tests reach which lines; note it if that has not been done."""
    file = folder / "reach.json"
    if not file.exists():
        env = {**os.environ, "MUTANTS_REACH": str(file), "OPENBLAS_NUM_THREADS": "1"}
        names = [f"tests/{name}" for name in TESTED] + [str(one) for one in sorted(ROOT.glob("tests/test_*.py"))]
        command = ["pytest", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "tools.mutants.sampled"]
        subprocess.run(
            [sys.executable, "-m", *command, "--hypothesis-profile=mutants", *names], check=False, cwd=ROOT, env=env
        )
    return Reach.read(file)


def main() -> int:
    """Draw mutants, run them, and print what became of them; 1 if less than 95 % of one language's were killed."""
    given = arguments().parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    reach = noted(given.folder)
    record = Record(given.folder / "results.jsonl")
    folder = (given.folder / "checkout").resolve()
    copy(folder)
    with Checkout(folder) as tests:

        def of_python(mutant: Mutant) -> Result:
            names = reach.tests(mutant.path, mutant.line, mutant.until)
            return outcome(tests, mutant, {mutant.path: mutant.text.encode()}, names, reach.length)

        def of_cpp(mutant: Mutant) -> Result | None:
            return cpp.outcome_of(tests, mutant, reach)

        def campaign(
            mutants: Iterator[Mutant], count: int, result_of: Callable[[Mutant], Result | None]
        ) -> list[Result]:
            """Run mutants until there are results of so many; those that do not compile are none."""
            results: list[Result] = []
            while len(results) < count:
                mutant = next(mutants)
                if mutant.name not in record or (given.again and record[mutant.name].outcome == "survived"):
                    record.add(result_of(mutant) or Result.of(mutant, "none"))
                    print(f"{len(results) + 1}/{count} {record[mutant.name].line_of_log()}", flush=True)
                if record[mutant.name].outcome != "none":
                    results.append(record[mutant.name])
            return results

        results = [
            campaign(python.drawn(reach, given.seed, given.room or python.ROOMS), given.python, of_python),
            campaign(cpp.drawn(given.seed, given.room or cpp.ROOMS), given.cpp, of_cpp),
        ]
        killers = sorted({one.by for one in itertools.chain(*results) if "::" in one.by})
        failing = tests.failing(killers, 60 + runner.SLOWER * sum(map(reach.length, killers)))
    for name in sorted(failing):
        print(f"{name} fails without a mutant too: its kills are none")
    for found in filter(None, results):
        print(table(found))
    return int(bool(failing) or any(share(found) < ENOUGH for found in results))


if __name__ == "__main__":
    sys.exit(main())
