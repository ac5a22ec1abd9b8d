"""Instructions that save values of the state in the middle or at the end of a Qiskit circuit, and one that sets it."""
