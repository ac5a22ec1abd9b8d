"""Pages: links lead to files, files that are named are there, decisions have their line, notebooks their outputs."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.house.sources import ROOT, Finding, Rule
from tools.pages.links import PAGES_BESIDE, for_site

README_LINES, NOTEBOOKS_IN_ALL = 120, 11
FOLDERS = (
    ".ci",
    "benchmarks",
    "core",
    "docs",
    "notebooks",
    "qsim_ex_cirq",
    "qsim_ex_pennylane",
    "qsim_ex_provider",
    "tests",
    "tools",
)
"""Where the files lie that pages about the source name; files at the root count too."""

_NAMED = re.compile(r"`([\w./-]+\.(?:py|cpp|hpp|cu|json|md|toml|sh|def))`")
_INDEX = "docs/decisions/README.md"

Texts = Mapping[str, str]
"""The text of each file by its path from the repository's root."""


def page_texts(root: Path = ROOT) -> dict[str, str]:
    """Return the pages of the site, the README, the notebooks and the examples."""
    folders = (("docs", "*.md"), ("notebooks", "*.ipynb"), ("examples", "*.py"))
    files = [path for folder, names in folders for path in sorted((root / folder).rglob(names))]
    files += [root / path for path in ("README.md", *PAGES_BESIDE)]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}


def names_of_files(root: Path = ROOT) -> set[str]:
    """Return each file's path and every end of it that begins with a name."""
    there = [f"/{path.relative_to(root)}" for folder in FOLDERS for path in (root / folder).rglob("*.*")]
    there += [f"/{path.name}" for path in root.glob("*.*")]
    return {path[at + 1 :] for path in there for at, letter in enumerate(path) if letter == "/"}


def links(texts: Texts) -> Rule:
    """Find links of pages and notebooks that lead to no file of the repository."""
    found = []
    for path, text in texts.items():
        if path.endswith(".md"):
            place = (PAGES_BESIDE | {"README.md": "index.md"}).get(path, path.removeprefix("docs/"))
        elif path.endswith(".ipynb"):
            cells = json.loads(text)["cells"]
            text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
            place = "index.md"
        else:
            continue
        found += [
            Finding(path, 1, f"links to {target}, which is not there") for target in for_site(text, path, place)[1]
        ]
    return Rule("links that lead nowhere", f"{len(found)} in {len(texts)} files", "0", tuple(found))


def files_named(texts: Texts, there: set[str]) -> Rule:
    """Find files that a decision, the page of the architecture or that of additions names, and that are gone."""
    about = ("docs/decisions/", "docs/architecture.md", "docs/adding.md")
    named = [(path, name) for path, text in texts.items() if path.startswith(about) for name in _NAMED.findall(text)]
    found = tuple(Finding(path, 1, f"names {name}, which is gone") for path, name in named if name not in there)
    return Rule("files that pages name and that are gone", f"{len(found)} of {len(named)}", "0", found)


def decisions_indexed(texts: Texts) -> Rule:
    """Find decisions without a line in their index."""
    pages = [path for path in texts if re.match(r"docs/decisions/\d", path)]
    found = tuple(
        Finding(path, 1, "has no line in the index") for path in pages if Path(path).name not in texts[_INDEX]
    )
    return Rule("decisions that the index lacks", f"{len(found)} of {len(pages)}", "0", found)


def decisions_replaced(texts: Texts) -> Rule:
    """Find decisions without a status, and those that another replaces where one of the two does not say so.

    A status is *proposed*, *accepted* with its date or its limits, or *replaced by* another decision, which names it.
    """
    found, count = [], 0
    for path, text in texts.items():
        if not re.match(r"docs/decisions/\d", path):
            continue
        status = next((line for line in text.splitlines() if line.startswith("Status: ")), "")
        if not re.match(r"Status: (proposed|replaced by|.*accepted)", status):
            found.append(Finding(path, 1, f"expected a status, got {status!r}"))
        for other in re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", status.partition("replaced by")[2]):
            count += 1
            if (number := Path(path).name[:4]) not in texts.get(f"docs/decisions/{other}", ""):
                found.append(Finding(path, 1, f"is replaced by {other}, which does not name {number}"))
    return Rule(
        "decisions that do not say what replaced them", f"{len(found)}; {count} are replaced", "0", tuple(found)
    )


def readme(texts: Texts) -> Rule:
    """Find a README that is long, or lacks one of the two commands that CI reads out of it."""
    text = texts["README.md"]
    lines = len(text.splitlines())
    broken = [f"{lines} lines"] if lines > README_LINES else []
    broken += [f"has not one block tagged {tag}" for tag in ("test", "demo") if text.count(f"```bash {tag}\n") != 1]
    found = tuple(Finding("README.md", 1, what) for what in broken)
    return Rule("lines of the README", str(lines), f"at most {README_LINES}, with the commands of CI", found)


def notebooks(texts: Texts) -> Rule:
    """Find notebooks that are not kept as one run left them, check nothing, or do not end in what to try next.

    They are numbered in the order in which they are read.
    """
    names = [path for path in texts if path.startswith("notebooks/")]
    rule = _each(texts, "notebooks/", "notebooks that lack their outputs, a check or an end", _of_notebook)
    if [path[len("notebooks/") :][:3] for path in names] != [f"{k:02}_" for k in range(1, NOTEBOOKS_IN_ALL + 1)]:
        what = f"expected {NOTEBOOKS_IN_ALL} notebooks, numbered in the order in which they are read"
        rule = replace(rule, findings=(*rule.findings, Finding("notebooks/", 1, what)))
    return rule


def _of_notebook(path: str, text: str) -> Iterator[str]:  # noqa: ARG001 - as `_of_example`
    cells: list[dict[str, Any]] = json.loads(text)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    outputs = [output for cell in code for output in cell["outputs"]]
    if [cell["execution_count"] for cell in code] != list(range(1, len(code) + 1)):
        yield "its cells are not numbered from one run from top to bottom"
    if not any("image/png" in output.get("data", {}) for output in outputs):
        yield "has no picture"
    if any(output["output_type"] == "error" for output in outputs):
        yield "a cell failed"
    if not any("assert " in "".join(cell["source"]) for cell in code):
        yield "compares nothing with a known answer"
    if not "".join(cells[-1]["source"]).startswith("## What to try next"):
        yield "its last cell does not say what to try next"


def examples(texts: Texts) -> Rule:
    """Find examples that assert nothing, or do not say how long they take and where that was measured."""
    return _each(texts, "examples/", "examples without a check or their times", _of_example)


def _of_example(path: str, text: str) -> Iterator[str]:
    told = ast.get_docstring(ast.parse(text)) or ""
    if "assert " not in text:
        yield "asserts nothing"
    if f"{path} --small" not in told:
        yield "its docstring has no command with --small"
    if not re.search(r"\d+ (s|min)\b", told) or not re.search(r"cores|H200|not measured", told):
        yield "its docstring does not say how long it takes, and where"


def _each(texts: Texts, folder: str, name: str, faults: Callable[[str, str], Iterator[str]]) -> Rule:
    """Return the rule that no file of a folder has a fault, and that there is one."""
    files = {path: text for path, text in texts.items() if path.startswith(folder)}
    found = tuple(Finding(path, 1, what) for path, text in files.items() for what in faults(path, text))
    if not files:
        found = (Finding(folder, 1, "has no files"),)
    return Rule(name, f"{len({one.path for one in found})} of {len(files)}", "0", found)
