"""Rules that run something: the walks of circuits, the tests of every option, and the diagram of the layers."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Sequence

from tools import diagram
from tools.house.sources import ROOT, Finding, Rule, Source
from tools.house.tables import TABLES, columns
from tools.walk import CASES, walk

EVERY_OPTION = "tests/contract/test_every_option.py"
PAIRS = f"{EVERY_OPTION}::test_an_option_is_honoured_or_refused"


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
    """Find options of the engine that no test tries; pairs: ``option-Way.in``, as pytest names the tests."""
    tried = [pair.partition("-")[::2] for pair in pairs]
    names, entries = {option for option, _ in tried}, {entry for _, entry in tried}
    fields = list(options)
    found = tuple(Finding(EVERY_OPTION, 1, f"no test tries {name}") for name in fields if name not in names)
    number = f"{len(names)} options ({len(fields)} of the engine) × {len(entries)} ways in, {len(tried)} pairs"
    return Rule("options that no way in tries", f"{len(found)}; {number}", "0", found)


def every_option(sources: Sequence[Source]) -> Rule:
    """Have pytest collect the tests of every option on every way in, and compare with the fields of `Options`."""
    return options_tried(columns(sources, "Options", TABLES["Options"]), collected())


def collected() -> list[str]:
    """Return the pairs that `EVERY_OPTION` tries; raises `RuntimeError` with pytest's words where it collects none."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", PAIRS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    pairs = re.findall(rf"^{re.escape(PAIRS)}\[(.*)\]$", done.stdout, re.MULTILINE)
    if done.returncode or not pairs:
        raise RuntimeError(f"pytest collects no pairs from {EVERY_OPTION}:\n{done.stdout}{done.stderr}")
    return pairs


def diagram_of_layers() -> Rule:
    """Compare the diagram in docs/architecture.md with the import contract."""
    page = diagram.PAGE.relative_to(ROOT).as_posix()
    what = "the diagram is not that of the contract; python tools/diagram.py --write puts it right"
    found = () if diagram.agrees() else (Finding(page, 1, what),)
    return Rule("diagrams that differ from the contract", str(len(found)), "0", found)
