"""The threads of the native library: who shares work, for how long, and what a fork leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from support.held import Hold

from qsim_ex.circuit.ops import ALWAYS, pattern
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.kernels.cpu import pool
from qsim_ex.native.thresholds import Native
from qsim_ex.steps import Mix, RegisterBlock, Slot, Sweep

NUM_BITS = 18
TURN = np.array([0.6, 0.8, 0.8, -0.6], dtype=np.complex128)


def reflections(times: int) -> Sweep:
    """Return reflections of bit 6, one after the other."""
    items = tuple(Mix((6,), (), ALWAYS, pattern("rrrr"), Slot(0, 4)) for _ in range(times))
    return Sweep(tuple(range(10)), (RegisterBlock((6,), items),), 4, 0)


def turned(state: np.ndarray, threads: int = 3) -> np.ndarray:
    """Apply a reflection to bit 6 of a state, in place, and return the state."""
    CpuDevice(threads).run(state, NUM_BITS, reflections(1), TURN)
    return state


def state(seed: int = 0) -> np.ndarray:
    """Return random amplitudes."""
    return np.random.default_rng(seed).normal(size=2 << NUM_BITS).view(np.complex128)


def test_two_python_threads_share_work_at_once() -> None:
    """Calls from several Python threads do not disturb each other."""
    wanted = [turned(state(k), threads=1) for k in range(6)]
    found: dict[int, np.ndarray] = {}

    def work(k: int) -> None:
        for _ in range(20):
            found[k] = turned(state(k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(6):
        np.testing.assert_array_equal(found[k], wanted[k])


def test_a_call_that_runs_out_of_time_goes_on(hold: Hold) -> None:
    """Work that is cut into slices of a microsecond is the same work."""
    wanted, zeros = turned(state()), np.zeros(1 << NUM_BITS, np.complex128)
    hold(slice_microseconds=1)
    for threads in (1, 3):
        np.testing.assert_array_equal(turned(state(), threads=threads), wanted)
        copied = np.empty_like(wanted)
        pool.copy(copied, wanted, threads)
        np.testing.assert_array_equal(copied, wanted)
        pool.clear(copied, threads)
        np.testing.assert_array_equal(copied, zeros)


def test_copies_of_any_arrays() -> None:
    """Arrays of other strides and dtypes are copied as NumPy copies them."""
    source, target = state(), np.zeros(1 << NUM_BITS, np.complex64)
    pool.copy(target, source, 2)
    np.testing.assert_array_equal(target, source.astype(np.complex64))
    pool.copy(source[::2], target[::2].astype(np.complex128), 2)
    np.testing.assert_array_equal(source[::2], target[::2])


@pytest.mark.parametrize("rows", [1, 3, 1 << 12])
@pytest.mark.parametrize("slice_", [1, Native().slice_microseconds])
def test_copies_of_rows(hold: Hold, rows: int, slice_: int) -> None:
    """Rows of a larger array are copied between other rows, whatever their length, and nothing beside them."""
    hold(slice_microseconds=slice_)
    width = (1 << NUM_BITS) // rows // 4
    source = state()[: rows * width * 3].reshape(rows, -1)[:, width : 2 * width]
    target = np.zeros((rows, 2 * width), np.complex128)
    for threads in (1, 3):
        target[...] = 0
        pool.copy(target[:, :width], source, threads)
        np.testing.assert_array_equal(target[:, :width], source)
        assert not target[:, width:].any()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_forked_child_shares_work() -> None:
    """A child, which has none of its parent's threads, starts its own, and so does its child."""
    wanted = turned(state())
    child = os.fork()
    if child == 0:
        same = np.array_equal(turned(state()), wanted)
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(not np.array_equal(turned(state()), wanted))
        os._exit(not same or os.waitpid(grandchild, 0)[1] != 0)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(turned(state()), wanted)


FORKED = """
import os
import numpy as np
from qsim_ex.native.library import function

source, target = np.ones(1 << 19), np.empty(1 << 19)
call = target.ctypes.data, source.ctypes.data, source.nbytes, 0, 2, 0  # by two threads, without a limit of time
function("copy")(*call)
child = os.fork()
if child == 0:
    function("copy")(*call)
    os._exit(len(os.listdir("/proc/self/task")))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="a system that does not list threads")
def test_a_child_starts_threads_although_work_was_shared_once() -> None:
    """A child that is forked after a single shared call begins a thread of its own for the next one."""
    subprocess.run([sys.executable, "-c", FORKED], check=True)


def test_ctrl_c_ends_a_long_sweep() -> None:
    """Ctrl-C is raised within the time of a slice, not at the end of the sweep, and work is shared afterwards."""
    wanted = turned(state())
    device, large = CpuDevice(2), np.zeros(1 << 22, np.complex128)
    sweep = reflections(4000)  # seconds of work
    prepared = device.prepare([sweep], 22, np.complex128)
    pressed = []

    def press() -> None:
        time.sleep(0.2)
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        device.run(large, 22, sweep, TURN, prepared)
    assert time.perf_counter() - pressed[0] < 1
    thread.join()
    np.testing.assert_array_equal(turned(state()), wanted)
