"""Errors that programs written for Cirq's simulators also catch by other classes than the engine's."""

from __future__ import annotations

from qsim_ex.errors import UnknownInstruction


class UnknownOperation(UnknownInstruction, TypeError):
    """An operation with neither a matrix nor a decomposition, for which Cirq's simulators raise a TypeError."""


class OnlyActs(UnknownOperation):
    """An operation that has ``_act_on_`` alone, which is known when it has acted on a state and not before."""
