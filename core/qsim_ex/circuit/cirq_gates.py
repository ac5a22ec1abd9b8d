"""Which gates of Cirq a row of the gate table is.

Cirq has one class for all powers of a gate, so several rows may belong to one class. `Powers`, `OnePower`, `OneShift`
and `Attributes` say which gates of the class a row is. They hold the name of the class, since the engine imports no
framework.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Powers:
    """All gates of a class of Cirq that has an exponent and a global shift; these are the row's two parameters.

    also: further names in Cirq for such gates: subclasses, and single gates whose class has no public name.
    """

    kind: str
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class OnePower:
    """The gate of a class with this exponent and no shift, if it was written without a symbol."""

    kind: str
    exponent: float


@dataclass(frozen=True)
class OneShift:
    """The gates of a class with this global shift.

    scales: the row's parameters are these numbers times the exponent; by default one angle in radians.
    A class of the same powers under controls uses the row too, under the controls.
    """

    kind: str
    shift: float
    scales: tuple[float, ...] = (np.pi,)


@dataclass(frozen=True)
class Attributes:
    """All gates of a class; the attributes with these names are the row's parameters, in order."""

    kind: str
    names: tuple[str, ...] = ()


CirqGates = Powers | OnePower | OneShift | Attributes
"""Which gates of a class of Cirq a row is; `kind` is the name of the class in the module ``cirq``."""
