"""The gates of a circuit of Qiskit, read by native code through Qiskit's C interface: core/native/readers/qiskit.cpp.

No Python object is made for an instruction. The adapter hands over the addresses of Qiskit's functions, so nothing
here imports Qiskit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from qsim_ex.frameworks.read_gates import ReadGates, ReadRows
from qsim_ex.native.library import address, function


class QiskitReader:
    """Reads circuits through Qiskit's C interface.

    functions: the addresses of qk_circuit_view_instruction, qk_circuit_instruction_kind, qk_param_kind and
    qk_param_as_real, and the bytes of a parameter. rows: of the gate table by Qiskit's names.
    """

    def __init__(self, functions: Sequence[int], rows: Mapping[str, str]) -> None:
        found = np.array(functions, dtype=np.int64)
        self._rows = ReadRows(list(rows.values()))
        names = [name.encode() for name in rows]
        text = np.frombuffer(b"".join(names), dtype=np.uint8)
        ends = np.array(list(accumulate(map(len, names))), dtype=np.int64)
        self._arrays = found, text, ends  # which are kept, so that their addresses are
        self._given = address(found), address(text), address(ends), len(ends)

    def read(self, circuit: int, count: int) -> ReadGates | None:
        """Return the gates of a circuit with `count` instructions, given by its address in Qiskit.

        None if a parameter is no finite number, or wires are too many: then Python has to look at the circuit.
        """
        read, given = function("qiskit_gates"), self._given
        return ReadGates.read(self._rows, count, lambda out: read(circuit, count, *given, out))

    def is_again(self, circuit: int, count: int, known: Sequence[bytes]) -> bool:
        """Return whether a circuit with `count` instructions has those of a reading of none but gates and measurements.

        known: what `ReadGates.same` returned for that.
        """
        numbers, keys, parameters, measured = known
        if 4 * count != len(numbers):
            return False
        of = numbers, keys, parameters, len(parameters) // 8, measured, len(measured) // 24
        return bool(function("qiskit_same")(circuit, count, *self._given[:3], *of))
