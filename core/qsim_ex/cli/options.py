"""Arguments that several commands share, and their conversion to the engine's `Options`."""

from __future__ import annotations

import argparse
import math
from dataclasses import fields
from typing import Any, get_args

from qsim_ex.cli.report import Task
from qsim_ex.display.amounts import parse_size
from qsim_ex.options import DeviceChoice, Options, Processes
from qsim_ex.precision import DTYPES, PRECISIONS

_USUAL = Options()
"""The defaults of all options; a command says which of them it takes."""


def add_file(parser: argparse.ArgumentParser) -> None:
    """Add the file to read, and how it is read."""
    parser.add_argument("file", metavar="FILE", help="a circuit in OpenQASM 2 or 3, or in Qiskit's QPY")
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the values of a file's parameters, and limits on its circuit."""
    parser.add_argument(
        "--set",
        type=_setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of a parameter of the file, such as theta=0.5; once for each",
    )
    parser.add_argument("--max-qubits", type=int, metavar="N", help="the most qubits that the file may declare (1000)")
    parser.add_argument(
        "--max-instructions", type=int, metavar="N", help="the most instructions, loops written out (1000000)"
    )
    parser.add_argument("--max-depth", type=int, metavar="N", help="the most levels of nesting (100)")
    parser.add_argument(
        "--max-loop-rounds", type=int, default=100_000, metavar="N", help="the most rounds of a loop (100000)"
    )


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """Return what is given of the values of a file's parameters, the last of each name, and of limits."""
    given = {name: getattr(args, name) for name in ("max_qubits", "max_instructions", "max_depth")}
    given["values"] = dict(args.set) or None
    return {name: value for name, value in given.items() if value is not None}


def add_seed(parser: argparse.ArgumentParser, default: int | None = None) -> None:
    """Add the seed of the shots."""
    told = "a fresh one, which is printed" if default is None else str(default)
    parser.add_argument(
        "--seed", type=int, default=default, metavar="N", help=f"the same seed, the same shots ({told})"
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add the device, its memory, and the precision."""
    parser.add_argument(
        "--device", choices=get_args(DeviceChoice), default=_USUAL.device, help="'cpu' and 'gpu' never fall back (auto)"
    )
    add_state(parser)


def add_state(parser: argparse.ArgumentParser) -> None:
    """Add which GPU or GPUs, the precision, and how much memory a state may take."""
    parser.add_argument("--device-id", type=int, default=_USUAL.device_id, metavar="N", help="which GPU (0)")
    parser.add_argument("--precision", choices=tuple(PRECISIONS), default=_USUAL.precision, help=f"{DTYPES} (double)")
    parser.add_argument(
        "--max-memory", type=_size, metavar="SIZE", help="the most that a state may take, such as '8 GiB'"
    )
    parser.add_argument(
        "--devices", type=_numbers, metavar="N,N", help="GPUs that share the state, such as 0,1,2,3 (a power of two)"
    )
    parser.add_argument("--device-wires", type=int, metavar="N", help="wires of one sub state vector on a device")
    parser.add_argument(
        "--max-host-memory", type=_size, metavar="SIZE", help="the most host memory that a state may take"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads (all cores)")


def add_processes(parser: argparse.ArgumentParser) -> None:
    """Add the processes that share the state, and the network between them."""
    parser.add_argument(
        "--processes",
        type=_processes,
        default=_USUAL.processes,
        metavar="N",
        help="over how many processes a state is divided, with mpirun; 'auto' or 'never' (auto)",
    )
    parser.add_argument(
        "--network",
        type=_network,
        default=_USUAL.network,
        metavar="LAYERS",
        help="'switch', 'mesh', or layers from near to far, such as 2:nvlink,1:ib or 2:nvlink,1:far:9e9 (auto)",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the form of the output."""
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout instead of the page")
    parser.add_argument("--no-progress", action="store_true", help="show no progress bar on stderr")
    parser.add_argument("--traceback", action="store_true", help="show where in the code an error was raised")


def chosen(args: argparse.Namespace, task: Task | None = None) -> Options:
    """Return the engine's options, as far as a command has them; raises `OptionError`."""
    given = {one.name: getattr(args, one.name) for one in fields(Options) if hasattr(args, one.name)}
    given.pop("seed", None)  # the command's own, which the job has
    return Options(**given, progress=None if task is None else task.step)


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _setting(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        if name.strip() and equals and math.isfinite(number := float(value)):
            return name.strip(), number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected a name and a finite number, such as theta=0.5, got {text!r}")


def _processes(text: str) -> Processes:
    if text in ("auto", "never"):
        return "auto" if text == "auto" else "never"
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, 'auto' or 'never', got {text!r}") from None


def _network(text: str) -> Any:
    """Return the name of a network, or layers: the bits, the link and perhaps the bytes per second of each."""
    if text in ("auto", "switch", "mesh"):
        return text
    try:
        layers = [layer.split(":") for layer in text.split(",")]
        return [(int(bits), link, *map(float, rate)) for bits, link, *rate in layers]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected 'auto', 'switch', 'mesh', or layers such as 2:nvlink,1:ib, got {text!r}"
        ) from None


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected GPU numbers, such as 0,1,2,3, got {text!r}") from None
