"""A translated sweep of a circuit that is kept, for bindings of other values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import ParameterExpression

from qsim_ex.frameworks import ParameterColumns, ParameterSweep, Values, stacked
from qsim_ex_provider.translation.expressions import Linear, linear_form

Formulas = Mapping[int, tuple[Values, ParameterExpression]]
"""Arrays of values, by their identity, and the expressions that they are values of."""


class _LinearColumns(NamedTuple):
    """The columns of a sweep as linear expressions of parameters.

    constants: [columns]. parameters, factors: [terms, columns], the number of a parameter and its factor, which is 0
    where a column has fewer terms.
    """

    constants: Values
    parameters: NDArray[np.intp]
    factors: Values

    @classmethod
    def of(cls, forms: Sequence[Linear], names: Sequence[str]) -> _LinearColumns:
        """Return the columns of linear expressions of parameters with these names."""
        number, most = {name: k for k, name in enumerate(names)}, max(len(form.factors) for form in forms)
        parameters, factors = np.zeros((most, len(forms)), dtype=np.intp), np.zeros((most, len(forms)))
        for column, form in enumerate(forms):
            for term, (name, factor) in enumerate(form.factors):
                parameters[term, column], factors[term, column] = number[name], factor
        return cls(np.array([form.constant for form in forms]), parameters, factors)

    def values(self, of_parameters: Values) -> Values:
        """Return the values of the columns, float64 [bindings, columns], out of those of the parameters."""
        found = np.repeat(self.constants[None], len(of_parameters), axis=0)
        for parameters, factors in zip(self.parameters, self.factors, strict=True):
            found += factors * of_parameters[:, parameters]
        return found


class NamedSweep(NamedTuple):
    """A sweep whose values may be replaced: the names of parameters, and its columns, or None if these are those."""

    sweep: ParameterSweep
    names: tuple[str, ...]
    columns: _LinearColumns | None

    @classmethod
    def of(
        cls, sweep: ParameterSweep, arrays: Sequence[Values], columns: ParameterColumns, formulas: Formulas
    ) -> NamedSweep | None:
        """Return a sweep with its names; None if one of its columns, `arrays`, is not linear in the parameters."""
        names = {id(column): name for name, column in columns.columns.items()}
        if len(names) < len(columns.columns):  # two parameters have the same array
            return None
        kept = replace(sweep, columns=None)
        named = tuple([names[id(array)] for array in arrays if id(array) in names])
        if len(named) == len(arrays):
            return cls(kept, named, None)
        forms = []
        for array in arrays:
            name = names.get(id(array))
            form = Linear(0.0, ((name, 1.0),)) if name is not None else _form(formulas, id(array))
            if form is None:
                return None
            forms.append(form)
        every = tuple(columns.columns)
        return cls(kept, every, _LinearColumns.of(forms, every))

    def with_values(self, columns: ParameterColumns) -> ParameterSweep | None:
        """Return the sweep with other values; None if one is not finite, for which a translation has the words."""
        values = columns.columns
        found = stacked(list(values.values()), columns.count)
        if not np.isfinite(found).all():
            return None
        if self.names != (*values,):
            found = stacked([values[name] for name in self.names], columns.count)
        if self.columns is not None:
            found = self.columns.values(found)
            if not np.isfinite(found).all():
                return None
        return ParameterSweep(self.sweep.template, columns.count, self.sweep.swept, found)


def _form(formulas: Formulas, array: int) -> Linear | None:
    """Return the expression of an array as a linear one; None if it is not, or if it is none."""
    if array not in formulas:
        return None
    try:
        return linear_form(formulas[array][1])
    except OverflowError:
        return None
