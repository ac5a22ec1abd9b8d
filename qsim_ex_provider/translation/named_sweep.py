"""A translated sweep of a circuit that is kept, for bindings of other values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from qsim_ex.frameworks import ParameterColumns, ParameterSweep, Values, stacked


class NamedSweep(NamedTuple):
    """A sweep whose values may be replaced, and of each of its columns the name of the parameter."""

    sweep: ParameterSweep
    names: tuple[str, ...]

    @classmethod
    def of(cls, sweep: ParameterSweep, arrays: Sequence[Values], columns: ParameterColumns) -> NamedSweep | None:
        """Return a sweep with its names; None if one of its columns, `arrays`, is not that of one parameter."""
        names = {id(column): name for name, column in columns.columns.items()}
        if len(names) < len(columns.columns):  # two parameters have the same array
            return None
        named = [names[id(array)] for array in arrays if id(array) in names]
        return None if len(named) < len(arrays) else cls(replace(sweep, columns=None), tuple(named))

    def with_values(self, columns: ParameterColumns) -> ParameterSweep | None:
        """Return the sweep with other values; None if one is not finite, for which a translation has the words."""
        values = columns.columns
        found = stacked(list(values.values()), columns.count)
        if not np.isfinite(found).all():
            return None
        if self.names != (*values,):
            found = stacked([values[name] for name in self.names], columns.count)
        return ParameterSweep(self.sweep.template, columns.count, self.sweep.swept, found)
