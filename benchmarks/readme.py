"""The table of README.md, out of the files that were measured: ``python -m benchmarks.readme [FOLDER]``.

Every row comes from one file, in which we and the peer did all of the work. `benchmarks/pages.sh` measures them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.table import OURS, blocks, geometric_mean

RESULTS = Path(__file__).parent / "results"

Document = dict[str, Any]


@dataclass(frozen=True)
class Figures:
    """Our milliseconds, one or those of several families, and how many times longer each peer takes, in the mean."""

    ours: tuple[float, ...]
    peers: dict[str, float]


@dataclass(frozen=True)
class Row:
    """A row: what was run, in which file the figures are, and how they are read.

    {card}, {commit} and {date} are those of the file.
    """

    what: str
    file: str
    read: Callable[[Document], Figures]


def digits(value: float) -> str:
    """Return two digits, and no digit behind the point from 10 on."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def duration(milliseconds: float) -> str:
    """Return a time with two digits, in seconds from one second on."""
    seconds = milliseconds / 1e3
    if seconds < 1:
        return f"{digits(milliseconds)}\u00a0ms"  # which no line breaks
    return f"{seconds:.1f}\u00a0s" if seconds < 10 else f"{seconds:,.0f}\u00a0s"


def new_circuit(ours: str, n: int) -> Callable[[Document], Figures]:
    """Read a first run in a warm process, through a framework."""

    def read(document: Document) -> Figures:
        (one,) = (row for row in document["new circuits"] if (row["simulator"], row["n"]) == (ours, n))
        peer = {"aer": "Aer"}.get(one["peer"], one["peer"])
        return Figures((1e3 * one["seconds"][ours],), {peer: one["times faster"]})

    return read


def new_process(n: int) -> Callable[[Document], Figures]:
    """Read the seconds of a new process beyond the import of Cirq."""

    def read(document: Document) -> Figures:
        found = {
            row["simulator"]: row["beyond"]
            for row in document["processes"]
            if (row["n"], row["caches"]) == (n, "empty")
        }
        ours = found["qsim-ex-cirq"]
        return Figures((1e3 * ours,), {"qsim": found["qsim"] / ours})

    return read


def warm(n: int, peer: str, title: str) -> Callable[[Document], Figures]:
    """Read later runs of the seven families."""

    def read(document: Document) -> Figures:
        (found,) = (one for one in blocks(document) if one.n == n)
        ours = [row[OURS].median * 1e3 for row in found.rows.values()]
        mean = geometric_mean(found.ratio(family, peer) for family in found.rows)
        return Figures(tuple(ours), {title: mean or 0})

    return read


def drawn(n: int, basis: str) -> Callable[[Document], Figures]:
    """Read first runs of drawn structures on a GPU: medians of each family, as written or in a basis."""

    def read(document: Document) -> Figures:
        cells = [cell for cell in document["cells"] if (cell["n"], cell["basis"]) == (n, basis)]
        ours = [median(cell["ms"]) for cell in cells]
        return Figures(tuple(ours), {"cuStateVec Ex": geometric_mean(cell["times"] for cell in cells) or 0})

    return read


def compiled(n: int) -> Callable[[Document], Figures]:
    """Read compiled runs of drawn structures beside the peer's run of each."""

    def read(document: Document) -> Figures:
        cells = [cell for cell in document["cells"] if cell["n"] == n]
        ratios = [median(cell["peer"]) / cell["later"] for cell in cells]
        return Figures(tuple(cell["later"] for cell in cells), {"cuStateVec Ex": geometric_mean(ratios) or 0})

    return read


def batch(what: str) -> Callable[[Document], Figures]:
    """Read a row of whole calls; raises ValueError for one of which somebody did a share."""

    def read(document: Document) -> Figures:
        (one,) = (row for row in document["rows"] if row["what"] == what)
        if one["by_two_shares"]:
            raise ValueError(f"{what}: {', '.join(one['by_two_shares'])} did not do all of the work")
        titles = {"aer": "Aer"}
        return Figures(
            (1e3 * one["medians"][OURS],), {titles.get(name, name): ratio for name, ratio in one["ratios"].items()}
        )

    return read


EX = ("custatevec_ex", "cuStateVec Ex")

ROWS = (
    Row(
        "first run of a new circuit of 20 qubits through Qiskit, two cores",
        "cpu_first",
        new_circuit("qsim-ex-qiskit", 20),
    ),
    Row("the same through Cirq", "cpu_first", new_circuit("qsim-ex-cirq", 20)),
    Row(
        "import of the simulator and first run in a new process, 10 qubits, through Cirq",
        "cpu_first_processes",
        new_process(10),
    ),
    Row("later runs, 24 qubits, seven families, one CPU thread", "cpu_single_24", warm(24, "qsim", "qsim")),
    Row("first runs, 28 qubits, 31 drawn families, {card}", "h200_first_drawn", drawn(28, "as")),
    Row("the same in rz, sx, x, cz, 45 circuits that nothing was tuned for", "h200_first_files", drawn(28, "cz")),
    Row("compiled runs of these", "h200_first_files", compiled(28)),
    Row("later runs, 28 qubits, seven families, {card}", "h100_single", warm(28, *EX)),
    Row("later runs, 30 qubits, {card}", "h100x4", warm(30, *EX)),
    Row("later runs, 30 qubits, half of the state in host memory, {card}", "h100_host_29", warm(30, *EX)),
    Row(
        "1,000 bindings of 10 qubits through Qiskit, counts read, two cores",
        "cpu_many",
        batch("qiskit counts"),
    ),
    Row(
        "1,000 trajectories of 12 qubits with depolarizing noise, two cores",
        "cpu_noise_12",
        batch("depolarizing, 12 qubits"),
    ),
)


def card(document: Document) -> str:
    """Return how many GPUs were used, and which."""
    gpu = document["machine"]["gpu"]
    count = document.get("gpus", 1)
    name = gpu["name"].removeprefix("NVIDIA ").split()[0] if gpu else "no GPU"
    return f"one {name}" if count == 1 else f"{ {2: 'two', 4: 'four', 8: 'eight'}[count] } {name}s"


def line(row: Row, folder: Path) -> str:
    """Return a row of the table; raises OSError or KeyError if it was not measured."""
    document = json.loads((folder / f"{row.file}.json").read_text(encoding="utf-8"))
    figures = row.read(document)
    ours = geometric_mean(figures.ours) or 0
    peers = ", ".join(f"{peer} {duration(ours * ratio)}" for peer, ratio in figures.peers.items())
    date = str(document["machine"]["date"]).split("T")[0]
    what = row.what.format(card=card(document), commit=document["commit"], date=date)
    return f"| {what} | {duration(ours)} | {peers} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a row was not measured."""
    given = list(sys.argv[1:] if argv is None else argv)
    folder, missing = Path(given[0]) if given else RESULTS, 0
    print("| | ours | peer |\n| --- | --- | --- |")
    for row in ROWS:
        try:
            print(line(row, folder))
        except (OSError, KeyError, ValueError) as error:
            missing += 1
            print(f"| {row.what} | not measured: {type(error).__name__}: {error} | |")
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
