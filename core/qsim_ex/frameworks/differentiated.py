"""Gradients with respect to a framework's parameters: the chain rule from columns of a sweep to named parameters.

A translator asks for the values of formulas, and passes them on, added up and in other units. So a circuit is
translated once with probes in place of values: of each column they say which formulas it is the sum of, with which
factors. Afterwards no circuit is translated again: formulas are computed, and their derivatives, of which most are
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.derivatives import add_at
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.parameters.sweep import ParameterSweep, ParameterSweepBuilder, Values, real_values
from qsim_ex.errors import NotSupported, ParameterError
from qsim_ex.frameworks.parameter_columns import ParameterColumns, Sympify, formula_of, numpy_function
from qsim_ex.simulator import Simulator

if TYPE_CHECKING:
    from sympy import Expr

Formula = tuple[Hashable, Sympify | None]
"""A framework's expression and what makes a formula of SymPy of it; a parameter's name and None."""

_CHECK = 0.7320508
"""Of the last probe: any number that formulas are unlikely to have in common."""


@dataclass(frozen=True, eq=False)
class Probes(ParameterColumns):
    """Columns of probes for the formulas that a translator asks for, in the order in which it does.

    The probes are 0, 1, the formula's own number from 1 on, and any number; or, with `each`, 0, then 1 for one formula
    after the other and 0 for the others, and any number. formulas: those so far, with their probes.
    """

    probed: ClassVar[bool] = True

    columns: Mapping[str, Values] = field(default_factory=dict)
    count: int = 4
    each: bool = False
    formulas: dict[Formula, Values] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Values:
        return self._probe((name, None))

    def evaluate(self, expression: Hashable, sympify: Sympify) -> Values:
        """Return the probe of a formula; equal formulas have one."""
        return self._probe((expression, sympify))

    def checks(self) -> Values:
        """Return the last probe of each formula."""
        found: Values = np.cos(np.arange(1, len(self.formulas) + 1) * _CHECK)
        return found

    def _probe(self, formula: Formula) -> Values:
        if formula not in self.formulas:
            number, probe = len(self.formulas) + 1, np.zeros(self.count)
            if self.each:
                probe[number] = 1
            else:
                probe[1:3] = 1, number
            probe[-1] = np.cos(number * _CHECK)
            self.formulas[formula] = probe
        return self.formulas[formula]


class _FormulaParts(NamedTuple):
    """Columns as sums of formulas: number `factors[k]` times formula `formulas[k]` is a part of column `columns[k]`."""

    columns: NDArray[np.intp]
    formulas: NDArray[np.intp]
    factors: Values

    @classmethod
    def of(cls, probed: Values, probes: Probes) -> _FormulaParts | None:
        """Return what columns [probes, columns] are made of; None if they are not so."""
        terms = probed[0]
        if probes.each:
            found = (probed[1:-1] - terms).T
            columns, formulas = np.nonzero(found)
            parts = cls(columns, formulas, found[columns, formulas])
        else:
            factors = probed[1] - terms
            columns = np.flatnonzero(factors)
            numbers = np.rint((probed[2] - terms)[columns] / factors[columns]).astype(np.intp)
            if ((numbers < 1) | (numbers > len(probes.formulas))).any():
                return None
            parts = cls(columns, numbers - 1, factors[columns])
        return parts if np.allclose(parts.sums(probes.checks()[None], terms), probed[-1], rtol=0, atol=1e-9) else None

    def sums(self, formulas: Values, terms: Values) -> Values:
        """Return the sums for values of formulas, [rows, columns] for [rows, formulas]; terms: of each column."""
        found = np.tile(terms, (len(formulas), 1))
        if len(self.columns):
            add_at(found, self.columns, self.factors * formulas[:, self.formulas])
        return found


class NamedProducts(NamedTuple):
    """Values float64 [bindings, observables], and products of cotangents with their derivatives [bindings, names]."""

    values: Values
    products: Values


class NamedGradient(NamedTuple):
    """Values float64 [bindings, observables] and their derivatives [bindings, observables, names].

    errors: the standard errors of values that are means over trajectories; None where they are exact.
    """

    values: Values
    jacobian: Values
    errors: Values | None = None


@dataclass(frozen=True, eq=False, slots=True)
class DifferentiatedSweep:
    """A sweep whose columns are sums of formulas of named parameters, affine ones for the most part.

    parts, terms: of the columns. names: of all parameters. linear: [formulas, names], the derivatives of formulas that
    are affine; constants: float64 [formulas]. others: the formulas that are not, by their numbers.
    """

    sweep: ParameterSweep
    parts: _FormulaParts
    terms: Values
    names: tuple[str, ...]
    linear: Values
    constants: Values
    others: Mapping[int, _Formula]

    @classmethod
    def of(cls, translated: Callable[[Probes], ParameterSweepBuilder], names: Sequence[str]) -> DifferentiatedSweep:
        """Return the sweep of a circuit that `translated` translates with probes; raises `NotSupported`."""
        probes = Probes()
        builder = translated(probes)
        sweep, parts = _probed(builder, probes)
        if parts is None:  # a column is made of several formulas
            probes = Probes(count=len(probes.formulas) + 2, each=True)
            sweep, parts = _probed(translated(probes), probes)
        if parts is None:
            raise NotSupported(
                "gradient: expected gates whose parameters are sums of formulas, got one with a product of several; "
                "multiply them in the formula."
            )
        terms = np.zeros(0) if sweep.columns is None else sweep.columns[0]
        linear, constants = np.zeros((len(probes.formulas), len(names))), np.zeros(len(probes.formulas))
        others = {}
        for number, (expression, sympify) in enumerate(probes.formulas):
            if sympify is None:
                linear[number, names.index(str(expression))] = 1
                continue
            formula = _Formula.of(expression, sympify)
            slopes = formula.constant_slopes()
            if slopes is None:
                others[number] = formula
            else:
                linear[number, [names.index(name) for name in formula.names]] = slopes
                constants[number] = float(np.sum(formula.value(*[0.0] * len(slopes))))
        return cls(replace(sweep, count=0, columns=None), parts, terms, tuple(names), linear, constants, others)

    def with_values(self, values: Values) -> ParameterSweep:
        """Return the sweep with values of all parameters, float64 [bindings, names]."""
        if not self.sweep.swept:
            return replace(self.sweep, count=len(values))
        formulas = values @ self.linear.T + self.constants
        for number, other in self.others.items():
            with np.errstate(all="ignore"):  # what is not finite is refused below
                formulas[:, number] = real_values(other.value(*self._given(other, values)), len(values), other.formula)
        columns = self.parts.sums(formulas, self.terms)
        if not (finite := np.isfinite(columns).all(axis=1)).all():
            raise ParameterError(
                f"gradient: expected finite parameters of gates, got one that is not finite in binding "
                f"{np.flatnonzero(~finite)[0]}; check how it was computed."
            )
        return replace(self.sweep, count=len(values), columns=columns)

    def gradient(
        self,
        simulator: Simulator,
        values: Values,
        observables: Sequence[PauliSum],
        trajectories: int | None = None,
        seeds: int | Sequence[int] | None = None,
    ) -> NamedGradient:
        """Return values and derivatives with respect to all names; see `Simulator.gradient`."""
        found = simulator.gradient(self.with_values(values), observables, trajectories=trajectories, seeds=seeds)
        return NamedGradient(found.values, self._named(found.jacobian, values), found.errors)

    def vjp(
        self, simulator: Simulator, values: Values, observables: Sequence[PauliSum], cotangents: Values
    ) -> NamedProducts:
        """Return values, and products of cotangents [bindings, observables] with derivatives; see `Simulator.vjp`."""
        found = simulator.vjp(self.with_values(values), observables, cotangents)
        return NamedProducts(found.values, self._named(found.products[:, None], values)[:, 0])

    def _named(self, derivatives: Values, values: Values) -> Values:
        """Return derivatives [bindings, any, names] for those with respect to columns, [bindings, any, columns]."""
        by_formula = np.zeros((*derivatives.shape[:2], len(self.linear)))
        if len(self.parts.columns):
            add_at(by_formula, self.parts.formulas, self.parts.factors * derivatives[:, :, self.parts.columns])
        named: Values = by_formula @ self.linear
        for number, other in self.others.items():
            for name, slope in zip(other.names, other.slopes, strict=True):
                changes = slope(*self._given(other, values))
                named[:, :, self.names.index(name)] += by_formula[:, :, number] * np.reshape(changes, (-1, 1))
        return named

    def _given(self, formula: _Formula, values: Values) -> list[Values]:
        return [values[:, self.names.index(name)] for name in formula.names]


def _probed(builder: ParameterSweepBuilder, probes: Probes) -> tuple[ParameterSweep, _FormulaParts | None]:
    sweep = builder.sweep(probes.count)
    return sweep, _FormulaParts.of(np.zeros((probes.count, 0)) if sweep.columns is None else sweep.columns, probes)


@dataclass(frozen=True, eq=False, slots=True)
class _Formula:
    """A formula, its value as a function of arrays, and its derivatives with respect to each of its parameters."""

    formula: Expr
    names: tuple[str, ...]
    value: Callable[..., Values]
    slopes: tuple[Callable[..., Values], ...]
    derivatives: tuple[Expr, ...]

    @classmethod
    def of(cls, expression: Hashable, sympify: Sympify) -> _Formula:
        """Return a formula of a framework's expression; the loop of an optimiser asks for the same ones every time."""
        try:
            return _formula(expression, sympify)
        except OverflowError:  # of Qiskit's hash, see `ParameterColumns.evaluate`
            return _formula.__wrapped__(expression, sympify)

    def constant_slopes(self) -> list[float] | None:
        """Return the derivatives of an affine formula; None for another one."""
        if any(one.free_symbols for one in self.derivatives):
            return None
        return [float(one) for one in self.derivatives]


@lru_cache(maxsize=4096)
def _formula(expression: Hashable, sympify: Sympify) -> _Formula:
    import sympy  # see `formula_of`

    given, some = formula_of(expression, sympify)
    symbols = [sympy.Symbol(str(symbol), real=True) for symbol in some]  # of others |x| has no derivative
    formula = given.subs(dict(zip(some, symbols, strict=True)))
    derivatives = tuple(formula.diff(symbol) for symbol in symbols)
    if any(one.has(sympy.Derivative, sympy.DiracDelta) for one in derivatives):
        raise NotSupported(
            f"gradient: expected formulas with derivatives, got the parameter {given}; leave out functions that jump."
        )
    slopes = tuple(numpy_function(one, symbols) for one in derivatives)
    return _Formula(formula, tuple(map(str, symbols)), numpy_function(formula, symbols), slopes, derivatives)
