"""``qsim-ex warm FILE…``: the GPU kernels of circuits, compiled before they run, for a GPU that need not be here."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from rich.console import Console

from qsim_ex.cli import options, report
from qsim_ex.cli.layout import facts, heading, table
from qsim_ex.cli.report import Task
from qsim_ex.cli.run import read
from qsim_ex.cli.sizes import seconds
from qsim_ex.cli.where import document
from qsim_ex.devices import discover
from qsim_ex.devices.hypothetical import HypotheticalGpu
from qsim_ex.display.amounts import plural
from qsim_ex.kernels.cuda.compile import beforehand, compilation
from qsim_ex.options import Options
from qsim_ex.precision import PRECISIONS
from qsim_ex.run import preview


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="circuits in OpenQASM 2 or 3, or in Qiskit's QPY")
    parser.add_argument(
        "--arch",
        type=_arch,
        metavar="sm_NN",
        help="the GPUs that will run them, such as sm_90 (the GPU of this machine)",
    )
    options.add_reading(parser)
    options.add_state(parser)
    options.add_output(parser)


def work(args: argparse.Namespace, task: Task) -> WarmReport:
    """Read the files, plan them, and compile what is not there yet."""
    began = perf_counter()
    chosen = replace(options.chosen(args), device="gpu")
    arch = args.arch or _here(chosen)
    gpu = HypotheticalGpu(chosen.device_id, beforehand.multiplies(arch))
    warmed = [_warmed(Path(name), arch, gpu, chosen, args, task) for name in args.files]
    return WarmReport(arch, warmed, perf_counter() - began)


class Warmed(NamedTuple):
    """A file whose circuit has its kernels."""

    path: Path
    sweeps: int
    kernels: beforehand.KernelCount


def _warmed(
    path: Path, arch: str, gpu: HypotheticalGpu, chosen: Options, args: argparse.Namespace, task: Task
) -> Warmed:
    """Compile the kernels of one file's circuit."""
    circuit, _ = read(path, task, args)
    task.stage(f"planning {path.name}")
    first, later = (preview.plans(circuit, chosen, gpu, again=again) for again in (False, True))
    steps = [step for plan in later for step in plan.steps]
    every = [step for plan in dict.fromkeys([*first, *later]) for step in plan.steps]
    what = every, PRECISIONS[chosen.precision], arch
    texts = beforehand.texts(*what)
    beforehand.keep_entries(*what)
    task.stage(f"compiling {plural(len(texts), 'kernel')} of {path.name}")
    return Warmed(path, len(steps), beforehand.compile_all(texts, arch, task.step, task.cancel))


def _here(chosen: Options) -> str:
    """Return the compute capability of this machine's GPU; raises `DeviceError` or `MissingPackage`."""
    if missing := discover.gpu_missing():
        raise type(missing)(f"{missing} To compile for a GPU of another machine, name its architecture: --arch sm_90.")
    return discover.generation(chosen.device_id)


def _arch(text: str) -> str:
    found = re.fullmatch(r"(?:sm_)?(\d{2,3})", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"expected an architecture such as sm_90, got {text!r}")
    return found[1]


@dataclass(frozen=True, eq=False, slots=True)
class WarmReport:
    """The kernels that circuits have now. arch: the compute capability of their GPUs; elapsed: in seconds."""

    arch: str
    files: Sequence[Warmed]
    elapsed: float
    exit_code: int = report.DONE

    def to_json(self) -> dict[str, object]:
        """Return for each file how many kernels were there and how many have been made."""
        return document(
            "warm",
            architecture=f"sm_{self.arch}",
            compiler=self._compiler,
            folder=str(compilation.folder()),
            seconds=self.elapsed,
            files=[
                {"path": str(one.path), "steps": one.sweeps, "found": one.kernels.found, "made": one.kernels.made}
                for one in self.files
            ],
        )

    def show(self, page: Console) -> None:
        """Print a row for each file, and where the kernels are kept."""
        heading(page, "Kernels", f"sm_{self.arch}")
        page.print()
        columns = [("steps", "right"), ("were there", "right"), ("made", "right"), ("circuit", "left")]
        page.print(table(columns, [(one.sweeps, *one.kernels, one.path.name) for one in self.files]))
        page.print()
        made = sum(one.kernels.made for one in self.files)
        facts(
            page,
            [
                ("made", f"{plural(made, 'kernel')} in {seconds(self.elapsed)}"),
                ("compiler", self._compiler),
                ("kept in", str(compilation.folder())),
            ],
        )

    @property
    def _compiler(self) -> str:
        return f"NVRTC {'.'.join(map(str, compilation.compiler().getVersion()))}"
