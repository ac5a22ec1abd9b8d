"""Keep the README true: print or run the commands in it.

A fenced block may carry a second word after its language, its tag:

    ```bash test        one command block; ``python tools/readme.py print test`` prints it
    ```python run       ``python tools/readme.py run`` executes it, as it does ```bash run
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).parents[1] / "README.md"


class Block(NamedTuple):
    """A tagged block of the README and the number of its first line."""

    language: str
    tag: str
    line: int
    text: str


def blocks(tag: str) -> list[Block]:
    """Return the blocks with this tag, in the README's order; an unknown tag is an error."""
    source = README.read_text(encoding="utf-8")
    found = [
        Block(match[1], match[2], source.count("\n", 0, match.start()) + 2, match[3])
        for match in re.finditer(r"^```(\w+) (\w+)\n(.*?)^```$", source, re.MULTILINE | re.DOTALL)
        if match[2] == tag
    ]
    if not found:
        raise SystemExit(f"README.md has no block that is tagged {tag!r}")
    return found


def run(tag: str) -> None:
    """Execute every block with this tag, all in one empty folder, and stop at the first that fails."""
    with tempfile.TemporaryDirectory() as folder:
        for block in blocks(tag):
            print(f"\nREADME.md, line {block.line}:\n{block.text}", flush=True)
            command = {"bash": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
            done = subprocess.run([*command[block.language], block.text], cwd=folder, check=False)
            if done.returncode:
                raise SystemExit(f"README.md, line {block.line}: this block fails")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["print", tag]:
            print("".join(block.text for block in blocks(tag)), end="")
        case ["run"]:
            run("run")
        case _:
            raise SystemExit(__doc__)
