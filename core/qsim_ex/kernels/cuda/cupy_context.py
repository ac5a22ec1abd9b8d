"""The device and the stream in which CuPy works, and what stands for them in a child of `os.fork`."""

from __future__ import annotations

from typing import Any, NoReturn

from qsim_ex.kernels import fork


class Here:
    """A context that makes a device and a stream current; a class, since it is entered at every launch."""

    __slots__ = ("_device", "_stream")

    def __init__(self, device: Any, stream: Any) -> None:
        self._device = device
        self._stream = stream

    def __enter__(self) -> Any:
        self._device.__enter__()
        self._stream.__enter__()
        return self._stream

    def __exit__(self, *error: object) -> None:
        self._stream.__exit__(*error)
        self._device.__exit__(*error)


class Lost:
    """A replacement of CuPy, its device and the driver in a forked child."""

    def __getattr__(self, name: str) -> NoReturn:
        raise fork.cuda_lost()

    def __call__(self, *_: object) -> NoReturn:
        """Raise the error of a lost context."""
        raise fork.cuda_lost()
