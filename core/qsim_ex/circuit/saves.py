"""Saves: the instruction that keeps a value of the state, and the table of what can be kept.

A save names a row of `SAVE_KINDS` (what is kept) and a subtype (how the values of several trajectories are put
together). `observe.saved` and `density.questions` have readers for rows that are read faster than from density
matrices, and `run.saved_values` a class for each way to put values together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.instruction import PartNumbers, StateNode
from qsim_ex.errors import CircuitError, nearest

if TYPE_CHECKING:
    from qsim_ex.circuit.observables import PauliSum

Complex = NDArray[np.complex128]
SaveValues = NDArray[Any]
"""What a save keeps of some states, a row of values for each, in the type that the save's row of `SAVE_KINDS` says."""

What = Literal[
    "statevector",
    "probabilities",
    "expectation_value",
    "expectation_value_variance",
    "amplitudes",
    "amplitudes_squared",
    "density_matrix",
    "unitary",
    "stabilizer",
]
"""What is kept: the name of a row of `SAVE_KINDS`."""

How = Literal["single", "average", "accum", "list", "c_single", "c_average", "c_accum", "c_list"]
"""How the values of several trajectories are put together, in Aer's words.

single: the value of the first trajectory. average, accum: the mean of all, and their sum. list: the value of each.
c_: the same for each value that the classical bits hold at the save.
"""

_SINGLE: tuple[How, ...] = ("single", "list", "c_single", "c_list")
_AVERAGE: tuple[How, ...] = ("average", "accum", "list", "c_average", "c_accum", "c_list")


@dataclass(frozen=True, slots=True, repr=False)
class Save(StateNode):
    """Save a value of the state at this point under `label`.

    wires: the wires that the value depends on, ``wires[0]`` the least significant bit of a value's index; None: all
        wires of the circuit, in order.
    observable: of an expectation value; its wire k is ``wires[k]``. values: the basis values of amplitudes.
    """

    label: str
    what: What = "statevector"
    wires: tuple[int, ...] | None = None
    how: How = "single"
    observable: PauliSum | None = None
    values: tuple[int, ...] = ()

    def __repr__(self) -> str:
        # The digest of a structure is made of this text, so a field with its default is left out: `Save(label='a')`
        # has the digest that it had when there were no other fields.
        given = ((f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default)
        return f"Save({', '.join(f'{name}={value!r}' for name, value in given)})"

    @property
    def saved(self) -> Save:
        """Itself."""
        return self

    @property
    def by_memory(self) -> bool:
        """Whether there is a value for each value of the classical bits."""
        return self.how.startswith("c_")

    @property
    def averages(self) -> bool:
        """Whether values of many trajectories are added up."""
        return self.how.endswith(("average", "accum"))

    @property
    def is_linear_mean(self) -> bool:
        """Whether it is a mean over trajectories that a density matrix has too."""
        return self.how == "average" and SAVE_KINDS[self.what].linear

    @property
    def acts_on(self) -> int:
        """The wires that its value depends on, if they are named."""
        return sum(1 << wire for wire in self.wires or ())

    @property
    def on_every_wire(self) -> bool:
        """Whether its value depends on all wires, whichever these are."""
        return not self.wires

    @property
    def reads_every_bit(self) -> bool:
        """Whether its value is kept for each value of the classical bits."""
        return self.by_memory

    @property
    def in_order(self) -> bool:
        """Whether amplitudes have been put in the order of the wires to be read."""
        return SAVE_KINDS[self.what].in_order

    def renumbered(self, numbers: PartNumbers) -> Save:
        """Return it in the numbers of a part."""
        return replace(self, wires=numbers.wires(self.wires or ()))

    def describe(self) -> str:
        """Return in words what is saved."""
        kept = "the state" if self.what == "statevector" else f"the {self.what} of the state"
        return f"{kept} is saved as {self.label!r}"

    def depends_on(self, num_wires: int) -> tuple[int, ...]:
        """Return the wires that the value depends on, of a circuit with `num_wires` wires."""
        return tuple(range(num_wires)) if self.wires is None else self.wires

    def shape(self, num_wires: int) -> tuple[int, ...]:
        """Return the shape of one value."""
        return SAVE_KINDS[self.what].shape(self, len(self.depends_on(num_wires)))

    def dtype(self, amplitudes: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type of a value's numbers; amplitudes: that of the state's amplitudes."""
        return np.dtype(SAVE_KINDS[self.what].dtype or amplitudes)


@dataclass(frozen=True, slots=True)
class SaveKind:
    """A row of the table: one kind of value.

    hows: the ways to put values of several trajectories together, the default first.
    some_wires: whether it is of some wires; otherwise it is of all wires, in order.
    asks: the field of `Save` that it needs, beside the wires.
    shape: returns the shape of a value of k wires. dtype: the type of its numbers; None: that of the amplitudes.
    of_density: returns values [rows, …] of density matrices [rows, 2^k, 2^k] of its wires, to which it is linear; of a
        kind for which `observe.saved` and `density.questions` have no reader that is faster.
    of_mixed: whether mixed states have such a value. linear: whether it is linear in the density matrix, so that the
        mean over trajectories is that of the mixed state. of_populations: whether it depends on these alone.
    gates_only: whether only gates may stand before the save. in_order: whether reading it puts the wires in order.
    method: the only method that keeps it, in the words of the option; None: any that has amplitudes.
    """

    hows: tuple[How, ...]
    shape: Callable[[Save, int], tuple[int, ...]]
    some_wires: bool = False
    asks: Literal["observable", "values"] | None = None
    dtype: type[np.generic] | None = None
    of_density: Callable[[Save, Complex], SaveValues] | None = None
    of_mixed: bool = True
    linear: bool = True
    of_populations: bool = False
    gates_only: bool = False
    in_order: bool = False
    method: str | None = None


def _number(_save: Save, _wires: int) -> tuple[int, ...]:
    return ()


def _pair(_save: Save, _wires: int) -> tuple[int, ...]:
    return (2,)


def _of_values(save: Save, _wires: int) -> tuple[int, ...]:
    return (len(save.values),)


def _vector(_save: Save, wires: int) -> tuple[int, ...]:
    return (1 << wires,)


def _matrix(_save: Save, wires: int) -> tuple[int, ...]:
    return 1 << wires, 1 << wires


def _tableau(_save: Save, wires: int) -> tuple[int, ...]:
    return 2 * wires, 2 * wires + 1


def _itself(_save: Save, matrices: Complex) -> Complex:
    return matrices


SAVE_KINDS: Mapping[str, SaveKind] = {
    "statevector": SaveKind(_SINGLE, _vector, of_mixed=False, linear=False, in_order=True),
    "probabilities": SaveKind(_AVERAGE, _vector, some_wires=True, dtype=np.float64, of_populations=True),
    "expectation_value": SaveKind(_AVERAGE, _number, some_wires=True, asks="observable", dtype=np.float64),
    "expectation_value_variance": SaveKind(
        _AVERAGE, _pair, some_wires=True, asks="observable", dtype=np.float64, linear=False
    ),
    "amplitudes": SaveKind(_SINGLE, _of_values, asks="values", of_mixed=False, linear=False),
    "amplitudes_squared": SaveKind(_AVERAGE, _of_values, asks="values", dtype=np.float64, of_populations=True),
    "density_matrix": SaveKind(_AVERAGE, _matrix, some_wires=True, dtype=np.complex128, of_density=_itself),
    "unitary": SaveKind(("single", "list"), _matrix, of_mixed=False, linear=False, gates_only=True),
    "stabilizer": SaveKind(_SINGLE, _tableau, dtype=np.uint8, of_mixed=False, linear=False, method="stabilizer"),
}
"""All kinds of values, by name."""


def checked(
    label: str | None,
    what: str,
    num_qubits: int,
    *,
    wires: Sequence[int] | None,
    how: str | None,
    observable: PauliSum | None,
    values: Sequence[int] | None,
) -> Save:
    """Return a save of its arguments; raises `CircuitError` and `WireError` for those that do not fit its row."""
    row = SAVE_KINDS.get(what)
    if row is None:
        raise CircuitError(f"save: expected one of {', '.join(SAVE_KINDS)}, got {what!r}.{nearest(what, SAVE_KINDS)}")
    if how is not None and how not in row.hows:
        raise CircuitError(f"save: expected one of {', '.join(row.hows)} for {what}, got how={how!r}; use one of them.")
    if wires is not None and not row.some_wires:
        raise CircuitError(f"save: expected no wires for {what}, which is of all wires, got {list(wires)}; leave out.")
    for name, given in (("observable", observable), ("values", values)):
        if (given is not None) != (row.asks == name):
            asked = f"{what} with {row.asks}=…" if row.asks else f"{what} without further arguments"
            raise CircuitError(f"save: expected {asked}, got {'no ' if row.asks == name else ''}{name}; change that.")
    on = None if wires is None else check.wires(wires, num_qubits, "save")
    size = num_qubits if on is None else len(on)
    if observable is not None:
        _check_observable(observable, size)
    found = tuple(map(int, values or ()))
    if bad := [value for value in found if not 0 <= value < 1 << size]:
        raise CircuitError(
            f"save: expected basis values 0 <= v < {1 << size}, got {bad[0]}; use values of {size} bits."
        )
    return Save(what if label is None else label, what, on, how or row.hows[0], observable, found)  # type: ignore[arg-type]


def _check_observable(observable: PauliSum, num_wires: int) -> None:
    """Raise `CircuitError` unless an observable is Hermitian and fits the wires."""
    if observable.num_wires() > num_wires:
        raise CircuitError(
            f"save: expected an observable on {num_wires} wires, got one on {observable.num_wires()}; pass as many "
            "wires as it acts on."
        )
    if any(complex(term.coefficient).imag for term in observable.terms):
        raise CircuitError("save: expected a Hermitian observable, got one with complex coefficients; use real ones.")
