"""Qiskit's primitives: `SamplerV2` and `EstimatorV2`."""
