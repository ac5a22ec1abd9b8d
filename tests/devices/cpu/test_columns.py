"""Steps on columns of a CPU device's buffers take some columns at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS
from qsim_ex.devices.cpu import columns
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.kernels.cpu import blocks
from qsim_ex.steps.step import DenseMatrix


@pytest.mark.parametrize(("columns_in_bytes", "at_once"), [(0, [1] * 8), (3, [3, 3, 2]), (99, [8])])
def test_a_product_takes_as_many_columns_as_its_workspace(
    columns_in_bytes: int, at_once: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A product has as many columns as `product_bytes` holds, one at least, and is that of all columns together."""
    counts: list[int] = []
    gather: Any = blocks.gather

    def counted(buffer: Any, rows: Any, bases: Any, threads: int) -> Any:
        counts.append(len(bases))
        return gather(buffer, rows, bases, threads)

    monkeypatch.setattr(columns.blocks, "gather", counted)
    rng = np.random.default_rng(6)
    matrix, psi = rng.normal(size=(4, 4)) + 0j, rng.normal(size=32) + 0j
    expected = np.einsum("acbd,xbydz->xaycz", matrix.reshape(2, 2, 2, 2), psi.reshape(2, 2, 2, 2, 2)).ravel()
    with thresholds.instead(product_bytes=columns_in_bytes * 4 * 16):
        CpuDevice(1).run(psi, 5, DenseMatrix((1, 3), (), ALWAYS), matrix.ravel())
    assert counts == at_once
    assert psi == pytest.approx(expected)
