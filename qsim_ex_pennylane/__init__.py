"""PennyLane on qsim-ex: the device ``qsim_ex.qubit``, with gradients by adjoint differentiation."""

import importlib.util

from qsim_ex.errors import MissingPackage

if importlib.util.find_spec("pennylane") is None:
    raise MissingPackage("qsim_ex_pennylane needs PennyLane. Run: pip install 'qsim-ex[pennylane]'")

from qsim_ex_pennylane.device import QsimExQubit

__all__ = ["QsimExQubit"]
