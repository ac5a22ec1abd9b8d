"""The provider, which makes backends."""

from __future__ import annotations

from typing import Unpack

from qiskit.providers import QiskitBackendNotFoundError

from qsim_ex.errors import nearest
from qsim_ex.frameworks import shown, with_options
from qsim_ex.options import Options
from qsim_ex_provider import options as run_options
from qsim_ex_provider.backend import QsimExBackend
from qsim_ex_provider.keywords import RunKeywords

NAMES = ("qsim_ex",)


@with_options(run_options.RunOptions, Options, but=("engine", "seed"))
class QsimExProvider:
    """Gives access to the backends of qsim-ex; `options` are the defaults of those that it makes."""

    def __init__(self, **options: Unpack[RunKeywords]) -> None:
        self._options = options

    def __repr__(self) -> str:
        defaults: dict[str, object] = run_options.defaults()
        return shown("QsimExProvider", **{name: (value, defaults.get(name)) for name, value in self._options.items()})

    def backends(self, name: str | None = None) -> list[QsimExBackend]:
        """Return all backends, or those of one name."""
        return [QsimExBackend(self, known, **self._options) for known in NAMES if name in (None, known)]

    def get_backend(self, name: str = NAMES[0]) -> QsimExBackend:
        """Return one backend; raises `QiskitBackendNotFoundError` if there is none of that name."""
        found = self.backends(name)
        if not found:
            raise QiskitBackendNotFoundError(f"there is no backend {name!r}.{nearest(name, NAMES)} Known: {NAMES}.")
        return found[0]
