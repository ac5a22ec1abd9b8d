"""Jobs of other packages on qsim-ex, each in an environment of its own, and the table in docs/ecosystem.md.

python tools/ecosystem.py list                 the packages
python tools/ecosystem.py run mitiq dask       install these packages and this checkout, and run their jobs
python tools/ecosystem.py run --all --write    all of them, and put what was installed into the table
    --with REQUIREMENT install this too, such as an older version of a package that the jobs need
    --only EXPRESSION  run only the tests of these names, as pytest's -k
    --keep FOLDER      leave the environments there, and use those that are there
    --simulator aer    run the jobs on Qiskit Aer instead: what fails there too is no fault of qsim-ex

A job is a test file in tests/ecosystem. A test that is skipped counts as failed: it has shown nothing.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import tempfile
import venv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "ecosystem"
PAGE = ROOT / "docs" / "ecosystem.md"

BEGIN = "<!-- The table: written by `python tools/ecosystem.py run --all --write`. -->"
END = "<!-- The end of the table. -->"


@dataclass(frozen=True)
class Package:
    """A package whose users run circuits on qsim-ex.

    requirement: what pip installs; with a lower bound, so that pip does not take an older version to please others.
    also: what its jobs need besides. jobs: what they do, for the table.
    """

    requirement: str
    jobs: str
    also: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The package's name on PyPI."""
        return self.requirement.partition(">")[0].partition("[")[0]

    @property
    def test(self) -> Path:
        """The file with its jobs."""
        return TESTS / f"test_{self.name.replace('-', '_')}.py"


AER = "qiskit-aer"  # whose noise models most people use

PACKAGES = (
    Package(
        "qiskit-experiments>=0.14",
        "T1, T2, randomised benchmarking, tomography, readout error, quantum volume",
        (AER,),
    ),
    Package("qiskit-ibm-runtime>=0.51", "primitives in local mode, sessions, batches, fake devices", (AER,)),
    Package(
        "qiskit-mitigation>=0.1",
        "IBM's executor: twirling, TREX, ZNE, PEA, PEC, noise of layers and its learning, dynamical decoupling",
        ("qiskit-ibm-runtime>=0.49", "qiskit-noise-learning>=0.1", AER, "stim", "matplotlib", "nbformat"),
    ),
    Package("qiskit-machine-learning>=0.9", "kernels, classifiers, networks and their gradients"),
    Package("qiskit-algorithms>=0.4", "VQE, QAOA, phase estimation, Grover search, time evolution, fidelities"),
    Package("qiskit-nature>=0.8", "energies of hydrogen: UCCSD, equation of motion", ("qiskit-algorithms", "pyscf")),
    Package("qiskit-optimization>=0.7", "maximum cut, knapsack, Grover's adaptive search"),
    Package("qiskit-addon-cutting>=0.10", "cut gates and cut wires"),
    Package("qiskit-addon-sqd>=0.14", "a chain of four hydrogen atoms, with readout errors too", (AER,)),
    Package("mitiq[qiskit]>=1.1", "zero-noise extrapolation, error cancellation, readout mitigation; Cirq too"),
    Package("pennylane-qiskit>=0.45", "QNodes, their gradients, an optimiser"),
    Package("pennylane-cirq>=0.44", "QNodes of Cirq's device, their gradients, samples"),
    Package("cirq-google>=1.6", "the local engine, jobs, noise of a processor, compiled circuits"),
    Package("openfermion>=1.7", "energies, Gaussian states, Trotter steps"),
    Package("stimcirq>=1.15", "Stim's circuits: measurements of every kind, noise, loops", ("stim",)),
    Package("pytket-qiskit>=0.79", "circuits compiled by pytket, results for pytket, conditions"),
    Package("dask[distributed]>=2026.8", "a cluster of processes runs the circuits of a job"),
    Package("ray>=2.50", "its tasks run the circuits of a job"),
)


@dataclass(frozen=True)
class Outcome:
    """What came of a package's jobs: the versions that ran, and pytest's sums."""

    package: Package
    versions: Mapping[str, str]
    passed: int
    failed: int
    skipped: int
    seconds: float

    @property
    def good(self) -> bool:
        """Whether all tests ran and passed, and there was one."""
        return self.passed > 0 and self.failed == self.skipped == 0

    def line(self) -> str:
        """Return the outcome in one line."""
        versions = ", ".join(f"{name} {self.versions[name]}" for name in (self.package.name, "qiskit"))
        counts = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return f"{versions}: {counts} in {self.seconds:.0f} s"

    def row(self) -> str:
        """Return the row of the table."""
        name, versions = self.package.name, self.versions
        test = f"../{self.package.test.relative_to(ROOT)}"
        return f"| {name} | {versions[name]} | {versions['qiskit']} | [{self.package.jobs}]({test}) |"


def named(names: Iterable[str]) -> list[Package]:
    """Return the packages of these names; raises `SystemExit` for an unknown one."""
    known = {package.name: package for package in PACKAGES}
    for name in names:
        if name not in known:
            raise SystemExit(f"expected one of {', '.join(known)}; got {name!r}.")
    return [known[name] for name in names]


def environment(package: Package, folder: Path, simulator: str, beside: Iterable[str] = ()) -> Path:
    """Make the environment of a package, unless it is there, and return its Python; beside: requirements of today."""
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet"]
    if not python.exists():
        venv.create(folder, with_pip=True)
        asked = ["--editable", f"{ROOT}[qiskit]", "pytest>=8.4", package.requirement, *package.also, *beside]
        subprocess.run([*pip, *asked], check=True)
    if simulator == "aer":
        subprocess.run([*pip, AER], check=True)
    return python


def versions_in(python: Path) -> dict[str, str]:
    """Return the version of every package that an environment has."""
    done = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json"], check=True, stdout=subprocess.PIPE, text=True
    )
    return {one["name"].lower().replace("_", "-"): one["version"] for one in json.loads(done.stdout)}


def run(package: Package, folder: Path, simulator: str, only: str | None = None, beside: Iterable[str] = ()) -> Outcome:
    """Run the jobs of a package in its environment, which is made in a folder of its own; only: as pytest's -k."""
    python = environment(package, folder, simulator, beside)
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    begin = perf_counter()
    pytest = [python, "-m", "pytest", "--quiet", "-c", TESTS / "pytest.ini", "-p", "no:cacheprovider"]
    options = ["--simulator", simulator, "--durations=0", f"--junit-xml={report}", *(["-k", only] if only else [])]
    subprocess.run([*pytest, *options, package.test], cwd=ROOT, check=False)
    seconds = perf_counter() - begin
    sums = ET.parse(report).getroot().find("testsuite")
    assert sums is not None
    tests, failed, errors, skipped = (int(sums.get(name, 0)) for name in ("tests", "failures", "errors", "skipped"))
    passed = tests - failed - errors - skipped
    return Outcome(package, versions_in(python), passed, failed + errors, skipped, seconds)


def replaced(page: str, table: str) -> str:
    """Return a page with another table between its two marks; raises `SystemExit` unless each is there once."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise SystemExit(f"the page needs these two lines, once each, where the table goes:\n{BEGIN}\n{END}")
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def table(outcomes: Iterable[Outcome]) -> str:
    """Return the table of outcomes."""
    head = ["| package | version | with Qiskit | its jobs |", "| --- | --- | --- | --- |"]
    rows = [outcome.row() for outcome in sorted(outcomes, key=lambda one: one.package.name)]
    return "\n".join([f"Python {platform.python_version()} on Linux.", "", *head, *rows])


def main() -> None:
    """List the packages, or run the jobs of some of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["list", "run"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--with", dest="beside", action="append", default=[])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--simulator", choices=["qsim_ex", "aer"], default="qsim_ex")
    given = parser.parse_args()
    if given.command == "list":
        for package in PACKAGES:
            print(f"{package.requirement}: {package.jobs}")
        return
    if given.all == bool(given.names):
        raise SystemExit("expected names of packages or --all.")
    if given.write and (not given.all or given.only or given.beside or given.simulator != "qsim_ex"):
        raise SystemExit("--write puts the whole table into the page; give --all with it, and nothing else.")
    outcomes = []
    for package in PACKAGES if given.all else named(given.names):
        folder = given.keep / package.name if given.keep else Path(tempfile.mkdtemp())
        print(f"\n===== {package.requirement}", flush=True)
        outcomes.append(run(package, folder, given.simulator, given.only, given.beside))
        if not given.keep:
            shutil.rmtree(folder)  # it may take a gigabyte
    print("\n" + "\n".join(outcome.line() for outcome in outcomes))
    if not all(outcome.good for outcome in outcomes):
        raise SystemExit("expected every test to run and pass.")
    if given.write:
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), table(outcomes)), encoding="utf-8")


if __name__ == "__main__":
    main()
