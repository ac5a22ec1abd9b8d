"""Print every rule of the house with its number: ``python -m tools.house [--all]``; fails where one is not kept."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tools.diagram import pyproject
from tools.house import (
    imports,
    kinds,
    measured,
    names,
    once,
    pages,
    placements,
    precisions,
    rooms,
    shape,
    tables,
    taken_apart,
    words,
)
from tools.house.sources import ROOT, Rule, read
from tools.walk import CASES

SHOWN = 25
"""How many findings of a rule are printed, unless all are asked for."""


def rules() -> list[Rule]:
    """Ask every rule about the source as it stands."""
    sources, project = read(), pyproject(ROOT)
    from_source = (
        shape.root_modules,
        placements.placements_asked,
        placements.devices_asked,
        placements.methods_asked,
        names.class_names,
        imports.circles,
        imports.late_imports,
        kinds.towers,
        once.one_divider,
        once.one_prepare,
        once.one_executor,
        once.one_sum_of_memory,
        taken_apart.taken_apart,
        tables.columns_read,
        precisions.precisions_apart,
        precisions.bytes_asked,
        words.wanted,
        kinds.anys,
        shape.file_lines,
        shape.function_lines,
        shape.prefixes,
    )
    runs: list[Callable[[], Rule]] = [partial(measured.every_option, sources)]
    runs += [partial(measured.length_of_walk, name) for name in CASES]
    with ThreadPoolExecutor() as pool:
        slow = [pool.submit(run) for run in runs]  # each waits for a process
        found = [rule(sources) for rule in from_source]
        found.insert(1, shape.layers(project))
        found.append(words.public_names(sources))
        found += [rule(rooms.native_files()) for rule in (rooms.includes, rooms.folder_files)]
        found += of_pages()
        return [*found, measured.diagram_of_layers(), *(one.result() for one in slow)]


def of_pages() -> list[Rule]:
    """Ask every rule about the pages, the notebooks and the examples."""
    texts = pages.page_texts()
    every = (
        pages.links,
        pages.decisions_indexed,
        pages.decisions_replaced,
        pages.readme,
        pages.notebooks,
        pages.examples,
    )
    return [*(rule(texts) for rule in every), pages.files_named(texts, pages.names_of_files())]


def lines(rule: Rule, shown: int | None) -> list[str]:
    """Return what is printed of a rule; shown: how many of its findings, all if None."""
    kept = "ok " if not rule.findings else "NOT"
    more = len(rule.findings) - len(rule.findings[:shown])
    return [
        f"{kept}  {rule.name}: {rule.number} (goal: {rule.goal})",
        *(f"       {finding}" for finding in rule.findings[:shown]),
        *([f"       and {more} more; python -m tools.house --all prints them"] if more else []),
    ]


def main() -> int:
    """Print the rules; 1 if one is not kept."""
    parser = argparse.ArgumentParser(prog="python -m tools.house", description=__doc__)
    parser.add_argument("--all", action="store_true", help=f"print all findings, not the first {SHOWN} of each rule")
    given = parser.parse_args()
    found = rules()
    for rule in found:
        print("\n".join(lines(rule, None if given.all else SHOWN)))
    broken = [rule.name for rule in found if rule.findings]
    print(f"\n{len(found) - len(broken)} of {len(found)} rules are kept." + (" Not:" if broken else ""))
    for name in broken:
        print(f"  {name}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
