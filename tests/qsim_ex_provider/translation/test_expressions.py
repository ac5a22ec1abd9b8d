"""Expressions of parameters have the values that arithmetic gives them, and need SymPy only where nothing else does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qiskit.circuit import Parameter, ParameterExpression, QuantumCircuit

from qsim_ex.errors import ParameterError
from qsim_ex.frameworks import ParameterColumns
from qsim_ex_provider import SamplerV2
from qsim_ex_provider.translation import expressions

A, B = Parameter("a"), Parameter("b")
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda a, b: 2 * a - 0.3 * b + 1,
    "one factor": lambda a, b: -0.5 * a + 0 * b,
    "cancelled": lambda a, b: a - a - 4 + 0 * b,
    "product": lambda a, b: a * b + 1,
    "quotient": lambda a, b: a / (b + 7),
    "absolute": lambda a, b: abs(a) + b,
    "sign": lambda a, b: (a - b).sign() if isinstance(a, ParameterExpression) else np.sign(a - b),
    "power": lambda a, b: a**2 - b,
}


@pytest.mark.parametrize("count", [1, 3, expressions._FEW, expressions._FEW + 1, 100])
@pytest.mark.parametrize("name", FORMULAS)
def test_an_expression_has_its_values(name: str, count: int) -> None:
    """In few and in many bindings the values are those of the same formula on arrays."""
    a, b = np.random.default_rng(5).normal(size=(2, count))
    found = expressions.values_of(FORMULAS[name](A, B), ParameterColumns({"a": a, "b": b}, count))
    np.testing.assert_allclose(found, FORMULAS[name](a, b), rtol=1e-15, atol=1e-15)
    assert found.shape == (count,)


@pytest.mark.parametrize("count", [1, 100])
def test_a_value_that_is_not_real_is_refused(count: int) -> None:
    """The square root of a negative number is an error in few and in many bindings."""
    with pytest.raises(ParameterError, match="not real"):
        expressions.values_of(A * B + 1j * B, ParameterColumns({"a": -np.ones(count), "b": np.ones(count)}, count))


@pytest.mark.parametrize("count", [1, 100])
def test_a_division_by_zero_is_refused_by_name(count: int) -> None:
    """A value that is not finite is left to the builder, whose error names the gate."""
    circuit = QuantumCircuit(1)
    circuit.rx(A / B, 0)
    circuit.measure_all()
    with pytest.raises(ParameterError, match="'rx': expected finite parameters"):
        SamplerV2(device="cpu").run([(circuit, [[1.0, 0.0]] * count)]).result()


RUN = """
import sys
from qiskit.circuit import Parameter, QuantumCircuit
from qiskit.circuit.library import PauliEvolutionGate
from qiskit.quantum_info import SparsePauliOp
from qsim_ex_provider import SamplerV2
t = Parameter("t")
circuit = QuantumCircuit(3)
circuit.append(PauliEvolutionGate(SparsePauliOp(["ZZI", "IXX"], [0.5, 0.25]), time=2 * t), range(3))
circuit.measure_all()
for count in (1, 40):
    SamplerV2(device="cpu").run([(circuit, [[0.1]] * count)]).result()
sys.exit("sympy" in sys.modules)
"""


def test_a_parametrised_evolution_loads_no_sympy() -> None:
    """A process that samples one, in few bindings and in many, has not imported SymPy at its end."""
    assert subprocess.run([sys.executable, "-c", RUN], check=False).returncode == 0
