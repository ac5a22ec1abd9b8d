"""Every error that qsim-ex raises on purpose.

::

    QsimExError
    ├── InvalidInput (ValueError)        an argument of the caller that is not valid
    │   ├── CircuitError                 a wire, gate, parameter, measurement or shot count
    │   │   ├── WireError                out of range, given twice, not a qubit
    │   │   ├── ParameterError           unbound, not finite, wrong number
    │   │   ├── UnknownInstruction       no matrix and no definition, named with its place
    │   │   ├── MeasurementError         nothing is measured in a circuit with shots, or a key twice
    │   │   └── ShotsError               zero, negative or fractional shots
    │   ├── MatrixError                  not square, not a power of two, not unitary, not finite
    │   ├── NoiseError                   a channel that loses probability, or probabilities below 0
    │   ├── StateError                   not normalised, not finite, of the wrong size
    │   └── OptionError                  unknown option (the nearest one is named) or bad value
    ├── NotSupported (NotImplementedError)   a feature that this version does not have, named
    ├── LoopError (RuntimeError)         a loop that does not end within `max_loop_rounds`
    ├── OutOfMemory (MemoryError)        the sum is in the message
    ├── DeviceError (RuntimeError)       the requested device is not there, or failed
    ├── CommunicationError (RuntimeError)    another rank failed or ended, or ranks make different calls
    ├── SavedStateError (OSError)        a file of a state is damaged, of another kind, or not written
    ├── MissingPackage (ImportError)     with the command that installs it
    ├── StateVectorClosed (RuntimeError) a state vector that was used after it was closed
    ├── StateVectorBusy (RuntimeError)   two threads on one state vector
    ├── Cancelled (RuntimeError)         the job was cancelled before it ended
    └── PlanError (AssertionError)       a plan that breaks its own rules: a bug of qsim-ex
"""

from __future__ import annotations

from collections.abc import Iterable


class QsimExError(Exception):
    """Base of every error that qsim-ex raises on purpose."""


class InvalidInput(QsimExError, ValueError):
    """An argument of the caller that is not valid."""


class CircuitError(InvalidInput):
    """A circuit that is not valid."""


class WireError(CircuitError):
    """A wire that is out of range, given twice, or not a qubit."""


class ParameterError(CircuitError):
    """A gate parameter that is unbound or not finite, or a wrong number of parameters."""


class UnknownInstruction(CircuitError):
    """An instruction with neither a matrix nor a definition."""


class MeasurementError(CircuitError):
    """A measurement that is missing or that is not allowed."""


class ShotsError(CircuitError):
    """A number of shots that is not a positive whole number."""


class MatrixError(InvalidInput):
    """A matrix that is not square, not a power of two, not unitary, or not finite."""


class NoiseError(InvalidInput):
    """A channel whose Kraus matrices do not keep the trace, or numbers that are no probabilities."""


class StateError(InvalidInput):
    """A state that is not normalised, not finite, or of the wrong size."""


class OptionError(InvalidInput):
    """An option that does not exist or a value that it cannot take."""


class NotSupported(QsimExError, NotImplementedError):
    """A feature that this version does not have."""


class LoopError(QsimExError, RuntimeError):
    """A loop that does not end within the largest number of rounds."""


class OutOfMemory(MemoryError, QsimExError):  # in this order __new__ is MemoryError's, and Dask can copy it
    """More memory is needed than there is; the message holds the sum."""


class DeviceError(QsimExError, RuntimeError):
    """The requested device is not there, or it failed."""


class CommunicationError(QsimExError, RuntimeError):
    """Another rank has failed, which is the cause of this error, or has ended; or ranks call different operations."""


class SavedStateError(QsimExError, OSError):
    """A file of a saved state or a checkpoint that is damaged, is of another kind, or cannot be read or written."""


class MissingPackage(QsimExError, ImportError):
    """An optional package is missing; the message holds the command that installs it."""


class StateVectorClosed(QsimExError, RuntimeError):
    """The state vector was used after it was closed."""


class StateVectorBusy(QsimExError, RuntimeError):
    """Two threads used one state vector at the same time."""


class Cancelled(QsimExError, RuntimeError):
    """The work was cancelled before it ended."""


class PlanError(QsimExError, AssertionError):
    """A plan that breaks its own rules. This is a bug of qsim-ex, not of the caller."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the known name most like `name`, or an empty string."""
    import difflib  # few runs end in an error

    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {found[0]!r}?" if found else ""


_NAMED = 12
"""The most names that a message lists."""


def some_of(names: Iterable[str]) -> str:
    """Return names for a message: all of a few, and of many the first ones and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more


_OTHER_NAMES = {
    "dtype": "precision",
    "precision": "dtype",
    "seed_simulator": "seed",
    "seed": "seed_simulator",
    "noise": "noise_model",
    "noise_model": "noise",
    "repetitions": "shots",
    "num_threads": "threads",
    "max_parallel_threads": "threads",
    "gpu": "device",
}
"""Names of options in other simulators, and what they are called where the name itself is unknown."""


def unknown_option(name: str, known: Iterable[str], listed_by: str) -> str:
    """Return the message about an option that does not exist, with the nearest one; listed_by: what lists them all."""
    names = list(known)
    if _OTHER_NAMES.get(name) in names:
        advice = f" Did you mean {_OTHER_NAMES[name]!r}?"
    elif name in ("shots", "repetitions"):
        advice = f" Pass {name} to run."
    else:
        advice = nearest(name, names)
    return f"there is no option {name!r}.{advice or f' help({listed_by}) lists the options.'}"


_RUN_BY = {
    "qiskit": ("of Qiskit", "run it with qsim_ex_provider.QsimExBackend, SamplerV2 or EstimatorV2"),
    "cirq": ("of Cirq", "run it with qsim_ex_cirq.QsimExSimulator"),
    "qsim_ex": ("of qsim_ex", "run it with qsim_ex.Simulator"),
}
"""The packages of circuits: whose they are, and what runs them."""


def other_circuit(given: object, expected: str) -> CircuitError:
    """Return the error of an object that is not the circuit that was expected, with what runs it if it is another."""
    name, package = type(given).__name__, type(given).__module__.partition(".")[0]
    if isinstance(given, str):
        return CircuitError(
            f"expected {expected}, got text; read OpenQASM with QuantumCircuit.from_qasm_str or qiskit.qasm3.loads "
            "first, or run a file of it with the command qsim-ex run."
        )
    if name == "CircuitBuilder" and package == "qsim_ex":
        whose, advice = "", "run the circuit that its build() returns, with qsim_ex.Simulator"
    elif "Circuit" in name and package in _RUN_BY:
        whose, advice = _RUN_BY[package]
    elif isinstance(given, list | tuple):
        whose, advice = "", "pass one circuit, or the list to a method that takes one, such as run_batch"
    else:
        whose, advice = "", "pass a circuit"
    article = "an" if name[0] in "aeioAEIO" else "a"
    got = "None" if given is None else " ".join(filter(None, [article, name, whose]))
    return CircuitError(f"expected {expected}, got {got}; {advice}.")
