"""The examples as a part of a page: what each does, how it is run, how long it takes, and its source."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def examples() -> str:
    """Return a section for each example."""
    return "\n\n".join(_section(path) for path in sorted((ROOT / "examples").glob("*.py")))


def _section(path: Path) -> str:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    told = inspect.cleandoc(ast.get_docstring(tree) or "")
    title, _, rest = told.partition("\n\n")
    code = source.split('"""', 2)[2].strip()
    folded = "\n".join(f"    {line}" if line else "" for line in ["```python", *code.splitlines(), "```"])
    link = f"[Download {path.name}](../examples/{path.name})"
    return f'## {path.name}\n\n{title}\n\n{rest}\n\n{link}\n\n??? example "Source"\n\n{folded}'
