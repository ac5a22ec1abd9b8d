"""qsim-ex for Cirq: `QsimExSimulator` takes the place of ``cirq.Simulator``.

>>> import cirq
>>> from qsim_ex_cirq import QsimExSimulator
>>> a, b = cirq.LineQubit.range(2)
>>> bell = cirq.Circuit(cirq.H(a), cirq.CNOT(a, b))
>>> QsimExSimulator().simulate(bell).dirac_notation()
'0.71|00⟩ + 0.71|11⟩'
"""

import importlib
from typing import TYPE_CHECKING, Any

import qsim_ex
from qsim_ex import uninterrupted
from qsim_ex.errors import MissingPackage, nearest

with uninterrupted():
    try:
        import cirq as _cirq  # noqa: F401  (looked for here, so that the message about a missing package says what to type)
    except ImportError as error:
        raise MissingPackage("qsim_ex_cirq needs Cirq. Install it with: pip install 'qsim-ex[cirq]'") from error

    from qsim_ex_cirq.results import QsimExTrialResult
    from qsim_ex_cirq.runner import Estimates
    from qsim_ex_cirq.simulator import QsimExSimulator
    from qsim_ex_cirq.translation.circuits import translate
    from qsim_ex_cirq.translation.measurements import Measurement
    from qsim_ex_cirq.translation.translation import Translation

__all__ = [
    "Estimates",
    "Measurement",
    "QsimExDensityMatrixSimulator",
    "QsimExSimulator",
    "QsimExTrialResult",
    "Translation",
    "ValuesAndGradients",
    "differentiated",
    "translate",
]


if TYPE_CHECKING:
    from qsim_ex_cirq.density_matrix import QsimExDensityMatrixSimulator
    from qsim_ex_cirq.gradients import ValuesAndGradients, differentiated

_LATER = {
    "QsimExDensityMatrixSimulator": "qsim_ex_cirq.density_matrix",
    "ValuesAndGradients": "qsim_ex_cirq.gradients",
    "differentiated": "qsim_ex_cirq.gradients",
}
"""Names that are loaded when they are first used, and where they are."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return qsim_ex.__version__
    if name in _LATER:
        with uninterrupted():
            return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'qsim_ex_cirq' has no attribute {name!r}.{nearest(name, __all__)}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
