"""`bind` against what `steps` says of each instruction of a coefficient program, entry by entry."""

import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim_ex.circuit import rotations
from qsim_ex.planning.coefficients import binding
from qsim_ex.planning.coefficients.binding import fill, fill_batch
from qsim_ex.steps import Coefficients, Euler, Fold, Product


def run(program, operands):
    """The coefficient buffer after a program."""
    operands = np.array([0, 1, *operands], dtype=np.complex128)
    bound = fill(Coefficients(len(operands), tuple(program), ()), np.append(operands, 7))
    return bound.buffer, len(operands)


def test_products():
    """Products of matrices, square or not, are NumPy's, also where entries are known to be zero."""
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=40) + 1j * rng.normal(size=40)
    program, wanted = [], [0, 1, *numbers]
    for *shape, columns in ((3, 1, 2, 2, 2), (2, 2, 4, 4, 4), (1, 1, 1, 1, 1), (2, 2, 4, 4, 32), (2, 4, 1, 1, 9)):
        left = rng.integers(0, len(wanted), shape)
        right = rng.integers(0, len(wanted), (*shape[:-1], columns))
        left[rng.random(shape) < 0.6] = 0  # where the constant 0 stands
        program.append(Product(left, right))
        values = np.array(wanted)
        wanted += (values[left] @ values[right]).reshape(-1).tolist()
    buffer, _ = run(program, numbers)
    assert buffer == pytest.approx(np.array(wanted), rel=1e-13)


def test_euler_angles():
    """The seven numbers make the matrix again, also where entries are zero, tiny or one."""
    rng = np.random.default_rng(2)
    matrices = [np.linalg.qr(rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2)))[0] for _ in range(5)]
    tiny = 1e-17
    matrices += [np.eye(2), np.array([[0, 1j], [1, 0]]), np.array([[1, -tiny * 1j], [tiny, 1j]])]
    numbers = np.array(matrices).reshape(-1)
    places = 2 + np.arange(numbers.size).reshape(-1, 4)
    buffer, size = run([Euler(places)], numbers)
    for matrix, made in zip(matrices, buffer[size:].reshape(-1, 7), strict=True):
        rotation = made[:4].reshape(2, 2)
        assert np.abs(rotation.imag).max() == 0
        again = made[6] * np.diag([1, made[4]]) @ rotation @ np.diag([1, made[5]])
        assert again == pytest.approx(matrix, abs=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-17, 1e-9, 0.3, np.pi / 4, 1.3, np.pi / 2, 3.0, np.pi])
def test_imaginary_euler_angles(angle):
    """With an imaginary rotation they make e^{iγ} · R · diag(1, e^{iβ}) again, also where R has a 0 or tiny entry."""
    rng = np.random.default_rng(4)
    c, s = np.cos(angle), 1j * np.sin(angle)
    phases = np.exp(1j * rng.uniform(-4, 4, (12, 2)))
    phases[:4, 1] = 1
    matrices = np.array([gamma * np.array([[c, s], [s, c]]) * [1, beta] for gamma, beta in phases])
    places = 2 + np.arange(matrices.size).reshape(-1, 4)
    buffer, size = run([Euler(places, imaginary=True)], matrices.reshape(-1))
    for matrix, made in zip(matrices, buffer[size:].reshape(-1, 7), strict=True):
        rotation = made[:4].reshape(2, 2)
        assert np.abs(rotation.diagonal().imag).max() == np.abs(rotation[[0, 1], [1, 0]].real).max() == 0
        assert made[4] == 1
        assert made[6] * rotation @ np.diag([1, made[5]]) == pytest.approx(matrix, abs=1e-15)


@pytest.mark.parametrize("size", [1.0, 1 + 3e-8])
def test_tables(size):
    """Tables, small and large, are the products of their phases, also where a phase's size is not 1."""
    rng = np.random.default_rng(3)
    phases = size * np.exp(1j * rng.uniform(-4, 4, 30))
    program, wanted = [], []
    for tables, entries, factors in ((3, 2, 1), (2, 8, 5), (1, 64, 3), (2, 1024, 9), (1, 8192, 20)):
        incidence = rng.integers(0, 2, (tables, entries, factors)).astype(np.float64)
        incidence[:, 0] = 0
        places = rng.integers(2, 32, (tables, factors))
        program.append(Fold(incidence, places))
        chosen = np.where(incidence == 1, phases[places - 2][:, None, :], 1)
        wanted.append(chosen.prod(axis=2).reshape(-1))
    buffer, start = run(program, phases)
    assert np.abs(buffer[start:] - np.concatenate(wanted)).max() < 2e-14


@st.composite
def programs(draw):
    """A program of every kind of instruction, and how many numbers it begins with; matrices stand from 2 on."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    end = 2 + 4 * 12
    places = lambda *shape: rng.integers(2, end, shape)  # noqa: E731
    unitary = 2 + 4 * rng.integers(0, 6, (draw(st.integers(1, 5)), 1)) + np.arange(4)
    products = [
        Product(places(3, 1, 2, 2), places(3, 1, 2, 2)),
        Product(places(2, 2, 4, 4), places(2, 2, 4, 4)),
        Product(places(1, 1, 2, 2), places(1, 1, 2, 9)),
        Euler(unitary),
        Euler(unitary, imaginary=True),
    ]
    folds = [
        Fold(rng.integers(0, 2, (tables, entries, factors)).astype(np.float64), places(tables, factors))
        for tables, entries, factors in ((3, 2, 1), (2, 8, 12), (2, 64, 3), (1, 1024, 9), (1, 5000, 20))[
            : draw(st.integers(0, 5))
        ]
    ]
    chosen = draw(st.lists(st.sampled_from(products), max_size=5, unique_by=id))
    program = Coefficients(end, (*chosen, *folds), ())
    packed = tuple(rng.integers(0, program.size(), draw(st.integers(0, 40))) for _ in range(3))
    return Coefficients(end, (*chosen, *folds), packed)


@settings(max_examples=60, deadline=None)
@given(numbers=programs(), rows=st.sampled_from([1, 2, 3, 40]), data=st.data())
def test_rows(numbers, rows, data):
    """A row of a batch is what the program makes of its operands alone."""
    rng = np.random.default_rng(rows)
    operands = np.zeros((rows, numbers.num_operands + 3), dtype=np.complex128)
    for row in operands:
        unitaries = [np.linalg.qr(rng.normal(size=(2, 2, 2)) @ [1, 1j])[0] for _ in range(6)]
        phases = np.exp(1j * rng.uniform(-4, 4, 24)) * data.draw(st.sampled_from([1, 1 + 3e-8]))
        row[: numbers.num_operands] = [0, 1, *np.ravel(unitaries), *phases]
    batch = fill_batch(numbers, operands)
    given_rows = batch.given[:, : numbers.tables_at()].copy()
    packed = list(batch)
    assert [part.shape for part in packed] == [(rows, len(places)) for places in numbers.packed]
    for row in range(rows):
        alone = fill(numbers, operands[row])
        size = max(1, np.abs(alone.buffer).max())
        assert np.abs(given_rows[row] - alone.given[: numbers.tables_at()]).max() <= 1e-15 * size
        for part, own in zip(packed, alone, strict=True):
            assert np.abs(part[row] - own).max(initial=0) <= 1e-15 * size
    assert np.array_equal(fill_batch(numbers, operands[-1:]).buffer[0], batch.buffer[-1])


def test_roots_live_as_long_as_their_address(monkeypatch):
    """Roots of unity of which native code has the address are kept, also where `roots` makes others for each thread."""
    made = []

    def roots():
        one = rotations.roots.__wrapped__()
        made.append(weakref.ref(one))
        return one

    monkeypatch.setattr(binding, "roots", roots)
    binding._roots.cache_clear()
    run([Product(np.array([[[[2]]]]), np.array([[[[3]]]]))], [0.5, 0.5])
    (kept,) = made
    assert kept() is not None
    binding._roots.cache_clear()  # what comes next has its own
