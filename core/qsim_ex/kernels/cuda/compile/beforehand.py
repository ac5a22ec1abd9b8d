"""Kernels that are compiled before anybody runs them, for GPUs that need not be here.

A kernel's text, and so its place in the cache, depends on the sweep, the precision, the room for arguments, and on
whether dense blocks run on tensor cores: nothing else of a GPU. A run that wants the kernel finds it there, by its
sweep (`kernel_index`) or by its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Event
from typing import NamedTuple

from qsim_ex.errors import Cancelled, DeviceError
from qsim_ex.kernels import cache_folder
from qsim_ex.kernels.cuda.compile import compilation
from qsim_ex.kernels.cuda.compile.kernel_index import KernelIndex
from qsim_ex.kernels.cuda.runtime import TENSOR
from qsim_ex.kernels.cuda.write.emit import ROOM, emit
from qsim_ex.precision import Precision
from qsim_ex.steps.compiled import key_of
from qsim_ex.steps.step import Step, Sweep


class KernelCount(NamedTuple):
    """The kernels of some texts: how many were there, and how many have been made."""

    found: int
    made: int


def multiplies(arch: str) -> bool:
    """Return whether GPUs of a compute capability such as '90' run dense blocks on tensor cores."""
    return arch in TENSOR


def texts(steps: Iterable[Step], precision: Precision, arch: str) -> list[str]:
    """Return the texts of the kernels of some steps' sweeps, each once, as a run of one state compiles them."""
    sweeps = [step for step in steps if isinstance(step, Sweep)]
    kernels = [emit(sweep, precision, ROOM, tensor=multiplies(arch)) for sweep in sweeps]
    return list(dict.fromkeys(kernel.code for kernel in kernels))


def keep_entries(steps: Iterable[Step], precision: Precision, arch: str) -> None:
    """Keep the entries by which a run finds the kernels of some steps' sweeps without writing their texts."""
    index = KernelIndex(arch, ROOM, multiplies(arch))
    for sweep in (step for step in steps if isinstance(step, Sweep)):
        kernel = emit(sweep, precision, ROOM, tensor=multiplies(arch))
        index.keep(key_of(sweep), precision, kernel, compilation.key(kernel.code, arch))


def compile_all(codes: Sequence[str], arch: str, step: Callable[[int, int], None], cancel: Event) -> KernelCount:
    """Compile texts that are not at hand, on all cores, and keep their machine code on disk.

    step: called with how many are done, and how many there are. cancel: what is under way is finished when it is set.
    Raises `DeviceError` if nothing can be kept or the compiler does not know the architecture, `MissingPackage` without
    it, `Cancelled`.
    """
    if cache_folder.made("kernels") is None:
        raise DeviceError(
            f"expected a folder for compiled kernels that can be written to, got {compilation.folder()}; set "
            "QSIM_EX_CACHE_DIR to a folder of your own."
        )
    missing = [code for code in codes if not compilation.at_hand(code, arch)]
    with ThreadPoolExecutor(compilation.cores(), thread_name_prefix="qsim-ex-beforehand") as pool:
        begun = [pool.submit(compilation.machine_code, code, arch) for code in missing]
        try:
            for done, each in enumerate(as_completed(begun), 1):
                each.result()
                step(done, len(missing))
                if cancel.is_set():
                    raise Cancelled(f"cancelled after {done} of {len(missing)} kernels, which are kept.")
        finally:
            pool.shutdown(cancel_futures=True)
    return KernelCount(len(codes) - len(missing), len(missing))
