"""The parts of the doctor's page: machine, software, caches, self-check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any

from rich.console import Console

from qsim_ex.cli import selfcheck
from qsim_ex.cli.caches import Folder
from qsim_ex.cli.cuda import CudaPart
from qsim_ex.cli.layout import GOOD, NONE, facts, heading, mark, table
from qsim_ex.cli.machine import Driver, Gpu, Processor, system
from qsim_ex.cli.mpi import mpi_row
from qsim_ex.cli.selfcheck import Check
from qsim_ex.cli.sizes import seconds
from qsim_ex.display.amounts import human, plural
from qsim_ex.frameworks import frontends, packages
from qsim_ex.frameworks.frontends import FileReader, Missing, Runner
from qsim_ex.kernels.cuda.compile import shipped
from qsim_ex.precision import PRECISIONS

BASE = ("numpy", "rich")
"""The packages that the engine requires."""


@dataclass(frozen=True, slots=True)
class Framework:
    """A registered frontend. does: its features; empty if it does not load, and then `why` and `command` are set."""

    name: str
    versions: str
    does: str
    why: str = ""
    command: str = ""


def framework(point: EntryPoint) -> Framework:
    """Load a frontend and return its features, with the versions of the packages that its extra requires."""
    found = frontends.load(point)
    installed = [(name, packages.version(name)) for name in map(packages.name_of, packages.requirements(point.name))]
    versions = ", ".join(f"{name} {version}" for name, version in installed if version)
    if isinstance(found, Missing):
        return Framework(found.name, versions, "", found.why, found.command)
    does = [text for kind, text in ((FileReader, "reads files"), (Runner, "runs gates")) if isinstance(found, kind)]
    return Framework(point.name, versions or "installed", " and ".join(does))


@dataclass(frozen=True, slots=True)
class Kernels:
    """The number of kernels in the package for GPUs of a compute capability, and why the driver refused them."""

    arch: str
    count: int
    refused: str | None

    @property
    def good(self) -> bool:
        """Whether there are any, and they are used."""
        return self.count > 0 and self.refused is None

    @property
    def use(self) -> str:
        """The use of the kernels, as a text for the page."""
        if self.good:
            return f"for sm_{self.arch}, came with the package; others are compiled at first use"
        why = "came with the package, but the driver refuses them" if self.refused else "came with the package"
        return f"for sm_{self.arch} {why}; all are compiled at first use"


def kernels(driver: Driver | None) -> tuple[Kernels, ...]:
    """Return the kernels in the package for the GPUs that the driver lists."""
    found = dict.fromkeys("{}{}".format(*gpu.capability) for gpu in (driver.gpus if driver else ()))
    return tuple(Kernels(arch, shipped.count(arch), shipped.refused(arch)) for arch in found)


def show_machine(page: Console, cpu: Processor, driver: Driver | None, free: Sequence[int | None]) -> None:
    """Print the processor, the memory and the GPUs."""
    heading(page, "Machine", system())
    rows = [
        ("CPU", f"{cpu.name}, {plural(cpu.cores, 'core')}, {cpu.simd} ({cpu.target})"),
        ("memory", f"{human(cpu.free)} free of {human(cpu.total)}"),
    ]
    if driver is None or not driver.gpus:
        rows.append(("GPU", "none found" + (" by the driver" if driver else ": no NVIDIA driver")))
    else:
        rows += [(f"GPU {gpu.number}", _gpu(gpu, free)) for gpu in driver.gpus]
        rows.append(("driver", f"{driver.version or 'unknown'}, runs CUDA up to {dotted(driver.cuda)}"))
    facts(page, rows)


def show_software(
    page: Console, cuda: Sequence[CudaPart], kernels: Sequence[Kernels], frameworks: Sequence[Framework]
) -> None:
    """Print versions, and what each optional part is for."""
    heading(page, "Software", f"qsim-ex {packages.version() or packages.NOT_INSTALLED.removeprefix('qsim-ex ')}")
    rows: list[Sequence[object]] = [(GOOD, name, packages.version(name) or "?", "") for name in BASE]
    rows += [(mark_of(bool(part.version)), part.name, part.version or "not installed", part.use) for part in cuda]
    rows += [(mark_of(one.good), "kernels", str(one.count or "none"), one.use) for one in kernels]
    good, versions, use = mpi_row()
    rows.append((mark_of(good), "mpi4py", versions, use))
    rows += [(mark_of(bool(one.does)), one.name, one.versions or "not installed", one.does) for one in frameworks]
    page.print(table([("", "left")] * 4, rows))


def show_folders(page: Console, folders: Sequence[Folder]) -> None:
    """Print the caches and their sizes."""
    heading(page, "Caches", "safe to delete")
    facts(page, [(f.what, f"{f.path}: {plural(f.files, 'file')}, {human(f.size)}") for f in folders])


def show_checks(page: Console, checks: Sequence[Check]) -> None:
    """Print the error of each device."""
    if not checks:
        return
    size = f"a random circuit of {selfcheck.NUM_QUBITS} qubits on each device, against the definition"
    heading(page, "Self-check", size)
    columns = [("", "left"), ("device", "left"), ("precision", "left"), ("off by", "right"), ("allowed", "right")]
    rows = [
        (
            mark(check.good),
            check.device,
            check.precision,
            "–" if check.error is None else f"{check.error:.1e}",
            f"{check.limit:.1e}",
            ("yes" if check.shots else "no") if PRECISIONS[check.precision].tolerances.same_shots else "",
            seconds(check.seconds),
        )
        for check in checks
    ]
    page.print(table([*columns, ("same shots", "left"), ("time", "right")], rows))


def mark_of(present: bool) -> Any:
    """Return a tick, or a dash for an optional part that is missing."""
    return GOOD if present else NONE


def dotted(version: tuple[int, int]) -> str:
    """Return a version of two numbers with a dot."""
    return f"{version[0]}.{version[1]}"


def _gpu(gpu: Gpu, free: Sequence[int | None]) -> str:
    left = free[gpu.number] if gpu.number < len(free) else None
    memory = human(gpu.total) if left is None else f"{human(left)} free of {human(gpu.total)}"
    return f"{gpu.name}, compute capability {dotted(gpu.capability)}, {memory}"
