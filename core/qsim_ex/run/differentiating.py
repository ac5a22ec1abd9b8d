"""The part of `Simulator` that differentiates: values of final states with their derivatives."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.comm import connection, launcher
from qsim_ex.deployment.assign import Assigner
from qsim_ex.errors import InvalidInput
from qsim_ex.later import later
from qsim_ex.native.library import cancelled_by
from qsim_ex.options import Options

if TYPE_CHECKING:
    from qsim_ex.circuit import observables as sums
    from qsim_ex.circuit.parameters import sweep as sweeps
    from qsim_ex.deployment import elsewhere
    from qsim_ex.display import explanation
    from qsim_ex.run.gradients import explained as gradient_explained
    from qsim_ex.run.gradients import gradient, results
    from qsim_ex.run.gradients import trajectories as gradient_trajectories
else:
    elsewhere = later("qsim_ex.deployment.elsewhere")
    explanation = later("qsim_ex.display.explanation")
    results = later("qsim_ex.run.gradients.results")
    gradient = later("qsim_ex.run.gradients.gradient")
    gradient_explained = later("qsim_ex.run.gradients.explained")
    gradient_trajectories = later("qsim_ex.run.gradients.trajectories")
    sweeps = later("qsim_ex.circuit.parameters.sweep")
    sums = later("qsim_ex.circuit.observables")


class Differentiating:
    """The methods of a simulator that differentiate; options, assigner: the simulator's."""

    options: Options
    _assigner: Assigner

    def gradient(
        self,
        sweep: sweeps.ParameterSweep,
        observables: sums.PauliSum | Sequence[sums.PauliSum],
        cancel: threading.Event | None = None,
        *,
        trajectories: int | None = None,
        seeds: int | Sequence[int] | None = None,
    ) -> results.Gradient:
        """Return expectation values after a circuit and their derivatives with respect to all its parameters.

        It takes little more than three runs, however many parameters there are (`run.gradients.gradient`); all bindings
        of the sweep are worked on together. The circuit begins in |0…0⟩; measurements at its end are ignored.
        sweep: of a `ParameterSweepBuilder`; each of its columns is a parameter. observables: Hermitian, so with real
        coefficients; all share the run, and each takes another state in memory. Where a state is divided over devices,
        host memory or processes, they come one after another, each with a run and two states in memory.
        trajectories: their number for each binding, if the circuit has mixtures of unitary matrices, as depolarizing
        noise is. What is differentiated is their mean: the one that `run_batch` returns for the same trajectories and
        seeds. seeds: one for each binding or for all, as of `run_batch`.
        Raises `NotSupported` for circuits whose final state is random, for trajectories that look at the state, for
        gates without inverse behind the first parameter, and for devices that do not differentiate; `CircuitError`,
        `WireError`, `OptionError`, `OutOfMemory`, `DeviceError`, `Cancelled`.
        """
        with self._differentiates(cancel):
            asked = _asked(trajectories, seeds)
            return gradient.gradient(self._assigner, self.options, sweep, _sums(observables), asked)

    def vjp(
        self,
        sweep: sweeps.ParameterSweep,
        observables: sums.PauliSum | Sequence[sums.PauliSum],
        cotangents: ArrayLike,
        cancel: threading.Event | None = None,
        *,
        trajectories: int | None = None,
        seeds: int | Sequence[int] | None = None,
    ) -> results.VectorJacobianProduct:
        """Return expectation values, and for each binding the products of a vector with the Jacobian.

        All observables share one cotangent, the weighted sum of all H|ψ⟩: it takes as long and as much memory as the
        gradient of one observable, however many there are.
        cotangents: the vector, float64 [bindings, observables] or, the same for all bindings, [observables].
        trajectories, seeds: as of `gradient`.
        Raises what `gradient` raises, and `InvalidInput` for cotangents of another shape.
        """
        sums = _sums(observables)
        given = np.asarray(cotangents, dtype=np.float64)
        weights = np.broadcast_to(given, (sweep.count, len(given))) if given.ndim == 1 else given
        with self._differentiates(cancel):
            return gradient.vjp(self._assigner, self.options, sweep, sums, weights, _asked(trajectories, seeds))

    def overlap(
        self,
        sweep: sweeps.ParameterSweep,
        other: Circuit | sweeps.ParameterSweep,
        cancel: threading.Event | None = None,
    ) -> results.Overlap:
        """Return overlaps ⟨φ|ψ⟩ of the final states of a sweep with other states, and their derivatives.

        The result has fidelities |⟨φ|ψ⟩|² and their gradients too. It takes as long as the gradient of two observables.
        other: the circuit that ends in φ, the same for all bindings, or a sweep with a circuit for each. Derivatives
        are those with respect to the columns of `sweep`; φ is constant.
        Raises what `gradient` raises, and `CircuitError` for another number of wires or bindings; `NotSupported` for a
        divided state if `other` sets amplitudes, since its gates are undone behind those of `sweep` then.
        """
        if not isinstance(other, Circuit | sweeps.ParameterSweep):
            raise InvalidInput(
                f"overlap: expected a qsim_ex.Circuit or a ParameterSweep, got {type(other).__name__}; a circuit that "
                "initializes amplitudes ends in any state."
            )
        known = sweeps.ParameterSweep(other) if isinstance(other, Circuit) else other
        with self._differentiates(cancel):
            return gradient.overlap(self._assigner, self.options, sweep, known)

    def explain_gradient(
        self,
        sweep: sweeps.ParameterSweep,
        observables: sums.PauliSum | Sequence[sums.PauliSum],
        machine: elsewhere.Cluster | None = None,
    ) -> explanation.Explanation:
        """Return what `gradient` will do in words: plans forward and back, memory, and the predicted seconds.

        It allocates no memory and runs nothing. machine: another machine to plan for, as of `explain`.
        """
        return gradient_explained.explained(self.options, sweep, _sums(observables), machine)

    @contextmanager
    def _differentiates(self, cancel: threading.Event | None) -> Iterator[None]:
        """Let an event end the call, and processes that share states make their calls in turn."""
        several = launcher.LAUNCHED or connection.CONNECTED.is_set()
        turn = connection.in_turn(self.options.processes) if several else nullcontext()
        with nullcontext() if cancel is None else cancelled_by(cancel), turn:
            yield


def _asked(
    trajectories: int | None, seeds: int | Sequence[int] | None
) -> gradient_trajectories.AskedTrajectories | None:
    """Return the trajectories that are asked for, if any are; seeds alone are not used."""
    return None if trajectories is None else gradient_trajectories.AskedTrajectories(trajectories, seeds)


def _sums(observables: sums.PauliSum | Sequence[sums.PauliSum]) -> Sequence[sums.PauliSum]:
    return (observables,) if isinstance(observables, sums.PauliSum) else observables
