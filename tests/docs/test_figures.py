"""The figures on the page of benchmarks are those of the files that it names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.families import FAMILIES
from benchmarks.table import OURS, Block, blocks, geometric_mean

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explained" / "benchmarks.md").read_text(encoding="utf-8")


def table(head: str) -> list[list[str]]:
    """Return the cells of the table that begins so, without its head and its first column."""
    lines = PAGE[PAGE.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip(" *") for cell in line.strip("|").split("|")][1:] for line in lines]


def block(file: str, n: int) -> Block:
    """Return the cases of a size in a file."""
    document = json.loads((ROOT / "benchmarks" / "results" / file).read_text(encoding="utf-8"))
    (found,) = (one for one in blocks(document) if one.n == n)
    return found


def numbers(cell: str) -> list[float]:
    """Return the numbers in a cell."""
    return [float(number) for number in re.findall(r"[\d.]+", cell)]


def is_rounded(shown: float, value: float, digits: int) -> bool:
    """Return whether a number is the value, rounded to so many digits behind the point or to three in all."""
    return shown in (round(value, digits), float(f"{value:.3g}"))


GPU = [
    ("| | n = 20, ms", 0, "h200_single.json", 20),
    ("| | n = 20, ms", 1, "h200_single.json", 28),
    ("| | n = 20, ms", 2, "h200_single.json", 30),
    ("| | n = 20, ms", 3, "h200_single_32.json", 32),
    ("| | n = 20, ms", 4, "h200_double.json", 28),
    ("| | 1 migration wire", 0, "h200_host_29.json", 30),
    ("| | 1 migration wire", 1, "h200_host_28.json", 30),
    ("| | 1 migration wire", 2, "h200_host_27.json", 30),
    ("| | 1 migration wire", 3, "h200x4.json", 30),
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


CPU = [(0, "cpu_single.json", 20, 3), (4, "cpu_single.json", 22, 3), (8, "cpu_single_24.json", 24, 2)]


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
