"""``qsim-ex doctor``: the devices and software of this machine, what is missing, and a check of each device."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.text import Text

from qsim_ex.cli import cuda, options, report, selfcheck
from qsim_ex.cli.caches import Folder, folders
from qsim_ex.cli.cuda import CudaPart
from qsim_ex.cli.findings import (
    BASE,
    Framework,
    Kernels,
    dotted,
    framework,
    kernels,
    show_checks,
    show_folders,
    show_machine,
    show_software,
)
from qsim_ex.cli.layout import NONE, heading, mark
from qsim_ex.cli.machine import Driver, Processor, driver, processor, system
from qsim_ex.cli.processes import Processes, processes
from qsim_ex.cli.report import Task
from qsim_ex.cli.selfcheck import Check
from qsim_ex.cli.where import document
from qsim_ex.devices.discover import gpu, gpu_missing
from qsim_ex.errors import QsimExError
from qsim_ex.frameworks import frontends, packages


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    options.add_output(parser)
    parser.add_argument("--no-check", action="store_true", help="look only; run nothing")


def work(args: argparse.Namespace, task: Task) -> DoctorReport:
    """Collect everything about the machine, then check every device that can be used."""
    task.stage("looking around")
    nvidia = driver()
    usable = len(nvidia.gpus) if nvidia and gpu_missing() is None else 0
    found = DoctorReport(
        processor=processor(),
        driver=nvidia,
        cuda=cuda.parts(),
        frameworks=tuple(framework(point) for point in frontends.registered()),
        folders=folders(),
        free=tuple(_free(number) for number in range(usable)),
        processes=processes(),
    )
    if not args.no_check:
        found.checks.extend(selfcheck.check(usable, task))
    return found


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason why a device or a framework does not work. serious: it is broken, not just not installed."""

    what: str
    command: str | None
    serious: bool


@dataclass(frozen=True, eq=False, slots=True)
class DoctorReport:
    """The findings about this machine. free: free bytes of each usable GPU."""

    processor: Processor
    driver: Driver | None
    cuda: Sequence[CudaPart]
    frameworks: Sequence[Framework]
    folders: Sequence[Folder]
    free: Sequence[int | None]
    processes: Processes
    checks: list[Check] = field(default_factory=list)

    @property
    def kernels(self) -> tuple[Kernels, ...]:
        """The kernels that came with the package; a driver's refusal is known once the checks have run."""
        return kernels(self.driver)

    @property
    def exit_code(self) -> int:
        """The exit code: not 0 if a device gave a wrong answer or a GPU cannot be used."""
        return report.CHECK_FAILED if any(problem.serious for problem in self.problems()) else report.DONE

    def problems(self) -> list[Problem]:
        """Return what is wrong or missing, with the command that helps."""
        found = [
            Problem(f"{check.device} in {check.precision} precision {_wrong(check)}", None, serious=True)
            for check in self.checks
            if not check.good
        ]
        if self.driver and self.driver.gpus:
            found += self._gpu_problems(self.driver)
        found += [Problem(f"{f.name}: {f.why}", f.command, serious=False) for f in self.frameworks if not f.does]
        if self.processes.problem is not None:
            found.append(Problem(f"processes: {self.processes.problem}", None, serious=False))
        if not self.frameworks:
            found.append(Problem(f"no framework. {frontends.none_registered()}", None, serious=False))
        return found

    def _gpu_problems(self, driver: Driver) -> list[Problem]:
        if driver.cuda < (cuda.OLDEST, 0):
            what = f"the driver runs CUDA {dotted(driver.cuda)} at most; CUDA {cuda.OLDEST} is the oldest that works"
            return [Problem(f"{what}. Install a newer NVIDIA driver.", None, serious=True)]
        missing = [part.name for part in self.cuda if part.version is None]
        if missing:
            command = cuda.command(self.cuda, cuda.generation(driver.cuda))
            return [Problem(f"the GPU cannot be used without {', '.join(missing)}", command, serious=True)]
        error = gpu_missing()
        if error:
            return [Problem(str(error), None, serious=True)]
        return [Problem(_refusal(one), None, serious=False) for one in self.kernels if one.refused]

    def verdict(self) -> str:
        """Return the verdict in one sentence."""
        if any(not check.good for check in self.checks):
            return "A device gives wrong answers; do not use it."
        devices = "the CPU" + "".join(f", GPU {k}" for k in range(len(self.free)))
        checked = "right in both precisions" if self.checks else "not checked"
        return f"{devices[0].upper()}{devices[1:]}: {checked}."

    def to_json(self) -> dict[str, object]:
        """Return all findings, and the verdict."""
        return document(
            "doctor",
            ok=self.exit_code == report.DONE,
            verdict=self.verdict(),
            problems=[asdict(problem) for problem in self.problems()],
            system=system(),
            packages={name: packages.version(name) for name in BASE},
            processor=asdict(self.processor),
            driver=asdict(self.driver) if self.driver else None,
            gpu_free=list(self.free),
            cuda=[asdict(part) for part in self.cuda],
            kernels=[asdict(found) for found in self.kernels],
            frameworks=[asdict(framework) for framework in self.frameworks],
            processes=self.processes.to_json(),
            caches=[{**asdict(folder), "path": str(folder.path)} for folder in self.folders],
            checks=[{**asdict(check), "good": check.good} for check in self.checks],
        )

    def show(self, page: Console) -> None:
        """Print the findings part by part, the verdict last; of several processes only rank 0 prints."""
        if self.processes.rank > 0:
            return
        show_machine(page, self.processor, self.driver, self.free)
        show_software(page, self.cuda, self.kernels, self.frameworks)
        self.processes.show(page)
        show_folders(page, self.folders)
        show_checks(page, self.checks)
        heading(page, "Verdict")
        for problem in self.problems():
            page.print(Text.assemble("  ", mark(False) if problem.serious else NONE, " ", problem.what), soft_wrap=True)
            if problem.command:
                page.print(Text(f"    {problem.command}", "cyan"), soft_wrap=True)
        page.print(Text.assemble("  ", mark(self.exit_code == report.DONE), " ", self.verdict()))


def _free(number: int) -> int | None:
    try:
        return gpu(number).memory()[0]
    except QsimExError:
        return None  # the self-check reports its error


def _refusal(found: Kernels) -> str:
    what = f"the driver does not take the kernels that came with the package for sm_{found.arch} ({found.refused})"
    return f"{what}, so they are compiled here. A newer NVIDIA driver avoids this."


def _wrong(check: Check) -> str:
    if check.failure:
        return f"fails: {check.failure}"
    if check.error is not None and check.error > check.limit:
        return f"is off by {check.error:.1e}, where rounding explains {check.limit:.1e}"
    return "gives other shots for the same seed"
