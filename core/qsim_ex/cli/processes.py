"""The part of ``qsim-ex doctor`` about processes that share a state: the launcher, MPI, and their network."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from qsim_ex.cli.layout import NONE, facts, heading
from qsim_ex.comm import connection, launcher
from qsim_ex.comm.neighbours import MeasuredBy, layers_of_ranks, place
from qsim_ex.comm.protocol import Communicator
from qsim_ex.deployment.seats import local_options
from qsim_ex.devices.discover import cpu, gpu, gpu_missing
from qsim_ex.errors import QsimExError
from qsim_ex.frameworks import packages
from qsim_ex.options import Options
from qsim_ex.options.network import Layers, describe
from qsim_ex.placement.exchange.mapped_rates import MappedRates


@dataclass(frozen=True, slots=True)
class Processes:
    """How processes that a launcher has started are connected.

    started_by: the launcher; None without one. rank, size: of this process. mpi4py: its version; None if it is not
    installed. host, rack: where this process is; the rack is None if it is not known. connection: what connects the
    processes; None for one process. layers: of the network between them, measured. problem: why they are not
    connected. device_memory: how they reach the memory of each other's devices; None for one process.
    """

    started_by: str | None
    rank: int
    size: int
    mpi4py: str | None
    host: str
    rack: str | None
    connection: str | None = None
    layers: Layers = ()
    problem: str | None = None
    device_memory: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the findings as JSON values."""
        names = ("started_by", "rank", "size", "mpi4py", "host", "rack", "connection", "problem", "device_memory")
        return {name: getattr(self, name) for name in names} | {"layers": [layer.to_json() for layer in self.layers]}

    def show(self, page: Console) -> None:
        """Print the launcher, the library and the network."""
        heading(page, "Processes")
        many = f"{self.size} processes, this is rank {self.rank}"
        facts(
            page,
            [
                ("started by", NONE if self.started_by is None else f"{self.started_by}: {many}"),
                ("mpi4py", self.mpi4py or "not installed; pip install 'qsim-ex[mpi]' and an MPI library"),
                ("connected by", self.problem or self.connection),
                ("memory", self.device_memory),
                ("network", f"index bits, nearest first: {describe(self.layers)}" if self.layers else None),
            ],
        )


def processes() -> Processes:
    """Return how this process is connected to others; under a launcher all of them call this together."""
    by, (host, rack) = launcher.LAUNCHED, place()
    told = by.by if by else None, by.rank if by else 0, by.size if by else 1, packages.version("mpi4py"), host
    known = rack if rack != host else None
    if by is None:
        return Processes(*told, known)
    try:
        communicator = connection.current()
        if communicator.size < by.size:
            words = f"{communicator.description} connects {communicator.size} of {by.size} processes"
            return Processes(*told, known, problem=f"{words}; use the launcher of the MPI library that mpi4py loads")
        used = 1 << communicator.size.bit_length() - 1
        rates = _rates(communicator, used)
        layers = layers_of_ranks(communicator, used, MeasuredBy("doctor", lambda: rates))
        return Processes(*told, known, communicator.description, layers, device_memory=rates.how)
    except QsimExError as error:
        return Processes(*told, known, problem=str(error))


def _rates(communicator: Communicator, used: int) -> MappedRates:
    """Return what measures trades between the memories of GPUs, if every rank has one, else of CPUs."""
    options = local_options(Options(), communicator)
    on_gpus = all(communicator.allgather(gpu_missing() is None))
    return MappedRates(communicator, gpu(options.device_id) if on_gpus else cpu(options.threads), used)
