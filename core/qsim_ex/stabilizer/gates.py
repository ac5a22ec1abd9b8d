"""Stim's gates for what Clifford gates make of Pauli matrices, and whether Stim is installed."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from qsim_ex.errors import MissingPackage
from qsim_ex.stabilizer.cliffords import Images, Matrix, Pauli

if TYPE_CHECKING:
    import stim

Template = tuple[tuple[str, tuple[int, ...]], ...]
"""Gates of Stim one after another, each with the places of its wires among those of the whole."""

_LOADING = Lock()

INSTALL = "pip install 'qsim-ex[stim]'"


@lru_cache(maxsize=1)
def is_installed() -> bool:
    """Return whether Stim is installed."""
    return find_spec("stim") is not None


def stim_module() -> Any:
    """Return the module `stim`; raises `MissingPackage` with the command that installs it."""
    try:
        with _LOADING:
            return _begun(import_module("stim"))
    except ImportError as error:
        raise MissingPackage(
            f"method='stabilizer' runs on Stim, which cannot be imported ({error}); {INSTALL}."
        ) from error


@lru_cache(maxsize=1)
def _begun(module: ModuleType) -> ModuleType:
    """Let Stim sample once; where several threads do so for the first time, all wait forever for one another."""
    module.Circuit("M 0").compile_sampler(seed=0).sample(1)
    return module


@lru_cache(maxsize=4096)
def template_of(images: Images) -> Template:
    """Return Stim's gates that make these images; a gate of Stim's own if there is one."""
    if (name := _named().get(images)) is not None:
        own = tuple(range(len(images.of_x)))
        return () if name in ("I", "II") else ((_TURNED.get(name, name), own[::-1] if name in _TURNED else own),)
    module = stim_module()
    wires = len(images.of_x)
    x, z = ([module.PauliString(_text(one, wires)) for one in of] for of in images)
    return _gates(module.Tableau.from_conjugated_generators(xs=x, zs=z).to_circuit("elimination"))


def preparation_of(amplitudes: Matrix) -> Template | None:
    """Return Stim's gates that make a state of |0…0⟩; None if it is no stabilizer state.

    amplitudes: complex128 [2^k], ``wires[0]`` least significant, without rounding errors (see `stabilizer_vector`).
    """
    try:
        tableau = stim_module().Tableau.from_state_vector(amplitudes, endian="little")
    except ValueError:
        return None
    return _gates(tableau.to_circuit("elimination"))


def pauli_string(pauli: Pauli) -> stim.PauliString:
    """Return Stim's string of a product of Pauli matrices on the circuit's wires."""
    found: stim.PauliString = stim_module().PauliString(_text(pauli, max(1, (pauli.x | pauli.z).bit_length())))
    return found


def _text(pauli: Pauli, wires: int) -> str:
    return ("-" if pauli.minus else "+") + pauli.letters(wires)


_TURNED = {"XCZ": "CX", "YCZ": "CY"}
"""Gates with the control last, and their usual names with the control first."""


@lru_cache(maxsize=1)
def _named() -> dict[Images, str]:
    """Return the name of Stim's gate for the images of all gates that it has on one wire or two."""
    found: dict[Images, str] = {}
    for name, gate in stim_module().gate_data().items():
        if gate.is_unitary and (gate.is_single_qubit_gate or gate.is_two_qubit_gate):
            found.setdefault(_images(gate.tableau), name)
    return found


def _images(tableau: Any) -> Images:
    wires = range(len(tableau))
    return Images(
        tuple([_pauli(tableau.x_output(wire)) for wire in wires]),
        tuple([_pauli(tableau.z_output(wire)) for wire in wires]),
    )


def _pauli(string: Any) -> Pauli:
    letters = [string[wire] for wire in range(len(string))]  # 0, 1, 2, 3: I, X, Y, Z
    x = sum(1 << wire for wire, letter in enumerate(letters) if letter in (1, 2))
    z = sum(1 << wire for wire, letter in enumerate(letters) if letter in (2, 3))
    return Pauli(x, z, string.sign == -1)


def _gates(circuit: Any) -> Template:
    """Return the gates of a circuit of Stim's, target group by target group."""
    return tuple(
        [
            (instruction.name, tuple([target.value for target in group]))
            for instruction in circuit
            for group in instruction.target_groups()
        ]
    )
