"""The blocks of code in a page, with the tags that say how the tests run them.

A block begins with its language and may have tags after it:

    ```python               runs after the blocks above it on the page, in the same namespace
    ```python OptionError   runs and has to raise this error of `qsim_ex.errors`
    ```python gpu           runs only where there are GPUs, with names that the test gives it
    ```python skip          cannot run in a test; the text beside it says why
    ```bash run             runs in a shell, in the folder of the page
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^( *)```(\w+)((?: [\w-]+)*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


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
