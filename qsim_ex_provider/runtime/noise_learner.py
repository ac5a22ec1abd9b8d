"""The runtime's noise learner on the engine: it finds the rates of noise that was put into a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import qiskit_ibm_runtime
from qiskit_ibm_runtime import executor_noise_learner

from qsim_ex_provider.runtime.sessions import given_mode, session_of

if TYPE_CHECKING:
    from qiskit_ibm_runtime.options_models import NoiseLearnerV3Options

    from qsim_ex_provider.runtime.primitives import Fields, Mode


class NoiseLearnerV3(executor_noise_learner.NoiseLearnerV3):
    """Learns the noise of layers; see `qiskit_ibm_runtime.executor_noise_learner.NoiseLearnerV3`.

    mode: as of `Executor`. options: as there.
    """

    def __init__(self, mode: Mode = None, options: NoiseLearnerV3Options | Fields | None = None) -> None:
        super().__init__(session_of(mode), options)

    @property
    def mode(self) -> qiskit_ibm_runtime.Session | None:
        """The session or batch of the noise learner, or None if it has a backend alone."""
        return given_mode(self._mode)
