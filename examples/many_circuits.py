"""Many circuits over the workers of an executor: where a pendulum of one qubit is after each of many times.

One job has a circuit for each time, and any `concurrent.futures` executor runs them: a pool of processes, mpi4py's,
Dask's, or Ray. Whoever runs a circuit, its counts are the same. On a machine with GPUs each worker of a pool gets one.

    python examples/many_circuits.py             # a pool of 2 processes, two cores: 8 s
    python examples/many_circuits.py --small     # 8 circuits, two cores: 6 s
    mpirun -n 3 python -m mpi4py.futures examples/many_circuits.py --on mpi
    python examples/many_circuits.py --on dask   # pip install 'dask[distributed]'
    python examples/many_circuits.py --on ray    # pip install ray
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from qiskit import QuantumCircuit

from qsim_ex import share_gpus
from qsim_ex_provider import QsimExBackend

SHOTS = 4000


def pendulum(angle: float, steps: int) -> QuantumCircuit:
    """Return a circuit that turns a qubit by an angle in steps, and measures it; a second one remembers its start."""
    circuit = QuantumCircuit(2, 1)
    circuit.cx(0, 1)
    for _ in range(steps):
        circuit.rx(angle / steps, 0)
    circuit.measure(0, 0)
    return circuit


@contextmanager
def pool() -> Iterator[Executor]:
    """Two processes; each gets a GPU of its own where there are several."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn"), initializer=share_gpus) as made:
        yield made


@contextmanager
def mpi() -> Iterator[Executor]:
    """The processes of mpirun, under ``-m mpi4py.futures``; on many machines as on one."""
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor(initializer=share_gpus) as made:
        yield made


@contextmanager
def dask() -> Iterator[Executor]:
    """A cluster of Dask; `Client("scheduler:8786")` is one of many machines."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.run(share_gpus)
        yield client.get_executor()


@contextmanager
def ray() -> Iterator[Executor]:
    """Ray, on this machine or on those of the cluster that it finds; with GPUs say ``num_gpus=1`` in `options`."""
    import ray as cluster

    task = cluster.remote(_called)

    class RayExecutor(Executor):
        """Each call is a task of Ray."""

        def submit(self, call: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
            """Start a call, and return its future."""
            found: Future[Any] = task.options(num_cpus=1).remote(call, *given, **named).future()
            return found

    cluster.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        yield RayExecutor()
    finally:
        cluster.shutdown()


def _called(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return call(*given, **named)


EXECUTORS = {"pool": pool, "mpi": mpi, "dask": dask, "ray": ray}


def main() -> None:
    """Run all circuits on the workers, and compare what they count with the angles."""
    parser = argparse.ArgumentParser(description="many circuits over the workers of an executor")
    parser.add_argument("--small", action="store_true", help="8 circuits")
    parser.add_argument("--on", choices=EXECUTORS, default="pool", help="whose workers run them")
    given = parser.parse_args()
    count = 8 if given.small else 64
    angles = [math.pi * k / (count - 1) for k in range(count)]
    circuits = [pendulum(angle, 1 + k % 4) for k, angle in enumerate(angles)]  # of several structures
    backend = QsimExBackend(device="cpu", threads=1)
    with EXECUTORS[given.on]() as executor:
        counts = backend.run(circuits, shots=SHOTS, seed_simulator=7, executor=executor).result().get_counts()
    for angle, found in zip(angles, counts, strict=True):
        up = math.sin(angle / 2) ** 2
        assert abs(found.get("1", 0) / SHOTS - up) <= 5 * math.sqrt(up * (1 - up) / SHOTS) + 1e-9
    alone = backend.run(circuits, shots=SHOTS, seed_simulator=7).result().get_counts()
    assert counts == alone, "the workers counted something else"
    print(f"{count} circuits on {given.on}: the counts of one process, and those of the angles")


if __name__ == "__main__":
    main()
