"""Faults planted into native code that finds and writes forms, one at a time: a copy of the checkout is compiled with
each, and circuits are drawn, transpiled and compared there until one is wrong.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools import native

if TYPE_CHECKING:
    from collections.abc import Iterator

KIND = ("qiskit-bases",)
"""The kind of cases that has to find them."""

FORM = "core/native/planner/form"


class Fault(NamedTuple):
    """A line of a source, which it has once, and what stands there instead."""

    file: str
    right: str
    wrong: str

    def planted(self) -> str:
        """Return the source with the fault in it; raises `ValueError` if its line is not there once."""
        text = (native.ROOT / FORM / self.file).read_text(encoding="utf-8")
        if text.count(self.right) != 1:
            raise ValueError(f"expected once in {self.file}: {self.right}")
        return text.replace(self.right, self.wrong)


FAULTS = {
    # signs
    "a turned row's sign": Fault("tableau.cpp", "((power >> 1 & 1) ^ negative)", "((power >> 1 & 1) | negative)"),
    "a listed rotation's sign": Fault(
        "form.cpp",
        "layers_->add(image.pauli, image.negative ? -item.angle : item.angle);",
        "layers_->add(image.pauli, item.angle);",
    ),
    "a controlled part's sign": Fault("write/conditions.cpp", "part.negative ? -quarters : quarters", "quarters"),
    "a pulled rotation's sign": Fault("write/wires.cpp", "if (string.negative) rotation.angle = -rotation.angle;", ""),
    "a reflection's sign": Fault("write/between.cpp", "if (b.negative) turned(p);", ""),
    # phases
    "a merged half turn's phase": Fault(
        "layers.cpp",
        "if (sum.quarters) quarter(pauli, sum.quarters);",
        "if (sum.quarters) quarter(pauli, sum.quarters & 3);",
    ),
    "a state's first phase": Fault("stabilizer_state.cpp", " + 4 * count(a & value_ & turned_)", ""),
    "a phase on zeros": Fault("form.cpp", "string.negative ? 0.5 : -0.5", "string.negative ? -0.5 : 0.5"),
    "a cluster's phase": Fault("clusters/cluster.cpp", "to.phase += phases.all;", ""),
    # symplectic products
    "half of a product in layers": Fault(
        "layers.cpp",
        "if (anticommute(one.pauli, pauli)) return false;",
        "if (is_odd(one.pauli.x & pauli.z)) return false;",
    ),
    "products joined by or": Fault(
        "tableau.cpp",
        "(a[k] & b[words_ + k]) ^ (a[words_ + k] & b[k])",
        "(a[k] & b[words_ + k]) | (a[words_ + k] & b[k])",
    ),
    "a basis that is not reduced": Fault(
        "layers.cpp", "if (meets(pauli, one.bit)) pauli ^= one.pauli;", "if (meets(pauli, one.bit)) return;"
    ),
    # growth: what is still known of zeros
    "zeros that stay known": Fault("zeros.cpp", "each(odd & alive_, [&]", "each(odd & ~alive_, [&]"),
    "a sign on zeros": Fault(
        "zeros.cpp", "return SignedPauli{pauli} * SignedPauli{{0, pauli.z ^ z}};", "return {{pauli.x, z}};"
    ),
    "a wire that is not touched": Fault(
        "clusters/pieces.cpp",
        "piece.values = piece.wires;\n    untouched_ &= ~piece.wires;",
        "piece.values = piece.wires;",
    ),
    # ends
    "an end without a quarter turn": Fault(
        "write/quarters.cpp", "for (SignedPauli& image : z_) turn(image, about.pauli, back);", ""
    ),
    "an end without flips": Fault(
        "write/clifford_gates.cpp", "each(of.x | (of.z & ~unit(wire)),", "each(of.x & unit(wire),"
    ),
    "an end's negative X": Fault(
        "write/clifford_gates.cpp", "if (z_[place(wire)].negative) before({Gate::x, 0, unit(wire)});", ""
    ),
    # clusters' matrices
    "a block's matrix transposed": Fault(
        "clusters/segment.cpp",
        "for (const Column& column : columns_) out.push_back(column.at(row));",
        "for (std::size_t k = 0; k < columns_.size(); ++k) out.push_back(columns_[row].at(k));",
    ),
    "a turn before a block": Fault(
        "clusters/pieces.cpp", "times(a, turn[0]) + times(b, turn[2])", "times(a, turn[0]) + times(b, turn[1])"
    ),
    "a joint phase's value": Fault(
        "clusters/joint_phases.cpp",
        "one.bits |= more, one.values |= more & ~other.values;",
        "one.bits |= more, one.values |= more;",
    ),
    "a known one's value": Fault(
        "clusters/pieces.cpp", "if (piece.kind == Piece::parity && is_one) piece.angle = -piece.angle;", ""
    ),
    # few rotations
    "axes the wrong way round": Fault("layers.cpp", "if (last.negative) std::swap(axes[0], axes[1]);", ""),
    "an opposite axis": Fault(
        "gates/turn.cpp", "(right_handed == flips) == (quarters == 1)", "(right_handed || flips) == (quarters == 1)"
    ),
    "an eighth turned back": Fault(
        "write/grouping.cpp", "const int back = own.string.negative ? more : -more;", "const int back = -more;"
    ),
}
"""By name."""


def search(count: int, _seed: int, name: str) -> tuple[Counter[str], list[str]]:
    """Plant a fault; return after how many circuits it was found, or that it was not."""
    folder = _copy()
    source = folder / FORM / FAULTS[name].file
    with _as_it_was(folder, source):
        source.write_text(FAULTS[name].planted(), encoding="utf-8")
        _run(folder, "-m", "tools.native").check_returncode()
        ended = _run(folder, "-c", f"from tools.faults.forms import first; print(first({count}))")
    if ended.returncode:
        return Counter({f"process ended with {ended.returncode}": 1}), []
    found = ended.stdout.split()[-1]
    if found == "None":
        return Counter(), [f"{name}: not found within {count} circuits"]
    return Counter({f"found after {found} circuits": 1}), []


def first(count: int) -> int | None:
    """Return after how many circuits something differs, or None."""
    from tools.fuzz.kinds import drawn
    from tools.fuzz.run import outcome_of, quiet

    quiet()
    return next((seed + 1 for seed in range(count) if outcome_of(drawn(seed, KIND)).trouble), None)


@lru_cache(maxsize=1)
def _copy() -> Path:
    """Return a folder with a copy of the checkout, which is there until the process ends."""
    from tools.mutants.runner import copy

    folder = _UNTIL_THE_END.enter_context(tempfile.TemporaryDirectory())
    copy(Path(folder))
    return Path(folder)


_UNTIL_THE_END = ExitStack()


@contextmanager
def _as_it_was(folder: Path, source: Path) -> Iterator[None]:
    """Put a source and its objects back, so that nothing is compiled twice."""
    objects = folder / "build/native" / platform.machine()
    stem = objects / source.relative_to(folder / "core/native").with_suffix("")
    before = {file: file.read_bytes() for file in [source, *stem.parent.glob(f"{stem.name}.*")]}
    try:
        yield
    finally:
        for file, content in before.items():
            file.write_bytes(content)


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder / "core"), str(folder)])
    env = {**os.environ, "PYTHONPATH": paths, "QSIM_EX_FUZZ_DEVICES": "cpu"}
    env.pop("QSIM_EX_OBJECTS", None)
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=env, text=True, stdout=subprocess.PIPE, check=False
    )
