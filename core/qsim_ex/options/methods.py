"""The methods of runs: what is known of each before there is a circuit, and under which options it may be taken.

`run/methods/` has a file for each row, with what is asked of circuits and what runs them (decision 0052).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Method = Literal["automatic", "statevector", "density_matrix", "stabilizer"]
"""The values of the option `method`."""


@dataclass(frozen=True, slots=True)
class MethodRow:
    """A row of `METHODS`.

    name: of its file in `run/methods/`. method: what results call it, in Aer's words. under: the values of the option
    under which it may be taken. suits: what it is for, in words.
    index_bits: how many index bits a wire has in its state; 0: it has no amplitudes. draws: whether it draws noise
    trajectory by trajectory, with a state for each. only_if: the property of a call (`run.pipeline.BatchCall`) without
    which it is not asked whether it suits; None: it is always asked. instead_of_state: what to use where a state vector
    is asked for; None: it makes one.
    """

    name: str
    method: str
    under: tuple[Method, ...]
    suits: str
    index_bits: int = 1
    draws: bool = True
    only_if: str | None = None
    instead_of_state: str | None = None


METHODS: tuple[MethodRow, ...] = (
    MethodRow(
        "narrow_density",
        "density_matrix",
        ("automatic",),
        "shots of up to 5 noisy wires without measurements on the way, drawn from their exact density matrix",
        only_if="draws_noise",
    ),
    MethodRow(
        "stabilizer",
        "stabilizer",
        ("automatic", "stabilizer"),
        "Clifford gates, Pauli noise, measurements, resets and Pauli gates under conditions, on up to 10,000 wires",
        index_bits=0,
        draws=False,
        only_if="may_be_stabilizer",
        instead_of_state="use Simulator.run or run_batch, and save what='stabilizer'",
    ),
    MethodRow(
        "exact_values",
        "density_matrix",
        ("automatic",),
        "means that a density matrix has too, of up to 11 noisy wires, where it costs less than trajectories",
        index_bits=2,
        draws=False,
        only_if="averages_noise",
    ),
    MethodRow(
        "density_matrix",
        "density_matrix",
        ("density_matrix",),
        "noise and measurements without chance, of up to half as many wires as a state vector has",
        index_bits=2,
        draws=False,
        instead_of_state="make a qsim_ex.DensityMatrix, or use Simulator.run or run_batch",
    ),
    MethodRow(
        "statevector",
        "statevector",
        ("automatic", "statevector"),
        "every circuit whose state fits in memory; noise and measurements on the way are trajectories",
    ),
)
"""All methods, in the order in which they are asked; the last one under an option runs what no other suits."""

UNDER: Mapping[str, tuple[MethodRow, ...]] = {
    value: tuple([row for row in METHODS if value in row.under]) for value in get_args(Method)
}
"""The rows under each value of the option."""

USUAL: Mapping[str, MethodRow] = {value: rows[-1] for value, rows in UNDER.items()}
"""The row under each value of the option that runs what no other suits."""
