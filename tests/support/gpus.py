"""Whether there is a GPU, for tests that need one."""

from __future__ import annotations

import importlib.util


def gpu_missing() -> str:
    """Return why no GPU can be used here, or an empty string."""
    if importlib.util.find_spec("cupy") is None:
        return "no GPU: CuPy is not installed"
    import cupy

    try:
        return "" if cupy.cuda.runtime.getDeviceCount() else "no GPU: the driver lists none"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no GPU: {error}"
