"""How many bytes a kernel spills: a file says it of texts that were compiled before, and a text that it lacks fails.

What NVRTC makes of a text is decided by the text, the architecture, the options and its own version, and they are the
key in the file. Compiling takes minutes after an edit that many texts have, so it is asked for: ``QSIM_EX_COMPILE=all``
compiles every text again and compares, as `.ci/full` does; ``write`` compiles what the file lacks and writes it anew,
with what was asked for and nothing else. tests/data/shipped_kernels.json is kept in the same way.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from pathlib import Path

import pytest
from support.paths import ROOT

from qsim_ex.kernels.cuda.compile.compilation import OPTIONS, report

FILE = ROOT / "tests/data/spilled_bytes.json"
MODE = os.environ.get("QSIM_EX_COMPILE", "")
COMMAND = (
    "QSIM_EX_COMPILE=write python -m pytest -n 0 tests/kernels/cuda/test_corpus.py tests/tools/test_ship_kernels.py"
)
"""Writes both files anew."""
asked: dict[str, int] = {}
"""What this process was asked for, as the file has it."""


@functools.cache
def known() -> dict[str, int]:
    """The bytes that are known by keys."""
    found: dict[str, int] = json.loads(FILE.read_text())
    return found


def key_of(text: str, architecture: int) -> str:
    """The digest of all that decides what the compiler makes."""
    _, major, minor = _nvrtc().nvrtcVersion()
    parts = [text, f"sm_{architecture}", *OPTIONS, f"NVRTC {major}.{minor}"]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def spilled(text: str, architecture: int) -> int:
    """The bytes that a thread of a kernel spills; fails with the compiler's log where the text does not compile."""
    key = key_of(text, architecture)
    before = known().get(key)
    if before is None or MODE == "all":
        expect_compiling(FILE)
        asked[key] = report(compiled(text, architecture)).spilled
        assert before in (None, asked[key]), f"the file says {before}, the compiler {asked[key]}\n{text}"
    else:
        asked[key] = before
    return asked[key]


def expect_compiling(file: Path) -> None:
    """Fail, with the command that writes a file anew, where a text that it lacks is not to be compiled now."""
    _, major, minor = _nvrtc().nvrtcVersion()
    assert MODE in ("all", "write"), (
        f"expected texts that {file.relative_to(ROOT)} knows as NVRTC {major}.{minor} compiles them, got another one: "
        f"after an edit of a kernel's text run\n{COMMAND}\nand commit what it writes"
    )


def compiled(text: str, architecture: int) -> str:
    """Compile for an architecture and return the assembler's log; fails with the compiler's log."""
    nvrtc = _nvrtc()
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], [])
    options = [f"-arch=sm_{architecture}".encode(), *(option.encode() for option in OPTIONS)]
    (failed,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    assert int(failed) == 0, log.decode()
    return log.decode()


def write() -> None:
    """Write what was asked for into the file."""
    FILE.write_text(json.dumps(dict(sorted(asked.items())), indent=0) + "\n")


def _nvrtc():
    return pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings compiles kernels without a GPU")
