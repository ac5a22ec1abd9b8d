"""Rules that run something: the walks of circuits, the tests of every option, and the diagram of the layers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence

from tools import diagram
from tools.house.sources import ROOT, Finding, Rule, Source
from tools.house.tables import TABLES, columns
from tools.walk import CASES, walk

EVERY_OPTION = "tests/contract/test_every_option.py"
PAIRS = (
    "from contract.test_every_option import PAIRS; print(*(f'{option}-{entry}' for option, entry in PAIRS), sep='\\n')"
)


def length_of_walk(name: str) -> Rule:
    """Walk one circuit through the source, in a process of its own, and compare with the goals of `tools/walk.py`."""
    case, counted = CASES[name], walk(name)
    kept = counted["files"] <= case.files and counted["hops"] <= case.hops
    what = f"the walk {name!r} is longer than its goal; python tools/walk.py --case {name} --list tells which files"
    return Rule(
        f"walk {case.title.replace('`', '')}",
        f"{counted['files']} files, {counted['hops']} hops",
        f"at most {case.files} and {case.hops}",
        () if kept else (Finding("tools/walk.py", 1, what),),
    )


def options_tried(options: Iterable[str], pairs: Iterable[str]) -> Rule:
    """Find options of the engine that no test tries; pairs: ``option-Way.in``."""
    tried = [pair.partition("-")[::2] for pair in pairs]
    names, entries = {option for option, _ in tried}, {entry for _, entry in tried}
    fields = list(options)
    found = tuple(Finding(EVERY_OPTION, 1, f"no test tries {name}") for name in fields if name not in names)
    number = f"{len(names)} options ({len(fields)} of the engine) × {len(entries)} ways in, {len(tried)} pairs"
    return Rule("options that no way in tries", f"{len(found)}; {number}", "0", found)


def every_option(sources: Sequence[Source]) -> Rule:
    """Ask the tests of every option which they try on which way in, and compare with the fields of `Options`."""
    return options_tried(columns(sources, "Options", TABLES["Options"]), pairs_tried())


def pairs_tried() -> list[str]:
    """Return the pairs that `EVERY_OPTION` tries, asked in a process of its own, since it imports the frameworks."""
    paths = os.pathsep.join(str(ROOT / folder) for folder in ("core", ".", "tests"))
    command, environment = [sys.executable, "-c", PAIRS], {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def diagram_of_layers() -> Rule:
    """Compare the diagram in docs/architecture.md with the import contract."""
    page = diagram.PAGE.relative_to(ROOT).as_posix()
    what = "the diagram is not that of the contract; python tools/diagram.py --write puts it right"
    found = () if diagram.agrees() else (Finding(page, 1, what),)
    return Rule("diagrams that differ from the contract", str(len(found)), "0", found)
