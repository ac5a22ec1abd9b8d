"""Refuses to be handed on to Aer by qiskit-ibm-runtime's own executor, and says what to write instead.

That executor copies any backend into a simulator of Aer's, and no method of the backend is called on the way that could
take over. So a property that the copy begins with looks who asks.
"""

from __future__ import annotations

import sys

from qsim_ex.errors import NotSupported


def refuse_to_be_copied() -> None:
    """Raise `NotSupported` if the local executor of qiskit-ibm-runtime is among the callers."""
    if "qiskit_ibm_runtime" not in sys.modules:
        return
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("qiskit_ibm_runtime.") and frame.f_code.co_name == "run_quantum_program":
            session = ", or give the runtime's classes mode=qsim_ex_provider.runtime.Session(backend)"
            without = ".executor_local_mode." in module  # version 0.49 asks no session
            raise NotSupported(
                "qiskit-ibm-runtime's own executor would copy this backend into a simulator of Aer's. Write `from "
                "qsim_ex_provider.runtime import Executor, Sampler, Estimator` in place of the runtime's"
                f"{'' if without else session}."
            )
