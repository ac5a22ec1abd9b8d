"""The runtime's noise learner on the engine: it finds the rates of noise that was put into a simulation."""

from __future__ import annotations

from qiskit_ibm_runtime import executor_noise_learner

from qsim_ex_provider.runtime.primitives import Here


class NoiseLearnerV3(Here, executor_noise_learner.NoiseLearnerV3):
    """Learns the noise of layers; see `qiskit_ibm_runtime.executor_noise_learner.NoiseLearnerV3`."""
