"""Runs a `QuantumProgram` of qiskit-ibm-runtime on the engine, and returns the runtime's results.

All randomizations and all arguments of an item are bindings of one circuit: it is translated and planned once, and they
are worked on together.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from qiskit.circuit import QuantumCircuit
from qiskit.primitives.containers.bindings_array import BindingsArray
from qiskit.primitives.containers.sampler_pub import SamplerPub
from qiskit_ibm_runtime.quantum_program import CircuitItem, SamplexItem
from qiskit_ibm_runtime.results import QuantumProgramItemResult, QuantumProgramResult
from qiskit_ibm_runtime.results.quantum_program import ChunkPart, ChunkSpan, Metadata

from qsim_ex.errors import NotSupported
from qsim_ex_provider.backend import QsimExBackend
from qsim_ex_provider.primitives.sampler import SamplerV2
from qsim_ex_provider.runtime.layer_noise import LayerNoise, noise_by_tag, with_layer_noise

if TYPE_CHECKING:
    from qiskit_ibm_runtime.options_models.simulator import SimulatorOptions
    from qiskit_ibm_runtime.quantum_program import QuantumProgram, QuantumProgramItem
    from samplomatic.samplex import Samplex
    from samplomatic.tensor_interface import TensorInterface

Arrays = dict[str, NDArray[np.generic]]

TOGETHER = 256
"""Randomizations that a samplex draws at a time: what it works with fits into a cache then."""

_MOST_THREADS = 4
"""More threads wait for one another: on 16 cores 0.12 ms for each randomization of 20 qubits with 4, 0.20 with 16."""

_ONE_AT_A_TIME = threading.Lock()
"""Jobs that were submitted together share no memory."""


def run_program(backend: QsimExBackend, program: QuantumProgram, options: SimulatorOptions) -> QuantumProgramResult:
    """Run a program; options: the simulator options of the executor.

    Their seed, or else the backend's, is that of the randomizations and of the shots.

    Raises `NotSupported` for measurements that are no bits and for items of other kinds, and what `SamplerV2` raises.
    """
    return run_with_noise(backend, program, options, noise_by_tag(options))


def run_with_noise(
    backend: QsimExBackend, program: QuantumProgram, options: SimulatorOptions, noise: Mapping[str, LayerNoise]
) -> QuantumProgramResult:
    """Run a program with the noise of layers that have these tags; all else as in `run_program`."""
    level = getattr(program, "meas_level", None) or "classified"
    if level != "classified":
        raise NotSupported(f"expected meas_level='classified', got {level!r}: a simulator has bits and no signals.")
    seed = backend.options.seed_simulator if options.seed_simulator is None else options.seed_simulator
    generator = np.random.default_rng(seed)
    pubs, drawn = [], []
    for number, item in enumerate(program.items):
        values, others = _arguments(item, number, generator)
        drawn.append(others)
        circuit = with_layer_noise(item.circuit, noise, warn_absent=options.warn_absent)
        bindings = _bindings(circuit, _rounded(values, options.angle_decimals), item.shape)
        pubs.append(SamplerPub(circuit, bindings, program.shots))
    sampler = SamplerV2.from_backend(backend, **({} if seed is None else {"seed": seed}))
    with _ONE_AT_A_TIME:
        begin = datetime.now(UTC)
        sampled = sampler.run(pubs).result()
        end = datetime.now(UTC)
    results = []
    for found, others in zip(sampled, drawn, strict=True):
        bits = {name: array.to_bool_array(order="little") for name, array in dict(found.data).items()}
        results.append(QuantumProgramItemResult({**others, **bits}, metadata=found.metadata))
    parts = [ChunkPart(number, item.size()) for number, item in enumerate(program.items)]
    made = QuantumProgramResult(
        results,
        metadata=Metadata(chunk_timing=[ChunkSpan(begin, end, parts)]),
        passthrough_data=program.passthrough_data,
    )
    made._semantic_role = program._semantic_role
    return made


def _arguments(item: QuantumProgramItem, number: int, generator: np.random.Generator) -> tuple[ArrayLike, Arrays]:
    """Return the values of an item's parameters [*shape, parameters], and what else its samplex drew."""
    if isinstance(item, CircuitItem):
        given = item.circuit_arguments
        return (np.zeros((*item.shape, 0)) if given is None else given), {}  # None in version 0.49
    if isinstance(item, SamplexItem):
        drawn = sampled_arguments(item, generator)
        return drawn.pop("parameter_values", np.zeros((*item.shape, 0))), drawn
    raise NotSupported(f"item {number}: expected a circuit item or a samplex item, got {type(item).__name__}.")


def sampled_arguments(item: SamplexItem, generator: np.random.Generator) -> Arrays:
    """Return all that an item's samplex draws, each array of the item's shape and then its own.

    Axes along which the samplex has arguments of its own are walked through; along all others it draws anew, for
    `TOGETHER` randomizations at a time, each time on a thread with a generator of its own.
    """
    shape, arguments = item.shape, item.samplex_arguments
    own = (1,) * (len(shape) - arguments.ndim) + arguments.shape
    free = [size for size, fixed in zip(shape, own, strict=True) if fixed == 1]
    found: Arrays = {}
    for at in np.ndindex(own):
        given = arguments[at[len(shape) - arguments.ndim :]]
        drawn = _drawn(item.samplex, given, math.prod(free), generator)
        place = tuple(slice(None) if fixed == 1 else index for index, fixed in zip(at, own, strict=True))
        for name, values in drawn.items():
            if name not in found:
                found[name] = np.empty((*shape, *values.shape[1:]), dtype=values.dtype)
            found[name][place] = values.reshape(*free, *values.shape[1:])
    return found


def _drawn(samplex: Samplex, given: TensorInterface, count: int, generator: np.random.Generator) -> Arrays:
    """Return what a samplex draws for some randomizations, the first axis of each array."""
    sizes = [min(TOGETHER, count - begin) for begin in range(0, count, TOGETHER)] or [0]

    def draw(size: int, own: np.random.Generator) -> Arrays:
        return dict(samplex.sample(given, num_randomizations=size, rng=own, max_workers=1))

    with ThreadPoolExecutor(min(len(sizes), _MOST_THREADS)) as pool:
        parts = list(pool.map(draw, sizes, generator.spawn(len(sizes))))
    return parts[0] if len(parts) == 1 else {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _rounded(values: ArrayLike, decimals: int) -> NDArray[np.float64]:
    """Return angles, those near multiples of π/2 moved there, as the option `angle_decimals` says."""
    return np.round(np.asarray(values, dtype=np.float64) / (np.pi / 2), decimals) * (np.pi / 2)


def _bindings(circuit: QuantumCircuit, values: NDArray[np.float64], shape: tuple[int, ...]) -> BindingsArray:
    if not circuit.num_parameters:
        return BindingsArray(shape=shape)
    return BindingsArray({tuple(circuit.parameters): values}, shape=shape)
