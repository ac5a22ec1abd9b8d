"""Gradients for packages of algorithms: a module for each, which needs that package and is imported by its name.

`algorithms` is for qiskit-algorithms, `machine_learning` for qiskit-machine-learning.
"""
