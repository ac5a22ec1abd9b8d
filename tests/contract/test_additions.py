"""What it costs to add something: each addition is planted in a copy of the source, touches few files, and works."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernels.cuda.write.test_storage import DECLARED
from support.additions import Plant

SAVE = Plant(
    {
        "core/qsim_ex/circuit/saves.py": [
            ('    "stabilizer",\n]\n', '    "stabilizer",\n    "bloch_vector",\n]\n'),
            (
                "SAVE_KINDS: Mapping[str, SaveKind] = {\n",
                """\
def _bloch(_save: Save, rho: Complex) -> NDArray[Any]:
    xy = 2 * rho[:, 1, 0]
    return np.stack([xy.real, xy.imag, (rho[:, 0, 0] - rho[:, 1, 1]).real], axis=1)


SAVE_KINDS: Mapping[str, SaveKind] = {
    "bloch_vector": SaveKind(
        _AVERAGE, lambda _save, _wires: (3,), some_wires=True, dtype=np.float64, of_density=_bloch
    ),
""",
            ),
        ],
        "qsim_ex_provider/saves/kinds.py": [
            (
                "SAVES: Mapping[str, SaveForm] = {\n",
                """\
SAVES: Mapping[str, SaveForm] = {
    "save_bloch_vector": SaveForm("bloch_vector", np.asarray, "the Bloch vector of a qubit"),
""",
            )
        ],
    },
    """
import numpy as np
from qiskit import QuantumCircuit
from qsim_ex_provider import QsimExBackend, save_bloch_vector
for method in ("statevector", "density_matrix"):
    circuit = QuantumCircuit(3)
    circuit.ry(0.7, 1)
    circuit.rz(0.4, 1)
    save_bloch_vector(circuit, [1])
    found = QsimExBackend(device="cpu", method=method).run(circuit).result().data()["bloch_vector"]
    wanted = np.sin(0.7) * np.cos(0.4), np.sin(0.7) * np.sin(0.4), np.cos(0.7)
    assert np.allclose(found, wanted, atol=1e-6), (method, found)
""",
)
"""A save instruction in Qiskit, of a new kind of value."""

NODE = Plant(
    {
        "core/qsim_ex/circuit/ops.py": [
            (
                "Unitary = Op | Permutation | Initialize\n",
                '''\
@dataclass(frozen=True, slots=True)
class Spread(StateNode):
    """Put all wires into the state of 2^n equal amplitudes at `operand`."""

    wires: tuple[int, ...]
    operand: int

    acts_on = mixed_wires = property(lambda self: mask_of(self.wires))
    on_every_wire = in_order = property(lambda self: True)
    beginning = property(lambda self: (self.wires, self.operand))

    def renumbered(self, numbers: PartNumbers) -> Spread:
        size = 1 << len(self.wires)
        return Spread(numbers.wires(self.wires), numbers.operand(self.operand, size))

    def describe(self) -> str:
        return "all wires are put into a state of equal amplitudes"


Unitary = Op | Permutation | Initialize
''',
            ),
            ("    | SetState\n", "    | SetState\n    | Spread\n"),
        ],
        "core/qsim_ex/circuit/builder.py": [
            ("    SetState,\n", "    SetState,\n    Spread,\n"),
            (
                "    def set_statevector(self",
                """\
    def spread(self) -> Self:
        size = 1 << self.num_qubits
        at = self._operands.literal(np.full(size, size**-0.5, dtype=np.complex128))
        self._instructions.append(Spread(tuple(range(self.num_qubits)), at))
        return self

    def set_statevector(self""",
            ),
        ],
        "core/qsim_ex/run/traversal.py": [
            ("import Save, SetState\n", "import Save, SetState, Spread\n"),
            ("            case SetState():\n", "            case SetState() | Spread():\n"),
        ],
        "core/qsim_ex/density/doubled.py": [
            ("    SetState,\n", "    SetState,\n    Spread,\n"),
            ("| SetState(wires, operand):\n", "| SetState(wires, operand) | Spread(wires, operand):\n"),
        ],
        "core/qsim_ex/stabilizer/translation.py": [
            ("    SetState,\n", "    SetState,\n    Spread,\n"),
            (
                "            case SetState(wires, operand):\n",
                "            case SetState(wires, operand) | Spread(wires, operand):\n",
            ),
        ],
        "core/qsim_ex/reference.py": [
            ("    SetState,\n", "    SetState,\n    Spread,\n"),
            (
                "            case SetState(wires, operand):\n",
                "            case SetState(wires, operand) | Spread(wires, operand):\n",
            ),
            (
                "\n        case SetState(wires, operand):\n",
                "\n        case SetState(wires, operand) | Spread(wires, operand):\n",
            ),
        ],
    },
    """
import numpy as np
from qsim_ex import CircuitBuilder, Simulator, reference
builder = CircuitBuilder(3, 3)
builder.gate("x", [1]).measure([1], [1]).spread()
builder.gate("cp", [0, 2], 0.6).gate("h", [0]).save("at_the_end")
circuit = builder.build()
psi = reference.simulate(circuit)
found = Simulator(device="cpu", seed=3).run(circuit, shots=2).saved["at_the_end"]
assert np.allclose(found, psi, atol=1e-6), (found, psi)
builder = CircuitBuilder(2, 2)
builder.gate("x", [0]).spread().gate("h", [0]).measure([0, 1], [0, 1])
for method in ("statevector", "density_matrix", "stabilizer"):
    counts = Simulator(device="cpu", method=method, seed=1).run(builder.build(), shots=100).counts()
    assert set(counts) == {0, 2}, (method, counts)
""",
)
"""A node of programs on the state of a whole circuit, with its instruction."""

METHOD = Plant(
    {
        "core/qsim_ex/options/methods.py": [
            (
                'Method = Literal["automatic", "statevector", "density_matrix", "stabilizer"]',
                'Method = Literal["automatic", "statevector", "density_matrix", "stabilizer", "twice"]',
            ),
            (
                "METHODS: tuple[MethodRow, ...] = (\n",
                """\
METHODS: tuple[MethodRow, ...] = (
    MethodRow("twice", "twice", ("twice",), "every circuit, run two times"),
""",
            ),
        ],
    },
    """
from qsim_ex import CircuitBuilder, Simulator
circuit = CircuitBuilder(3, 3).gate("h", [0]).gate("cx", [0, 1]).measure([0, 1], [0, 1]).build()
twice, once = (Simulator(device="cpu", method=method, seed=7) for method in ("twice", "statevector"))
assert twice.run(circuit, shots=50).counts() == once.run(circuit, shots=50).counts()
from qsim_ex.run.methods.twice import RUNS
assert RUNS == [2]
assert "run two times" in str(Simulator(device="cpu", method="twice").explain(circuit)), twice.explain(circuit)
""",
    {
        "core/qsim_ex/run/methods/twice.py": '''"""Every circuit is run two times, and the second result is returned."""

from qsim_ex.run.methods.method import RunMethod
from qsim_ex.run.methods.statevector import METHOD as ONCE

RUNS: list[int] = []


def _run(call):
    RUNS.append(len([ONCE.run(call) for _ in range(2)]))
    return ONCE.run(call)


METHOD = RunMethod(_run, heads=lambda _circuit: "every circuit is run two times")
'''
    },
)
"""A method of a run."""

STORAGE = Plant(
    {
        "core/qsim_ex/precision/row.py": [
            ('PrecisionName = Literal["single", "double"]', 'PrecisionName = Literal["half", "single", "double"]')
        ],
        "core/qsim_ex/precision/__init__.py": [
            (
                "from qsim_ex.precision.row import",
                "from qsim_ex.precision.half import HALF\nfrom qsim_ex.precision.row import",
            ),
            ("for row in (SINGLE, DOUBLE)", "for row in (HALF, SINGLE, DOUBLE)"),
        ],
    },
    """
from kernels.cuda.write import test_storage
from qsim_ex import CircuitBuilder, Simulator
from qsim_ex.deployment.elsewhere import Cluster
from qsim_ex.precision import PRECISIONS
test_storage.HALF = PRECISIONS["half"]
test_storage.test_a_fixed_kernel_loads_what_its_precision_declares()
builder = CircuitBuilder(20)
for wire in range(20):
    builder.gate("h", [wire])
half, single = (Simulator(precision=name).summary(builder.build(), Cluster()) for name in ("half", "single"))
assert 2 * half.bytes_moved == single.bytes_moved, (half, single)
""",
    {
        "core/qsim_ex/precision/half.py": f'''"""Amplitudes in 2 × 16 bits."""

from dataclasses import replace

import numpy as np

from qsim_ex.precision.single import SINGLE
from qsim_ex.precision.storage import CudaStorage, Storage

CUDA = CudaStorage(real="float", amplitude="float2", pair="float4", stored="pair16", declared="""{DECLARED}""")
STORAGE = Storage(dtype=np.dtype(np.uint32), real=np.dtype(np.float32), cuda=CUDA, native_single=True)
HALF = replace(SINGLE, name="half", storage=STORAGE)
'''
    },
)
"""A storage of amplitudes: 2 × 16 bits."""

DEVICE = Plant(
    {
        "core/qsim_ex/options/__init__.py": [
            ('DeviceChoice = Literal["auto", "cpu", "gpu"]', 'DeviceChoice = Literal["auto", "cpu", "gpu", "plain"]')
        ],
        "core/qsim_ex/devices/discover.py": [
            (
                '    "cpu": lambda options: cpu(options.threads),\n',
                '    "cpu": lambda options: cpu(options.threads),\n    "plain": lambda _: plain_device.device(),\n',
            ),
            (
                'else:\n    cpu_device = later("qsim_ex.devices.cpu.device")\n',
                """\
else:
    cpu_device = later("qsim_ex.devices.cpu.device")
    plain_device = later("qsim_ex.devices.plain.device")
""",
            ),
        ],
    },
    """
import numpy as np
from qsim_ex import CircuitBuilder, Simulator, StateVector, reference
builder = CircuitBuilder(8, 8)
for wire in range(8):
    builder.gate("ry", [wire], 0.3 + wire)
for wire in range(7):
    builder.gate("cx", [wire, wire + 1])
circuit = builder.build()
psi = reference.simulate(circuit)
state = StateVector(8, device="plain").apply(circuit)
assert state.device.kind == "plain"
assert np.allclose(state.to_numpy(), psi, atol=1e-5)
measured = builder.measure(range(8), range(8)).build()
result = Simulator(device="plain", seed=5).run(measured, shots=200)
assert result.provenance.device == "plain", result.provenance
assert result.counts() == Simulator(device="cpu", seed=5).run(measured, shots=200).counts()
assert "plain" in str(Simulator(device="plain").explain(measured))
""",
    {
        "core/qsim_ex/devices/plain/__init__.py": '"""A device that works by definition."""\n',
        "core/qsim_ex/devices/plain/device.py": '''"""A device that works by definition."""

from functools import lru_cache

from support.plain_device import PlainDevice


class Plain(PlainDevice):
    kind = "plain"


@lru_cache(maxsize=1)
def device():
    return Plain()
''',
    },
)
"""A kind of device: its package, its value of the option, and its row."""

PLANTS = {"save": (SAVE, 2), "node": (NODE, 6), "method": (METHOD, 2), "storage": (STORAGE, 3), "device": (DEVICE, 4)}


@pytest.mark.parametrize("name", PLANTS)
def test_an_addition_touches_few_files_and_works(name: str, tmp_path: Path) -> None:
    """A planted addition works in the whole product, though it touches no more files than docs/adding.md says."""
    plant, files = PLANTS[name]
    assert len(plant.touched) <= files, plant.touched
    assert plant.try_in(tmp_path) == ""
