"""Machine code is loaded through a stand-in for CuPy; kernels of the package that the driver refuses are compiled."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from types import SimpleNamespace

import pytest
from support.child_processes import in_fork

from qsim_ex.kernels.cuda import cupy_runtime
from qsim_ex.kernels.cuda.compile import compilation, shipped
from qsim_ex.kernels.cuda.cupy_runtime import CupyRuntime
from qsim_ex.kernels.cuda.runtime import KernelText
from tools.ship_kernels import write

NO_BINARY_FOR_GPU, OUT_OF_MEMORY = 209, 2


class CUDADriverError(RuntimeError):
    """CuPy's error, with the driver's number."""

    def __init__(self, status):
        super().__init__(f"error {status}")
        self.status = status


class Function(tuple):
    """A kernel's name and machine code, as CuPy's `Function`."""

    __slots__ = ()

    ptr = 1


class Driver:
    """A driver that refuses some machine code, and remembers what it was given."""

    def __init__(self):
        self.refuses = {}
        self.loaded = []

    def load(self, code):
        """Load, or fail with the error for this code."""
        self.loaded.append(code)
        if code in self.refuses:
            raise CUDADriverError(self.refuses[code])

    def module(self):
        """CuPy's `Module`."""
        held = []
        return SimpleNamespace(
            load=lambda code: (self.load(code), held.append(code)), get_function=lambda name: Function((name, *held))
        )


@pytest.fixture
def driver():
    """The driver of the GPU."""
    return Driver()


@pytest.fixture
def runtime(driver, tmp_path, monkeypatch):
    """A GPU of compute capability 9.0, for which kernels a and b came with the package."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    monkeypatch.setattr(shipped, "_refused", {})
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(tmp_path / "cache"))
    write(tmp_path / "sm_90.zip", {shipped.name(code, "90"): f"shipped {code}".encode() for code in "ab"})
    monkeypatch.setattr(compilation, "compiler", lambda: SimpleNamespace(getVersion=lambda: (12, 9)))
    monkeypatch.setattr(compilation, "translate", lambda code, _arch: (f"compiled {code}".encode(), ""))
    runtime = CupyRuntime.__new__(CupyRuntime)
    calls = {"CU_FUNC_ATTRIBUTE_NUM_REGS": 4, "funcGetAttribute": lambda attribute, function: 10 * attribute * function}
    cuda = SimpleNamespace(Module=driver.module, driver=SimpleNamespace(CUDADriverError=CUDADriverError, **calls))
    runtime._cupy = SimpleNamespace(cuda=cuda)
    runtime._device, runtime._stream = contextlib.nullcontext(), contextlib.nullcontext()
    runtime.arch, runtime._loaded, runtime._lock = "90", OrderedDict(), threading.Lock()
    return runtime


def test_what_came_with_the_package_is_loaded(runtime, driver):
    """Kernels of the package are loaded as they came, and others are compiled."""
    assert runtime.at_hand(KernelText("a", "f"))
    assert runtime.kernels([KernelText("a", "f"), KernelText("c", "g")]) == [("f", b"shipped a"), ("g", b"compiled c")]
    assert shipped.refused("90") is None
    assert driver.loaded == [b"shipped a", b"compiled c"]


def test_what_the_driver_refuses_is_compiled(runtime, driver):
    """Kernels that the driver refuses are compiled, and after the first refusal the others are too."""
    driver.refuses = {b"shipped a": NO_BINARY_FOR_GPU, b"shipped b": NO_BINARY_FOR_GPU}
    assert runtime.kernels([KernelText("a", "f")]) == [("f", b"compiled a")]
    assert shipped.refused("90") == "error 209"
    assert runtime.kernels([KernelText("b", "f")]) == [("f", b"compiled b")]
    assert driver.loaded == [b"shipped a", b"compiled a", b"compiled b"]


@pytest.mark.parametrize(
    ("code", "machine", "status"), [("a", b"shipped a", OUT_OF_MEMORY), ("c", b"compiled c", NO_BINARY_FOR_GPU)]
)
def test_other_failures_are_raised(runtime, driver, code, machine, status):
    """An error that is no refusal of the package's kernels is raised."""
    driver.refuses = {machine: status}
    with pytest.raises(CUDADriverError, match=str(status)):
        runtime.kernels([KernelText(code, "f")])
    assert shipped.refused("90") is None
    assert driver.loaded == [machine]


def test_a_refusal_of_what_was_compiled_instead_is_raised(runtime, driver):
    """A refusal of the kernel that was compiled instead is raised."""
    driver.refuses = {b"shipped a": NO_BINARY_FOR_GPU, b"compiled a": NO_BINARY_FOR_GPU}
    with pytest.raises(CUDADriverError):
        runtime.kernels([KernelText("a", "f")])
    assert driver.loaded == [b"shipped a", b"compiled a"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_forked_child_has_no_gpu(runtime, monkeypatch):
    """In a child of a process that has used CUDA every use of the GPU says that CUDA does not survive a fork."""
    monkeypatch.setattr(cupy_runtime, "_runtimes", {runtime})
    assert in_fork(runtime.memory).startswith("DeviceError: no GPU can be used here: this process was forked")
