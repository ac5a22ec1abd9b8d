"""The figures of README and of the page of benchmarks are those of the files that they come from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from benchmarks import readme
from benchmarks.families import FAMILIES
from benchmarks.table import OURS, Block, blocks, geometric_mean

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = (ROOT / "docs" / "explained" / "benchmarks.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def read(file: str) -> dict[str, Any]:
    """Return what was measured."""
    found: dict[str, Any] = json.loads((RESULTS / file).read_text(encoding="utf-8"))
    return found


def table(head: str) -> list[list[str]]:
    """Return the cells of the table that begins so, without its head and its first column."""
    lines = PAGE[PAGE.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip(" *") for cell in line.strip("|").split("|")][1:] for line in lines]


def block(file: str, n: int) -> Block:
    """Return the cases of a size in a file."""
    (found,) = (one for one in blocks(read(file)) if one.n == n)
    return found


def numbers(cell: str) -> list[float]:
    """Return the numbers in a cell."""
    return [float(number) for number in re.findall(r"[\d.]+", cell)]


def is_rounded(shown: float, value: float, digits: int) -> bool:
    """Return whether a number is the value, rounded to so many digits behind the point or to three in all."""
    return shown in (round(value, digits), float(f"{value:.3g}"))


GPU = [
    ("| | n = 20, ms", 0, "h100_single.json", 20),
    ("| | n = 20, ms", 1, "h100_single.json", 28),
    ("| | n = 20, ms", 2, "h100_single.json", 30),
    ("| | n = 20, ms", 3, "h100_single_32.json", 32),
    ("| | n = 20, ms", 4, "h100_double.json", 28),
    ("| | 1 migration wire", 0, "h100_host_29.json", 30),
    ("| | 1 migration wire", 1, "h100_host_28.json", 30),
    ("| | 1 migration wire", 2, "h100_host_27.json", 30),
    ("| | 1 migration wire", 3, "h100x4.json", 30),
]


@pytest.mark.parametrize(("head", "column", "file", "n"), GPU)
def test_a_table_beside_custatevec_ex(head: str, column: int, file: str, n: int) -> None:
    """Our milliseconds, the ratio of each family, and the geometric mean are those of the file."""
    found, lines = block(file, n), table(head)
    for line, family in zip(lines, FAMILIES, strict=False):
        ours, ratio = numbers(line[column])
        assert is_rounded(ours, found.rows[family][OURS].median * 1e3, 1), (family, ours)
        assert is_rounded(ratio, found.best_ratio(family) or 0, 1), (family, ratio)
    mean = geometric_mean(found.best_ratio(family) for family in FAMILIES) or 0
    assert numbers(lines[-1][column]) == [round(mean, 1)]


CPU = [(0, "cpu_single_20.json", 20, 3), (4, "cpu_single_22.json", 22, 3), (8, "cpu_single_24.json", 24, 1)]


@pytest.mark.parametrize(("column", "file", "n", "peers"), CPU)
def test_the_table_of_one_thread(column: int, file: str, n: int, peers: int) -> None:
    """Our milliseconds and the ratio of each peer are those of the file."""
    found, lines = block(file, n), table("| one thread, complex64")
    for line, family in zip(lines, FAMILIES, strict=False):
        (ours,) = numbers(line[column])
        assert is_rounded(ours, found.rows[family][OURS].median * 1e3, 1), (family, ours)
        for k, peer in enumerate(("qsim", "aer", "lightning")[:peers]):
            (ratio,) = numbers(line[column + 1 + k])
            assert is_rounded(ratio, found.ratio(family, peer) or 0, 1), (family, peer, ratio)


FIRST = [(0, "h100_first.json", 20), (1, "h100_first.json", 24), (2, "h100_first.json", 28), (3, "h100_first.json", 30)]
FIRST += [(4, "h100_first_double.json", 28)]


@pytest.mark.parametrize(("column", "file", "n"), FIRST)
def test_the_table_of_first_runs_on_a_gpu(column: int, file: str, n: int) -> None:
    """Our first milliseconds, the ratio of each family, and the geometric mean are those of the file."""
    cells = [cell for cell in read(file)["cells"] if cell["n"] == n]
    lines = table("| circuit, our first run in ms")
    for line, cell in zip(lines[:-1], cells, strict=True):
        ours, ratio = numbers(line[column])
        assert is_rounded(ours, cell["ms"][0], 1), (cell["family"], ours)
        assert is_rounded(ratio, cell["peer"] / cell["ms"][0], 1), (cell["family"], ratio)
    mean = geometric_mean(cell["peer"] / cell["ms"][0] for cell in cells) or 0
    assert numbers(lines[-1][column]) == [round(mean, 1)]


DRAWN = [(0, "h200_first_drawn", 20), (1, "h200_first_drawn_24", 24), (2, "h200_first_drawn", 28)]
DRAWN += [(3, "h200_first_drawn_30", 30), (4, "h200_first_drawn_double", 28)]


@pytest.mark.parametrize(("line", "file", "n"), DRAWN)
@pytest.mark.parametrize(("column", "basis"), [(0, "as"), (4, "cz")])
def test_the_table_of_drawn_structures(line: int, file: str, n: int, column: int, basis: str) -> None:
    """How many families there are, our times, the host's, and the ratios are those of the file."""
    cells = [c for c in read(f"{file}.json")["cells"] if (c["n"], c["basis"]) == (n, basis)]
    found = table("| qubits | families, as written")[line]
    assert int(found[column]) == len(cells)
    ours, ratio = numbers(found[column + 1])
    assert is_rounded(ours, geometric_mean(median(c["ms"]) for c in cells) or 0, 1)
    assert is_rounded(ratio, geometric_mean(c["times"] for c in cells) or 0, 1)
    assert is_rounded(numbers(found[column + 2])[0], geometric_mean(median(c["host"]) for c in cells) or 0, 1)
    assert is_rounded(numbers(found[column + 3])[0], min(c["times"] for c in cells), 1)


@pytest.mark.parametrize(("line", "ours"), [(0, "qsim-ex-qiskit"), (1, "qsim-ex-cirq")])
def test_the_table_of_first_runs_through_a_framework(line: int, ours: str) -> None:
    """Our milliseconds and the peer's ratio are those of the file, for every number of qubits."""
    rows = [row for row in read("cpu_first.json")["new circuits"] if row["simulator"] == ours]
    for cell, row in zip(table("| qubits | 8")[line], rows, strict=True):
        milliseconds, ratio = numbers(cell)
        assert is_rounded(milliseconds, 1e3 * row["seconds"][ours], 1), row["n"]
        assert is_rounded(ratio, row["times faster"], 1), row["n"]


CALLS = [
    ("1,000 bindings of 10 qubits", 0, "cpu_many.json", "qiskit counts", ["aer"]),
    ("200 points of a Cirq sweep", 0, "cpu_many.json", "cirq samples", ["cirq"]),
    ("200 points of a Cirq sweep", 1, "cpu_many.json", "cirq states", ["cirq"]),
    ("1,000 trajectories of 12 qubits", 0, "cpu_noise_12.json", "depolarizing, 12 qubits", ["qsim", "aer"]),
    ("the same of 16 qubits", 0, "cpu_noise_16_depolarizing.json", "depolarizing, 16 qubits", ["qsim", "aer"]),
    ("the same with amplitude damping: 12", 0, "cpu_noise_12.json", "damping, 12 qubits", ["qsim", "aer"]),
    ("the same with amplitude damping: 12", 1, "cpu_noise_16_damping.json", "damping, 16 qubits", ["qsim", "aer"]),
    (
        "10,000 shots of 20 qubits",
        0,
        "cpu_middle.json",
        "20 qubits, 10 measurements in the middle, 10000 shots",
        ["aer"],
    ),
    ("the same through Qiskit", 0, "h100_many.json", "qiskit", ["aer"]),
    ("the same through Qiskit", 1, "h100_many.json", "qiskit counts", ["aer"]),
    ("the Cirq sweep", 0, "h100_many.json", "cirq samples", ["cirq"]),
    ("the Cirq sweep", 1, "h100_many.json", "cirq states", ["cirq"]),
    ("100 Pauli strings", 0, "h100_many.json", "estimator", ["aer"]),
    ("1,000 trajectories, depolarizing", 0, "h100_noise.json", "depolarizing, 12 qubits", ["one by one"]),
    ("1,000 trajectories, depolarizing", 1, "h100_noise.json", "depolarizing, 20 qubits", ["one by one"]),
    ("the same with amplitude damping |", 0, "h100_noise.json", "damping, 12 qubits", ["one by one"]),
    ("the same with amplitude damping |", 1, "h100_noise.json", "damping, 20 qubits", ["one by one"]),
]


@pytest.mark.parametrize(("begins", "place", "file", "what", "peers"), CALLS)
def test_a_row_of_whole_calls(begins: str, place: int, file: str, what: str, peers: list[str]) -> None:
    """Our time and each peer's ratio are those of the file, and what is told from two shares says so."""
    (line,) = (one for one in PAGE.splitlines() if one.startswith(f"| {begins}"))
    _, _, ours, theirs, *_ = line.split("|")
    (row,) = (one for one in read(file)["rows"] if one["what"] == what)
    shown = float(ours.split(";")[place].replace(",", ""))
    assert shown == float(f"{1e3 * row['medians'][OURS]:.2g}") or is_rounded(shown, 1e3 * row["medians"][OURS], 1)
    for peer, text in zip(peers, theirs.split(","), strict=False):
        ratio = float(re.findall(r"([\d.]+)×", text)[place])
        assert ratio == round(row["ratios"][peer], len(f"{ratio:g}".partition(".")[2])), (what, peer)
    assert ("by two shares" in theirs) or not row["by_two_shares"], what


def test_two_shares_are_named() -> None:
    """The page says how many units were run where the time of all is told from two shares."""
    files = sorted(set(re.findall(r"results/(\w+\.json)", PAGE)))
    told = [
        one for file in files for row in read(file).get("rows", []) for one in row.get("by_two_shares", {}).values()
    ]
    assert told
    for one in told:
        few, more = one["units"]
        assert f"{few} and {more} of {one['of']:,}" in PAGE


def test_no_file_multiplies_a_share() -> None:
    """No file of whole calls has a time that is a multiple of a share."""
    for path in RESULTS.glob("*.json"):
        assert all("shares" not in row for row in read(path.name).get("rows", []) if isinstance(row, dict)), path.name


@pytest.mark.parametrize("row", readme.ROWS, ids=lambda row: row.what)
def test_a_row_of_the_readme(row: readme.Row) -> None:
    """Every row of README's table is made from its file, and stands there."""
    assert readme.line(row, RESULTS) in README.splitlines()


def test_the_readme_has_no_other_rows() -> None:
    """README's table of times has as many rows as are made from files."""
    lines = README[README.index("| | ours | peer |") :].split("\n\n")[0].splitlines()
    assert len(lines) == 2 + len(readme.ROWS)
