"""The benchmark of sweeps runs through on an emulated GPU, and its page says what was measured."""

from __future__ import annotations

import json
from time import perf_counter

import pytest
from support.cuda.emulated_runtime import EmulatedRuntime, Kernel
from support.cuda.emulator import library, wrapped

from benchmarks import sweeps
from qsim_ex.kernels.cuda.compile.compilation import KernelResources


class EmulatedBench:
    """Kernels by g++; times are those of this processor and mean nothing."""

    def __init__(self):
        self.runtime = EmulatedRuntime()

    def function(self, code, name):
        """Compile."""
        return Kernel(library(wrapped(code, name, "launch"), "-O0").launch), KernelResources(77, 0)

    def load(self, compiled, name):
        """Nothing is left to do."""
        assert name
        return compiled

    def seconds(self, launch, repeat):
        """One launch is enough."""
        assert repeat
        start = perf_counter()
        launch()
        return perf_counter() - start


@pytest.mark.parametrize(("family", "precision"), [("brick", "single"), ("qft", "double")])
def test_every_variant_is_measured(family, precision):
    """All variants of a family run, their bytes and multiply-adds are the plan's, and the page stays small."""
    options = ["--n", "10", "--blocks", "2", "--families", family, "--precision", precision, "--commit", "x"]
    text, document = sweeps.run(EmulatedBench(), sweeps.parser().parse_args(options))
    assert len(text) < 12_000
    assert {row["variant"] for row in document["rows"]} == set(sweeps.VARIANTS)
    base = [row for row in document["rows"] if row["variant"] == "base"]
    for name in ("stagger", "moves"):
        other = [row for row in document["rows"] if row["variant"] == name]
        assert [(r["number"], r["bytes"], r["fma"]) for r in sorted(other, key=lambda r: r["number"])] == [
            (r["number"], r["bytes"], r["fma"]) for r in sorted(base, key=lambda r: r["number"])
        ]
    assert all(row["seconds"] > 0 for row in document["rows"])
    assert "multiply-adds" in text
    json.dumps(document)


def test_what_there_is_no_time_for_is_named():
    """After the time is over, families that were not begun are listed."""
    options = ["--n", "8", "--blocks", "1", "--families", "ghz", "--variants", "base", "--seconds", "0"]
    text, document = sweeps.run(EmulatedBench(), sweeps.parser().parse_args(options))
    assert "time ran out: ghz" in text
    assert document["rows"] == []
