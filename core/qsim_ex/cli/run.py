"""``qsim-ex run FILE``: run a circuit from a file, and print its counts and where it ran."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.cli import options, report
from qsim_ex.cli.histogram import bar
from qsim_ex.cli.layout import heading, table
from qsim_ex.cli.report import Task
from qsim_ex.cli.sizes import share
from qsim_ex.cli.where import document, show_where
from qsim_ex.comm import launcher
from qsim_ex.display.amounts import plural
from qsim_ex.frameworks.frontends import FileInfo, reader
from qsim_ex.result import Result
from qsim_ex.simulator import Simulator

SHOTS = 1000
TOP = 16

BESIDE = 28
"""The letters of a row beside the outcome and its bar."""

SHORTEST = 4
"""The letters of the longest bar that is worth drawing."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    options.add_file(parser)
    parser.add_argument("--shots", type=int, default=SHOTS, metavar="N", help=f"how often to measure ({SHOTS})")
    options.add_seed(parser)
    options.add_device(parser)
    options.add_processes(parser)
    options.add_output(parser)
    parser.add_argument("--memory", action="store_true", help="also print the outcome of every shot, in order")
    parser.add_argument("--top", type=int, default=TOP, metavar="N", help=f"outcomes to print ({TOP}; 0: all)")


def work(args: argparse.Namespace, task: Task) -> RunReport:
    """Read the file and run it."""
    path = Path(args.file)
    circuit, info = read(path, task, args)
    task.stage("running")
    simulator = Simulator(options.chosen(args, task))
    result = simulator.run(circuit, shots=args.shots, seed=args.seed, cancel=task.cancel)
    return RunReport(path, circuit, info, result, args.memory, args.top)


def read(path: Path, task: Task, args: argparse.Namespace) -> tuple[Circuit, FileInfo]:
    """Read a file through the framework that reads files with its ending."""
    task.stage(f"reading {path.name}")
    return reader(path).load(path, **options.reading(args))


def describe(path: Path, circuit: Circuit, info: FileInfo) -> dict[str, Any]:
    """Return a circuit from a file as data for programs."""
    return {
        "path": str(path),
        "format": info.format,
        "name": info.name,
        "num_qubits": circuit.num_qubits,
        "num_clbits": circuit.num_clbits,
        "num_gates": circuit.num_gates,
    }


def title(page: Console, path: Path, circuit: Circuit, info: FileInfo) -> None:
    """Print the heading of a circuit from a file."""
    parts = [info.format, plural(circuit.num_qubits, "qubit"), plural(circuit.num_gates, "gate")]
    heading(page, path.name, " · ".join(parts))


@dataclass(frozen=True, eq=False, slots=True)
class RunReport:
    """The counts of a run, and where it ran."""

    path: Path
    circuit: Circuit
    info: FileInfo
    result: Result
    memory: bool
    top: int
    exit_code: int = report.DONE

    @property
    def silent(self) -> bool:
        """Whether another process prints the same: of those that share the state, rank 0 alone prints."""
        by = launcher.LAUNCHED
        return by is not None and by.rank > 0 and self.result.facts.get("processes_used", 1) > 1

    def to_json(self) -> dict[str, Any]:
        """Return counts and, if asked for, every shot, as bit strings in the format of the frontend."""
        if self.silent:
            return {}
        shown = {self.info.format_bits(value): count for value, count in self.result.counts().items()}
        memory = {"memory": self._shots()} if self.memory else {}
        where = self.result.metadata()
        file = describe(self.path, self.circuit, self.info)
        return document(
            "run", file=file, shots=self.result.shots, seed=self.result.seed, counts=shown, **memory, metadata=where
        )

    def show(self, page: Console) -> None:
        """Print the most frequent outcomes with bars, then where it ran."""
        if self.silent:
            return
        title(page, self.path, self.circuit, self.info)
        page.print()
        counts = sorted(self.result.counts().items(), key=lambda item: (-item[1], item[0]))
        shown = counts[: self.top] if self.top > 0 else counts
        page.print(self._table(page, shown))
        if rest := counts[len(shown) :]:
            shots = plural(sum(count for _, count in rest), "shot")
            page.print(Text(f"  and {plural(len(rest), 'more outcome')} with {shots}; --top 0 shows all", "dim"))
        if self.memory:
            heading(page, "Every shot", "in order")
            for shot in self._shots():
                page.print(Text("  " + shot), soft_wrap=True)
        show_where(page, self.result)

    def _table(self, page: Console, counts: Sequence[tuple[int, int]]) -> Any:
        """Return a row for each outcome; bars where there is room, and long outcomes over several lines."""
        names = [self.info.format_bits(value) or "(no bits)" for value, _ in counts]
        numbers = [(f"{count:,}", share(count, self.result.shots or 0)) for _, count in counts]
        columns = [("shots", "right"), ("share", "right")]
        room = page.width - max(map(len, names), default=0) - BESIDE
        if room < SHORTEST:
            long = [(*told, name) for name, told in zip(names, numbers, strict=True)]
            return table([*columns, ("outcome", "left")], long)
        most = max((count for _, count in counts), default=0)
        bars = [bar(count, most, room) for _, count in counts]
        rows = [(name, *told, line) for name, told, line in zip(names, numbers, bars, strict=True)]
        return table([("outcome", "left"), *columns, ("", "left")], rows)

    def _shots(self) -> list[str]:
        packed = self.result.packed
        assert packed is not None, "a run with shots"
        return [self.info.format_bits(int.from_bytes(row.tobytes(), "little")) for row in packed]
