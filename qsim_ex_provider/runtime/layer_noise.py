"""The noise of layers: Pauli-Lindblad channels at the barriers that samplomatic puts around each box of a circuit.

A box becomes three barriers with labels such as ``R2@tag=t57``: left of its gates, in their middle and to their right.
The noise of a box stands where the runtime's local mode has it: after the gates of a box that is dressed from the left,
before those of one dressed from the right, and before the measurements of a box that measures.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qiskit.circuit import BoxOp, Instruction, QuantumCircuit
from qiskit.quantum_info import Kraus, PauliLindbladMap
from samplomatic import Tag, Twirl
from samplomatic.utils import get_annotation, undress_box

from qsim_ex.errors import NoiseError, NotSupported
from qsim_ex.frameworks import lindblad_parts

if TYPE_CHECKING:
    from qiskit_ibm_runtime.options_models.simulator import SimulatorOptions

_LABEL = re.compile(r"([A-Za-z])\d+.*?tag=(.+)")


@dataclass(frozen=True)
class LayerNoise:
    """The noise of one kind of box: a `PauliLindbladMap`, and the barrier (L, M or R) at which it acts."""

    map: PauliLindbladMap
    barrier: str

    def channels(self) -> list[tuple[tuple[int, ...], Instruction]]:
        """Return the map as channels of few qubits, each with the map's numbers of its qubits."""
        generators = ((term[:2], float(term[2])) for term in self.map.to_sparse_list())
        return [(wires, Kraus([*kraus]).to_instruction()) for wires, kraus in lindblad_parts(generators)]


def noise_by_tag(options: SimulatorOptions) -> dict[str, LayerNoise]:
    """Return the noise of layers that the simulator options of an executor name, by the tag of the box."""
    found = {}
    for box, map_ in options.layer_noise_model or ():
        tag = get_annotation(box.operation, Tag)
        if tag is not None:
            found[tag.ref] = LayerNoise(map_, _barrier_of(box.operation))
    return found


def _barrier_of(box: BoxOp) -> str:
    """Return the barrier at which the noise of a box acts; raises `NotSupported` for gates beside measurements."""
    inside = [one for one in undress_box(box).body if one.name != "barrier"]
    measures = [one.name == "measure" for one in inside]
    if inside and all(measures):
        return "M"
    if any(measures) or not all(one.is_standard_gate() for one in inside):
        names = sorted({one.name for one in inside})
        raise NotSupported(
            f"expected a layer of gates or of measurements, got a box with {', '.join(names)}; give each a box of its "
            "own."
        )
    twirl = get_annotation(box, Twirl)
    return "L" if twirl is not None and twirl.dressing.value == "right" else "R"


def with_layer_noise(circuit: QuantumCircuit, noise: Mapping[str, LayerNoise], *, warn_absent: bool) -> QuantumCircuit:
    """Return the circuit with the noise of its layers; a map's qubits are those of its barrier in increasing order.

    warn_absent: warn of tags that have no noise. Raises `NoiseError` for a map of another number of qubits.
    """
    if not noise:
        return circuit
    made = circuit.copy_empty_like()
    channels: dict[str, list[tuple[tuple[int, ...], Instruction]]] = {}
    absent: dict[str, None] = {}
    for instruction in circuit.data:
        made.append(instruction)
        label = instruction.label if instruction.name == "barrier" else None
        read = _LABEL.match(label or "")
        if read is None:
            continue
        barrier, tag = read.groups()
        layer = noise.get(tag)
        if layer is None:
            absent[tag] = None
            continue
        if barrier != layer.barrier:
            continue
        if tag not in channels:
            channels[tag] = layer.channels()
        qubits = sorted(instruction.qubits, key=lambda qubit: circuit.find_bit(qubit).index)
        if layer.map.num_qubits != len(qubits):
            raise NoiseError(
                f"expected noise of {len(qubits)} qubits for the layer {tag!r}, got a map of {layer.map.num_qubits}."
            )
        for wires, channel in channels[tag]:
            made.append(channel, [qubits[wire] for wire in wires])
    if warn_absent:
        _warn(absent, noise)
    return made


def _warn(absent: Iterable[str], noise: Mapping[str, LayerNoise]) -> None:
    for tag in absent:
        warnings.warn(f"No noise found for tag {tag!r}; available tags: {[*noise]}", stacklevel=4)
