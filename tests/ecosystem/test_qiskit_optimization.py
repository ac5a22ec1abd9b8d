"""qiskit-optimization: QAOA and its relatives solve small problems of which every solution can be tried."""

from __future__ import annotations

from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from qiskit_optimization import QuadraticProgram
from qiskit_optimization.algorithms import GroverOptimizer, MinimumEigenOptimizer
from qiskit_optimization.applications import Maxcut
from qiskit_optimization.minimum_eigensolvers import QAOA
from qiskit_optimization.optimizers import COBYLA
from qiskit_optimization.utils import algorithm_globals

SEED = 7


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seed the package's own random numbers."""
    algorithm_globals.random_seed = SEED


def weighted_graph(nodes: int) -> nx.Graph:
    """Return a graph with a weight on every edge."""
    rng = np.random.default_rng(SEED)
    graph = nx.gnp_random_graph(nodes, 0.6, seed=SEED)
    for a, b in graph.edges:
        graph[a][b]["weight"] = float(rng.integers(1, 6))
    return graph


def test_qaoa_finds_the_maximum_cut(simulators: Any) -> None:
    """The cut that QAOA finds is the heaviest of all cuts of a graph of six nodes."""
    application = Maxcut(weighted_graph(6))
    program = application.to_quadratic_program()
    qaoa = QAOA(simulators.sampler(seed=SEED), COBYLA(maxiter=50), reps=2, initial_point=[0.1] * 4)
    found = MinimumEigenOptimizer(qaoa).solve(program)
    assert found.fval == max(program.objective.evaluate(list(cut)) for cut in product([0, 1], repeat=6))


def test_a_knapsack_with_its_constraint(simulators: Any) -> None:
    """What is packed is worth the most that fits."""
    values, weights, limit = np.array([5, 4, 3]), np.array([4, 3, 2]), 5
    program = QuadraticProgram()
    for item in range(3):
        program.binary_var(f"x{item}")
    program.maximize(linear=values)
    program.linear_constraint(weights, "<=", limit)
    qaoa = QAOA(simulators.sampler(seed=SEED), COBYLA(maxiter=80), reps=3, initial_point=[0.1] * 6)
    found = MinimumEigenOptimizer(qaoa).solve(program)
    fitting = [bag for bag in product([0, 1], repeat=3) if weights @ bag <= limit]
    assert found.fval == max(values @ bag for bag in fitting)


def test_grover_search_finds_the_minimum(simulators: Any) -> None:
    """Grover's adaptive search finds the least value of a quadratic function of three bits."""
    program = QuadraticProgram()
    for bit in range(3):
        program.binary_var(f"x{bit}")
    program.minimize(linear=[-1, 2, -3], quadratic={("x0", "x2"): 1, ("x0", "x1"): -2})
    found = GroverOptimizer(5, num_iterations=6, sampler=simulators.sampler(seed=SEED)).solve(program)
    assert found.fval == min(program.objective.evaluate(list(bits)) for bits in product([0, 1], repeat=3))
