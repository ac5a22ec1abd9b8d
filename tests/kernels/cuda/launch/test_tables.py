"""Tables of phases made on the device by the emulated kernel are those made on the host."""

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.cuda.emulator import needs_compiler

from qsim_ex.kernels.cuda.interpret.packing import CONSTANTS
from qsim_ex.kernels.cuda.launch.tables import HostEntries, TableRecipe
from qsim_ex.planning.coefficients.binding import fill
from qsim_ex.steps import Coefficients, Fold


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("operands", "kernel"), [(10, "numbers_few"), (300, "numbers_some"), (1000, "numbers_many"), (2100, "numbers")]
)
def test_recipe(operands, kernel, real):
    """A number, a constant, or an entry of a table of few or many factors is what the host makes.

    There are kernels for few, some and many numbers by value, and one that reads them from memory.
    """
    needs_compiler()
    rng = np.random.default_rng(operands)
    given = np.concatenate([[0, 1], np.exp(1j * rng.uniform(-4, 4, operands)), [7]])
    program = []
    for tables, entries, factors in ((3, 2, 1), (2, 8, 5), (1, 64, 33), (2, 128, 64)):
        incidence = rng.integers(0, 2, (tables, entries, factors)).astype(np.float64)
        program.append(Fold(incidence, rng.integers(2, operands + 2, (tables, factors))))
    numbers = Coefficients(operands + 2, tuple(program), ())
    bound, size = fill(numbers, given), numbers.size()
    numbers_taken = rng.permutation(2 * operands) + 4
    take = np.concatenate([numbers_taken, rng.integers(0, 2 * size + 3, 700)])
    recipe = TableRecipe(take, numbers, real)
    runtime = EmulatedRuntime()
    made = recipe.make(runtime, bound.given.view(np.float64))
    wanted = np.concatenate([bound.buffer.view(np.float64), CONSTANTS])[take]
    assert (runtime.compiled[-1].name, made.dtype) == (kernel, real)
    assert made == pytest.approx(wanted, abs=1e-6 if real is np.float32 else 1e-13)


def test_few():
    """An entry that is made on the host alone is the one that is made with all others."""
    rng = np.random.default_rng(5)
    given = np.concatenate([[0, 1], np.exp(1j * rng.uniform(-4, 4, 30))])
    incidence = rng.integers(0, 2, (3, 8, 6)).astype(np.float64)
    incidence[0, 0] = 0
    program = (Fold(incidence, rng.integers(2, 32, (3, 6))), Fold(np.ones((1, 16, 2)), rng.integers(2, 32, (1, 2))))
    numbers = Coefficients(32, program, ())
    wanted = fill(numbers, given).buffer.copy()
    made = fill(numbers, given).given
    places = numbers.tables_at() + np.array([0, 1, 7, 8, 23, 24, 39])
    HostEntries(places, numbers).make(made)
    assert made[places] == pytest.approx(wanted[places], abs=1e-14)
