"""The provider, which makes backends."""

from __future__ import annotations

from typing import Any

from qiskit.providers import QiskitBackendNotFoundError

from qsim_ex.errors import nearest
from qsim_ex_provider.backend import QsimExBackend

NAMES = ("qsim_ex",)


class QsimExProvider:
    """Gives access to the backends of qsim-ex; `options` are the defaults of those that it makes."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    def backends(self, name: str | None = None) -> list[QsimExBackend]:
        """Return all backends, or those of one name."""
        return [QsimExBackend(self, known, **self._options) for known in NAMES if name in (None, known)]

    def get_backend(self, name: str = NAMES[0]) -> QsimExBackend:
        """Return one backend; raises `QiskitBackendNotFoundError` if there is none of that name."""
        found = self.backends(name)
        if not found:
            raise QiskitBackendNotFoundError(f"there is no backend {name!r}.{nearest(name, NAMES)} Known: {NAMES}.")
        return found[0]
