"""What calls find: means with standard errors, so that contestants with other random numbers can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Means:
    """What a call found, as estimates with their standard errors: float64 arrays of one shape."""

    values: Floats
    errors: Floats

    @classmethod
    def of_bits(cls, bits: NDArray[Any]) -> Means:
        """Means over shots of every bit and of every two neighbours' parity; bits: 0 and 1, [..., shots, bits]."""
        every = np.concatenate([bits, bits ^ np.roll(bits, 1, axis=-1)], axis=-1)
        shots = every.shape[-2]
        likely = (every.sum(axis=-2) + 1) / (shots + 2)  # never 0 or 1, so that no error is 0
        return cls(every.mean(axis=-2), np.sqrt(likely * (1 - likely) / shots))

    @classmethod
    def exact(cls, values: NDArray[Any], tolerance: float = 1e-4) -> Means:
        """Numbers that nothing is left to chance in, but for rounding."""
        return cls(np.asarray(values, dtype=np.float64), np.full(np.shape(values), tolerance))

    def deviation(self, other: Means) -> float:
        """The root mean square of the differences, in standard errors; of the first ones where one has fewer."""
        count = min(len(self.values), len(other.values))
        differences = self.values[:count] - other.values[:count]
        errors = np.hypot(self.errors[:count], other.errors[:count])
        return float(np.sqrt(np.mean((differences / errors) ** 2)))

    def allowed(self) -> float:
        """How much a deviation may be: about 1 for many independent means, more for few; means are correlated."""
        return 1 + 10 / sqrt(self.values.size)
