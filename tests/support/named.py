"""Tests that tables name."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def has_test(named: str) -> bool:
    """Return whether a file under tests has a test of this name; named: ``path::name``."""
    path, _, name = named.partition("::")
    tree = ast.parse((TESTS / path).read_text())
    return name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
