"""`SamplerV2`: Qiskit's sampler on the engine."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import QuantumCircuit
from qiskit.primitives import BaseSamplerV2, BitArray, DataBin, PrimitiveJob, PrimitiveResult, SamplerPubResult
from qiskit.primitives.containers.sampler_pub import SamplerPub

from qsim_ex import Options, Simulator
from qsim_ex.errors import CircuitError, OutOfMemory
from qsim_ex.frameworks import BindingGroup, JobRuns, check, counted, derived_seeds, digest, shown, with_options
from qsim_ex.options import OptionKeywords
from qsim_ex_provider.one_thread import in_turn
from qsim_ex_provider.primitives.jobs import Job
from qsim_ex_provider.primitives.options import SAMPLER, primitive_options
from qsim_ex_provider.primitives.pubs import changed, coerced, listed, translate_pub, where_of

CHUNK_BYTES = 64 << 20
"""So many bytes of shots are divided into registers at a time."""

_TAKEN = frozenset({"self", *getattr(DataBin, "_RESTRICTED_NAMES", ())})
"""Names that the data of a PUB have already, and that no register of it may have."""


@with_options(Options)
class SamplerV2(BaseSamplerV2):
    """Samples circuits on qsim-ex's state vectors.

    default_shots: shots of a PUB where neither it nor `run` names any; 1,024 if None.
    seed: the same seed gives the same shots; fresh for each call of `run` if None.
    noise_model: as of the backend, a `NoiseModel` of qiskit_aer.noise or of qsim_ex.
    backend: a backend whose options are taken where no others are given; one that is not of qsim-ex is simulated, see
    `QsimExBackend.from_backend`. mode: the same, as users of qiskit-ibm-runtime write it. options: a dictionary or an
    object with options, which may be in `backend_options` and `run_options`, as users of Aer write them.
    All other options are those of `qsim_ex.Options` (`device`, `precision`, …). Raises `OptionError`, `ShotsError`.
    """

    def __init__(
        self,
        mode: object = None,
        *,
        default_shots: int | None = None,
        noise_model: Any = None,
        backend: object = None,
        options: object = None,
        **engine_options: Unpack[OptionKeywords],
    ) -> None:
        keywords = {"default_shots": default_shots, "noise_model": noise_model, **engine_options}
        chosen = primitive_options(SAMPLER, keywords, backend=backend, mode=mode, options=options)
        self._default_shots = check.shots(chosen.own.get("default_shots", 1024), "default_shots")
        self._noise = chosen.own["noise_model"]
        self._options = chosen.engine
        self._simulator = Simulator(chosen.engine)

    @classmethod
    def from_backend(cls, backend: Any, **options: Any) -> Self:
        """Return a sampler with a backend's options and noise; options: more of the constructor's.

        A backend that is not of qsim-ex, fake or real, is simulated with its noise: transpile circuits for it first.
        """
        return cls(backend=backend, **options)

    def __repr__(self) -> str:
        own = {"default_shots": (self._default_shots, 1024), "noise_model": (self._noise, None)}
        return shown("SamplerV2", **own, **changed(self._options))

    @property
    def default_shots(self) -> int:
        """The number of shots of a PUB that names none."""
        return self._default_shots

    @property
    def options(self) -> Options:
        """The engine's options."""
        return self._options

    def run(self, pubs: Iterable[Any], *, shots: int | None = None) -> PrimitiveJob:
        """Sample PUBs, each a circuit, ``(circuit, values)`` or ``(circuit, values, shots)``, in the background.

        Their results hold a `BitArray` of the PUB's shape for each classical register. A circuit is translated and
        planned once for all values of its parameters, and they are worked on together. Qubits may be measured and reset
        on the way; a classical bit holds what was measured into it last. A PUB that measures nothing gives a warning.
        What is wrong with PUBs is raised here (`CircuitError`, `ParameterError`, `ShotsError`), and what shows only
        when they run by the job's `result`: `NotSupported`, `OutOfMemory`, `DeviceError`.
        """
        default = self._default_shots if shots is None else check.shots(shots)
        translated = []
        for number, given in enumerate(listed(pubs, "circuit")):
            if isinstance(given, tuple | list) and len(given) == 3 and given[2] is not None:
                check.shots(given[2])
            pub = coerced(SamplerPub, given, number, default, 1)
            if taken := [one.name for one in pub.circuit.cregs if one.name in _TAKEN]:
                raise CircuitError(
                    f"PUB {number}: expected names that its result can have for classical registers, got {taken}; "
                    "rename them."
                )
            groups = translate_pub(pub.circuit, pub.parameter_values, self._noise)
            silent = bool(groups) and not any(group.template.structure.measures for group in groups)
            if silent or not pub.circuit.cregs:
                warnings.warn(_nothing_measured(number, pub.circuit), stacklevel=2)
            translated.append(_SampledPub(pub, groups))
        job = Job(_run, translated, self._simulator)
        job._submit(in_turn(self._options), self)
        return job


def _nothing_measured(number: int, circuit: QuantumCircuit) -> str:
    """Return the warning about a PUB without outcomes; Qiskit's own samplers warn of the first case."""
    if not circuit.cregs:
        missing, result = "has no classical register", "its result will be empty"
    else:
        missing, result = "measures nothing", "all its bits will be 0"
    return f"PUB {number}: circuit {circuit.name!r} {missing}, so {result}. Add measure_all()."


@dataclass(frozen=True, slots=True)
class _SampledPub:
    """A PUB and its bindings, translated."""

    pub: SamplerPub
    groups: Sequence[BindingGroup]

    def key(self) -> tuple[object, ...]:
        """Return what tells its samples from others."""
        return int(self.pub.shots), *(group.key() for group in self.groups)


def _run(pubs: Sequence[_SampledPub], simulator: Simulator) -> PrimitiveResult:
    runs, options = JobRuns(simulator), simulator.options
    wires = max((one.pub.circuit.num_qubits for one in pubs), default=0)
    seed = runs.begin(
        lambda: digest(*(one.key() for one in pubs)), sum(len(one.groups) for one in pubs), options.seed, wires
    )
    found = []
    with counted(options.progress, "PUBs", len(pubs)) as ended:
        for number, one in enumerate(pubs):
            found.append(_sample(one, runs, derived_seeds(seed, one.pub.parameter_values.size, number)))
            ended()
    runs.end()
    return PrimitiveResult(found, metadata={"version": 2, "seed": seed})


def _sample(sampled: _SampledPub, runs: JobRuns, seeds: NDArray[np.uint64]) -> SamplerPubResult:
    """Sample all bindings of one PUB, each with a seed of its own."""
    begin = perf_counter()
    pub = sampled.pub
    circuit, shots, count = pub.circuit, int(pub.shots), pub.parameter_values.size
    registers = {register.name: _Register(circuit, register) for register in circuit.cregs}
    arrays = {name: _no_bits(count, shots, one.num_bytes) for name, one in registers.items()}
    where: dict[str, object] = {}
    chunk = max(1, CHUNK_BYTES // max(1, shots * circuit.num_clbits))
    for group in sampled.groups if registers else ():
        if not group.template.structure.measures:
            continue  # classical bits are 0 until something is measured into them
        places = group.places
        result = group.run(runs.next(), seeds[places].tolist(), shots=shots)
        assert result.packed is not None
        where = where_of(result)
        for first in range(0, len(places), chunk):
            part = slice(first, first + chunk)
            for name, register in registers.items():
                arrays[name][places[part]] = register.of(result.packed[part])
    data = {
        name: BitArray(arrays[name].reshape(*pub.shape, shots, one.num_bytes), one.num_bits)
        for name, one in registers.items()
    }
    about = {"precision": runs.options.precision, **where, "seconds": perf_counter() - begin}
    metadata = {"shots": shots, "circuit_metadata": circuit.metadata, **about}
    return SamplerPubResult(DataBin(**data, shape=pub.shape), metadata=metadata)


def _no_bits(count: int, shots: int, num_bytes: int) -> NDArray[np.uint8]:
    """Return a register's bits of all shots of all bindings, each 0; raises `OutOfMemory`."""
    try:
        return np.zeros((count, shots, num_bytes), dtype=np.uint8)
    except (MemoryError, ValueError) as error:  # NumPy raises the latter for what no address could name
        bindings = f" for each of {count} bindings" if count > 1 else ""
        raise OutOfMemory(
            f"a sample of {shots} shots{bindings} does not fit: {error}. Ask for fewer at a time."
        ) from error


class _Register:
    """A classical register: which of the circuit's bits it holds."""

    def __init__(self, circuit: QuantumCircuit, register: Any) -> None:
        self.bits = [circuit.find_bit(bit).index for bit in register]
        self.num_bits = len(self.bits)
        self.num_bytes = -(-self.num_bits // 8)
        self.num_clbits = circuit.num_clbits

    def of(self, packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the register's bits, most significant byte first as in `BitArray`, from all bits [..., bytes]."""
        if self.bits != list(range(self.num_clbits)):
            bits = np.unpackbits(packed, axis=-1, count=self.num_clbits, bitorder="little")
            packed = np.packbits(bits[..., self.bits], axis=-1, bitorder="little")
        return packed[..., ::-1]
