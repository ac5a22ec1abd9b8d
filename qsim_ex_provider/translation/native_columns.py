"""The instructions of a circuit without parameters, read through Qiskit's C interface where Qiskit has it.

A gate is read in 0.03 µs then, and no Python object is made for it; `columns.Columns` takes 0.8 µs. The interface is
still marked as experimental, so it is used only if it looks as expected: all functions are there, and the struct that
Qiskit fills has the fields that native code reads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import qiskit
from qiskit.circuit import CircuitInstruction, QuantumCircuit

from qsim_ex import CircuitBuilder
from qsim_ex.frameworks import GATES, Measured, QiskitReader, ReadGates
from qsim_ex_provider.translation.place import ToNumber

if TYPE_CHECKING:
    from qsim_ex_provider.translation.held import Reading

Wires = tuple[int, ...]

_FUNCTIONS = ("view_instruction", "instruction_kind")
_PARAMETER_FUNCTIONS = ("kind", "as_real")

_VIEW = (
    ("name", 0),
    ("qubits", 8),
    ("clbits", 16),
    ("params", 24),
    ("name_len", 32),
    ("num_qubits", 40),
    ("num_clbits", 44),
    ("num_params", 48),
)
"""The fields of `QkCircuitInstructionView` and their places in bytes, as core/native/readers/qiskit.cpp reads them."""


_name = attrgetter("name")


class _Interface(NamedTuple):
    """borrow: returns the address of a circuit's data in Qiskit. reader: reads the circuit there."""

    borrow: Callable[[Any], int]
    reader: QiskitReader


@lru_cache(maxsize=1)
def interface() -> _Interface | None:
    """Return Qiskit's C interface; None if this version of Qiskit has none, or another one."""
    try:
        capi: Any = qiskit.capi
        view, kinds, params = capi.QkCircuitInstructionView, capi.QkOperationKind, capi.QkParamKind
        fits = tuple((name, getattr(view, name).offset) for name, _ in view._fields_) == _VIEW
        fits = fits and (kinds.Gate.value.value, params.Real.value.value) == (0, 1)
        library = ctypes.PyDLL(capi.get_lib())
        borrow = library.qk_circuit_borrow_from_python
        functions = [getattr(library, f"qk_circuit_{name}") for name in _FUNCTIONS]
        functions += [getattr(library, f"qk_param_{name}") for name in _PARAMETER_FUNCTIONS]
        library.qk_param_stride.restype = ctypes.c_size_t
        stride = library.qk_param_stride()
    except AttributeError:
        return None
    if not fits:
        return None
    borrow.argtypes, borrow.restype = [ctypes.py_object], ctypes.c_void_p
    addresses = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
    rows = {row.qiskit: row.name for row in GATES.values() if row.qiskit}
    return _Interface(borrow, QiskitReader([*addresses, stride], rows))


class NativeColumns:
    """The instructions of a circuit: gates and measurements as arrays, all others as `columns.Columns` has them.

    count: of all instructions. others: the places of those that are no standard gates, measurements or barriers;
    instructions, names, wires: of these. measured: measurements that follow one another, by the place of the first; a
    barrier has no wires. operations: those of instructions that were asked
    for. parameters: none that is not a number. contents: what is equal for two circuits with equal gates, measurements
    and barriers.
    """

    def __init__(self, circuit: QuantumCircuit, gates: ReadGates, count: int) -> None:
        self.count, self.others, self._gates = count, gates.others, gates
        self.instructions: dict[int, CircuitInstruction] = {}
        if gates.others:
            first, end = gates.others[0], gates.others[-1] + 1
            if end - first == len(gates.others):
                self.instructions = dict(zip(gates.others, circuit.data[first:end], strict=True))
            elif 4 * len(gates.others) < end - first:
                data = circuit.data
                self.instructions = {place: data[place] for place in gates.others}
            else:
                found = circuit.data[first:end]
                self.instructions = {place: found[place - first] for place in gates.others}
        self.operations: dict[int, Any] = {}
        self.parameters: list[Any] = []
        self.contents = gates.same()
        several, others = self.instructions.values(), gates.others
        self.names = dict(zip(others, map(_name, several), strict=True))
        self.wires: dict[int, Wires] = dict(zip(others, gates.other_wires(), strict=True))
        if wide := [place for place, on in self.wires.items() if not on]:
            at = {qubit: wire for wire, qubit in enumerate(circuit.qubits)}.__getitem__
            self.wires |= {place: tuple(map(at, self.instructions[place].qubits)) for place in wide}

    @cached_property
    def measured(self) -> dict[int, Measured]:
        """Measurements that follow one another, by the place of the first."""
        return self._gates.measurements()

    def gates(
        self,
        begin: int,
        end: int,
        number: ToNumber | None,  # noqa: ARG002  (all parameters are numbers)
    ) -> tuple[list[str], list[Wires], list[Any]]:
        """Return rows, wires and parameters of some standard gates that follow one another."""
        return self._gates.gates(begin, end)

    def append(self, builder: CircuitBuilder, begin: int, end: int, number: ToNumber | None) -> set[int]:  # noqa: ARG002
        """Append some standard gates that follow one another, and return their wires."""
        return self._gates.append(builder, begin, end)


def native_columns(circuit: QuantumCircuit) -> NativeColumns | None:
    """Return the instructions of a circuit; None if it has to be read in Python."""
    if circuit.num_parameters or (found := interface()) is None:
        return None
    count = len(circuit.data)
    gates = found.reader.read(found.borrow(circuit._data), count)
    return None if gates is None else NativeColumns(circuit, gates, count)


def is_again(circuit: QuantumCircuit, known: Reading) -> bool:
    """Return whether a reading is that of a circuit without parameters; False if it is not one of native code alone."""
    contents = [part for part in known.gates if isinstance(part, bytes)]
    if known.others or len(contents) < len(known.gates) or (found := interface()) is None:
        return False
    if (known.num_qubits, known.num_clbits, known.phase) != (
        circuit.num_qubits,
        circuit.num_clbits,
        circuit.global_phase,
    ):
        return False
    return found.reader.is_again(found.borrow(circuit._data), len(circuit.data), contents)
