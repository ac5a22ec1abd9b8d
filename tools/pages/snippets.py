"""The blocks of code in a page, with the tags that say how the tests run them.

A block begins with its language and may have tags after it:

    ```python               runs after the blocks above it on the page, in the same namespace
    ```python OptionError   runs and has to raise this error of `qsim_ex.errors`
    ```python gpu           needs GPUs; the tests only compile it
    ```python skip          needs what a test does not have, such as a cluster; the tests only compile it
    ```python no-gpu        runs only where there is no GPU
    ```bash run             runs in a shell, in the folder of the page
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^( *)```(\w+)((?: [\w-]+)*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(r"^( *```\w+)(?: [\w-]+)+$", re.MULTILINE)


class Block(NamedTuple):
    """A block of code: its language, its tags, the number of its first line in the page, and its text."""

    language: str
    tags: tuple[str, ...]
    line: int
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of code of a page, in its order."""
    source = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(source):
        line = source.count("\n", 0, match.start()) + 2
        yield Block(match[2], tuple(match[3].split()), line, textwrap.dedent(match[4]))


def without_tags(text: str) -> str:
    """Return a page without the tags of its blocks, as the site shows it."""
    return _TAGGED.sub(r"\1", text)
