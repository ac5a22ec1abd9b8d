"""The engine's view of frameworks: objects that register themselves and that the engine never imports by name.

A package registers a frontend under the entry-point group ``qsim_ex.frontends``, and if it reads files also under
``qsim_ex.readers``, so that reading a file imports no other framework:

    [project.entry-points."qsim_ex.frontends"]
    qiskit = "qsim_ex_provider.frontend:frontend"

    [project.entry-points."qsim_ex.readers"]
    qiskit = "qsim_ex_provider.frontend:frontend"

By convention the entry point's name is also the extra that installs the framework. Code that is not installed, such as
a checkout, is named in the environment variable ``QSIM_EX_FRONTENDS`` in the same form, separated by
commas: ``QSIM_EX_FRONTENDS="qiskit=qsim_ex_provider.frontend:frontend"``. It belongs to both groups and comes first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.errors import CircuitError, MissingPackage, OptionError
from qsim_ex.frameworks import packages
from qsim_ex.options import Options

GROUP = "qsim_ex.frontends"
READERS = "qsim_ex.readers"
VARIABLE = "QSIM_EX_FRONTENDS"
OPENQASM = (".qasm", ".qasm2", ".qasm3")

NeutralGate: TypeAlias = tuple[str, Sequence[int], Sequence[float]]
"""A gate of no framework: its name in the engine's gate table, wires, angles in radians."""


class FileInfo(Protocol):
    """The properties of a file besides its circuit."""

    @property
    def name(self) -> str:
        """The circuit's name, for people."""

    @property
    def format(self) -> str:
        """The language of the file: "OpenQASM 3"."""

    def format_bits(self, value: int) -> str:
        """Return an outcome (bit c = classical bit c) in the notation of the framework's users."""


@runtime_checkable
class FileReader(Protocol):
    """A frontend that reads circuits from files.

    It may also have `suffixes`, the endings of its files in small letters with their dot; `OPENQASM` if not.
    """

    @property
    def name(self) -> str:
        """The framework's name."""

    def load(self, path: Path, **given: Any) -> tuple[Circuit, FileInfo]:
        """Return the circuit in a file. Raises `CircuitError` with the file and the line, `MissingPackage`.

        given: the user's limits on the circuit, if any: max_qubits, max_instructions, max_depth; and `values` of the
        file's parameters by their names, if any.
        """


@runtime_checkable
class Runner(Protocol):
    """A frontend that runs gates through its framework's own interface, as a user would."""

    @property
    def name(self) -> str:
        """The framework's name."""

    def run_neutral(
        self, gates: Sequence[NeutralGate], num_qubits: int, shots: int, seed: int, options: Options
    ) -> tuple[NDArray[np.complexfloating], dict[int, int], Mapping[str, Any]]:
        """Run gates from |0…0> and measure all wires at the end.

        Returns the amplitudes before the measurement (bit w of the index = wire w), the counts (bit w of a key =
        wire w) and the metadata of the run, as `Result.metadata` gives it. Its seed is the engine's: a framework
        may derive that from the given seed by its own rules.
        """


@dataclass(frozen=True, slots=True)
class Missing:
    """A registered frontend that does not load; `command` installs the missing package."""

    name: str
    why: str
    command: str


def registered(group: str = GROUP) -> tuple[metadata.EntryPoint, ...]:
    """Return the entry points of a group, each name once; raises `OptionError` for an invalid environment variable."""
    found: dict[str, metadata.EntryPoint] = {}
    for point in (*_from_environment(), *metadata.entry_points(group=group)):
        found.setdefault(point.name, point)
    return tuple(found.values())


def load_all(group: str = GROUP) -> Iterator[Any | Missing]:
    """Import the frontends of a group one after the other; one that does not load is a `Missing`."""
    for point in registered(group):
        yield load(point)


def load(point: metadata.EntryPoint) -> Any | Missing:
    """Import one frontend; return a `Missing` if a package is missing, and raise any other error."""
    distribution = point.dist.name if point.dist else packages.DISTRIBUTION
    command = packages.install_command(point.name, distribution)
    try:
        return point.load()
    except MissingPackage as error:
        return Missing(point.name, str(error), command)
    except ModuleNotFoundError as error:
        return Missing(point.name, f"the package {(error.name or '?').partition('.')[0]} is not installed", command)


def reader(path: Path) -> FileReader:
    """Return the frontend that reads files with this ending, such as .qasm.

    Raises `CircuitError` if no framework reads them, `MissingPackage` with the command if one that is not installed
    might.
    """
    known: list[str] = []
    missing: list[str] = []
    for found in load_all(READERS):
        if isinstance(found, Missing):
            missing.append(f"{found.name}: {found.why}. Run: {found.command}")
        elif isinstance(found, FileReader):
            suffixes = getattr(found, "suffixes", OPENQASM)
            if path.suffix.lower() in suffixes:
                return found
            known.append(f"{', '.join(suffixes)} ({found.name})")
    what = f"{path}: no framework that is installed reads files that end in {path.suffix!r}"
    if missing:
        raise MissingPackage(f"{what}. {'; '.join(missing)}")
    if not known:
        raise MissingPackage(f"{what}. {none_registered()}")
    raise CircuitError(f"{what}. Known endings: {'; '.join(known)}.")


def none_registered() -> str:
    """Return the advice for a machine where no frontend has registered itself."""
    why = packages.NOT_INSTALLED if packages.version() is None else "no package registers one"
    return f"None is registered: {why}. Run: pip install -e '.[qiskit,cirq]', or name frontends in {VARIABLE}."


def _from_environment() -> Iterator[metadata.EntryPoint]:
    for item in filter(None, (part.strip() for part in os.environ.get(VARIABLE, "").split(","))):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not (name and equals and ":" in value):
            raise OptionError(f"{VARIABLE}: expected name=module:object, got {item!r}.")
        yield metadata.EntryPoint(name, value, GROUP)
