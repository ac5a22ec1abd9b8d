"""``qsim-ex demo``: one experiment through every framework; the answers are compared with the definition."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from qsim_ex.cli import eraser, options, report
from qsim_ex.cli.experiment import Answer, Experiment
from qsim_ex.cli.histogram import binned, skyline
from qsim_ex.cli.layout import NONE, heading, mark, table
from qsim_ex.cli.report import Task
from qsim_ex.cli.sizes import seconds
from qsim_ex.cli.where import document, show_where
from qsim_ex.display.amounts import plural
from qsim_ex.frameworks import frontends
from qsim_ex.frameworks.frontends import Missing, Runner
from qsim_ex.result import Result

SHOTS = 20_000
SEED = 7
COLUMNS = 64


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--shots", type=int, default=SHOTS, metavar="N", help=f"particles to send ({SHOTS})")
    options.add_seed(parser, SEED)
    options.add_device(parser)
    options.add_output(parser)


def work(args: argparse.Namespace, task: Task) -> DemoReport:
    """Run the experiment in the engine, then in every framework, and compare."""
    experiment = Experiment(args.shots, args.seed, options.chosen(args, task), task)
    task.stage("the engine")
    answers = [experiment.by_engine()]
    absent: list[Missing] = []
    idle: list[str] = []
    for found in frontends.load_all():
        if isinstance(found, Missing):
            absent.append(found)
        elif isinstance(found, Runner):
            task.stage(found.name)
            answers.append(experiment.by(found))
        else:
            idle.append(found.name)
    return DemoReport(experiment.result, tuple(answers), tuple(absent), tuple(idle), experiment.limit)


@dataclass(frozen=True, eq=False, slots=True)
class DemoReport:
    """The experiment's picture, and whether all answers agree.

    missing: frontends that do not load. idle: names of frontends that run no gates.
    """

    result: Result
    answers: Sequence[Answer]
    missing: Sequence[Missing]
    idle: Sequence[str]
    limit: float

    @property
    def exit_code(self) -> int:
        """The exit code: not 0 if one answer is wrong."""
        return report.DONE if all(answer.good(self.limit) for answer in self.answers) else report.CHECK_FAILED

    def to_json(self) -> dict[str, object]:
        """Return counts (bit k of a string, from the right, is wire k), the answers, and where the engine ran."""
        counts = {format(value, f"0{eraser.NUM_QUBITS}b"): count for value, count in self.result.counts().items()}
        return document(
            "demo",
            experiment="quantum eraser",
            agreed=self.exit_code == report.DONE,
            tolerance=self.limit,
            answers=[
                {
                    "name": answer.name,
                    "agreed": answer.good(self.limit),
                    "relative_error": answer.error,
                    "shots_as_engine": answer.same,
                    "engine_seed": answer.seed,
                    "seconds": answer.seconds,
                    "device": answer.device,
                    "precision": answer.precision,
                }
                for answer in self.answers
            ],
            missing=[{"name": m.name, "why": m.why, "command": m.command} for m in self.missing],
            idle=list(self.idle),
            shots=self.result.shots,
            seed=self.result.seed,
            counts=counts,
            metadata=self.result.metadata(),
        )

    def show(self, page: Console) -> None:
        """Print the picture, the comparison, where it ran, and a verdict."""
        heading(page, "A quantum eraser", f"{eraser.NUM_QUBITS} qubits · {plural(self.result.shots or 0, 'particle')}")
        page.print(Padding(Text(STORY), (1, 2, 0, 2)))
        for title, lines in pictures(self.result.counts()):
            page.print()
            page.print(Text("  " + title))
            for line in lines:
                page.print(Text("  ") + line, no_wrap=True, crop=False)
            page.print(Text("  " + "─" * COLUMNS, "dim"))
        self._show_answers(page)
        show_where(page, self.result)
        page.print()
        for missing in self.missing:
            page.print(Text(f"  {missing.name}: {missing.why}. Run: {missing.command}"), soft_wrap=True)
        page.print(Text.assemble("  ", mark(self.exit_code == report.DONE), " ", self.verdict()))

    def verdict(self) -> str:
        """Return the verdict in one sentence."""
        names = [answer.name for answer in self.answers if not answer.good(self.limit)]
        if names:
            return f"The answers do not agree: {', '.join(names)}."
        ways = ", ".join(["the engine", *(answer.name for answer in self.answers[1:])])
        return f"All agree with the definition: {ways}."

    def _show_answers(self, page: Console) -> None:
        heading(page, "Checked", f"amplitudes against the definition, at most {self.limit:.0e} off; shots one by one")
        page.print()
        columns = [("", "left"), ("through", "left"), ("amplitudes off by", "right"), ("same shots", "right")]
        rows: list[Sequence[object]] = [
            (
                mark(a.good(self.limit)),
                a.name,
                f"{a.error:.1e}",
                f"{a.same:,} of {a.shots:,}",
                seconds(a.seconds),
                a.device,
            )
            for a in self.answers
        ]
        rows += [(NONE, missing.name, "not installed", "", "", "") for missing in self.missing]
        rows += [(NONE, name, "runs no gates", "", "", "") for name in self.idle]
        page.print(table([*columns, ("time", "right"), ("device", "left")], rows))


STORY = """\
A particle meets two slits, and a marker qubit notes which one it passes. Where it lands shows no fringes. Then \
the marker is measured in |0⟩ ± |1⟩, so that nobody can ever know the way, and the fringes are back."""


def pictures(counts: Mapping[int, int]) -> Iterator[tuple[str, list[Text]]]:
    """Yield the screen behind the slits: all particles, those whose marker was +, and those with −."""
    plus, minus = (binned(screen, eraser.OUTCOMES, COLUMNS) for screen in eraser.screens(dict(counts)))
    both = [a + b for a, b in zip(plus, minus, strict=True)]
    most = max(*plus, *minus, 1)
    yield "all particles", skyline(both, max(*both, 1), 5, "default")
    yield f"marker found in |0⟩ + |1⟩: {sum(plus):,}", skyline(plus, most, 5, "cyan")
    yield f"marker found in |0⟩ − |1⟩: {sum(minus):,}", skyline(minus, most, 5, "magenta")
