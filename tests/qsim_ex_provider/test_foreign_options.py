"""Options of other backends: renamed, accepted where they change nothing, and refused with what to use instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.providers.basic_provider import BasicSimulator
from qiskit.result.models import MeasLevel

from qsim_ex.errors import OptionError, OutOfMemory
from qsim_ex_provider import QsimExBackend, QsimExProvider
from qsim_ex_provider.foreign_options import ACCEPTED, NAMES, OF_TRANSPILE
from qsim_ex_provider.options import KNOWN


def circuit() -> QuantumCircuit:
    """Five random bits."""
    made = QuantumCircuit(5)
    made.h(range(5))
    made.measure_all()
    return made


def by_run(**options: Any) -> Any:
    """Run with options of the run."""
    return QsimExBackend(device="cpu").run(circuit(), **{"seed_simulator": 3, **options}).result()


def by_constructor(**options: Any) -> Any:
    """Run on a backend that was made with the options."""
    return QsimExBackend(device="cpu", **{"seed_simulator": 3, **options}).run(circuit()).result()


def by_setting(**options: Any) -> Any:
    """Run on a backend that was given the options later."""
    backend = QsimExBackend(device="cpu")
    backend.set_options(**{"seed_simulator": 3, **options})
    return backend.run(circuit()).result()


def by_provider(**options: Any) -> Any:
    """Run on the backend of a provider that was given the options."""
    return QsimExProvider(device="cpu", **{"seed_simulator": 3, **options}).get_backend().run(circuit()).result()


WAYS = (by_run, by_constructor, by_setting, by_provider)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ACCEPTED)
def test_an_accepted_option_changes_nothing(name: str, way: Callable[..., Any]) -> None:
    """An option with a value that means what happens here is taken in every way, and the shots stay the same."""
    values = ACCEPTED[name].values or (None, 1, "anything")
    for value in values:
        assert way(**{name: value}).get_counts() == way().get_counts()


REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "meas_level": ((0, 1, MeasLevel.KERNELED), "meas_level=2"),
    "init_qubits": ((False,), "initialize"),
    "initial_statevector": (([0, 1], np.array([0, 1])), "initialize"),
    "basis_gates": ((["cx"],), "transpile"),
    "coupling_map": (([[0, 1]],), "from_backend"),
    **dict.fromkeys(OF_TRANSPILE, ((1,), "transpile")),
}
"""Values that mean something else elsewhere, and what the error says."""


def test_every_option_with_a_condition_is_tried() -> None:
    """Each option that is accepted with some values alone has others in the table of refused ones."""
    assert set(REFUSED) == {name for name, option in ACCEPTED.items() if option.values is not None}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", REFUSED)
def test_another_meaning_is_refused(name: str, way: Callable[..., Any]) -> None:
    """A value with another meaning is an error that says what to use instead."""
    values, words = REFUSED[name]
    for value in values:
        with pytest.raises(OptionError, match=words):
            way(**{name: value})


def test_levels_of_measurement_are_taken_as_qiskit_writes_them() -> None:
    """The enumerations of Qiskit mean the same as their numbers."""
    assert by_run(meas_level=MeasLevel.CLASSIFIED).get_counts() == by_run().get_counts()


def test_renamed_options_have_their_effect() -> None:
    """Aer's names of memory, threads, seed and GPUs reach the options here; 0 leaves a number to the machine."""
    backend = QsimExBackend(max_memory_mb=1, max_parallel_threads=1, seed=5, target_gpus=[])
    options = backend.options
    assert (options.max_memory, options.threads, options.seed_simulator, options.devices) == (1 << 20, 1, 5, None)
    backend.set_options(max_memory_mb=0, max_parallel_threads=0, target_gpus=[0, 1])
    assert (options.max_memory, options.threads, options.devices) == (None, None, [0, 1])
    wide = QuantumCircuit(17)
    wide.h(0)
    wide.cx(range(16), range(1, 17))
    wide.measure_all()
    with pytest.raises(OutOfMemory, match="max_memory"):
        QsimExBackend(device="cpu").run(wide, max_memory_mb=1).result()
    assert QsimExBackend(max_memory_mb=0.5).options.max_memory == 1 << 19


def test_one_option_under_two_names_is_refused() -> None:
    """Two names of one option are an error, even with one value."""
    with pytest.raises(OptionError, match="seed_simulator"):
        by_run(seed=3)
    with pytest.raises(OptionError, match="threads"):
        by_constructor(threads=1, max_parallel_threads=1)


def test_every_option_of_aer_is_decided() -> None:
    """Each option of Aer's simulator is known here: by the same name, another one, or as one without effect."""
    aer = pytest.importorskip("qiskit_aer")
    assert {name for name, _ in aer.AerSimulator().options.items()} <= {*KNOWN, *NAMES}


def test_every_option_of_the_basic_simulator_is_decided() -> None:
    """Each option of Qiskit's own simulator is known here."""
    assert {name for name, _ in BasicSimulator().options.items()} <= {*KNOWN, *NAMES}


def test_available_devices_and_methods() -> None:
    """What is listed can be asked for, and a GPU is listed only where there is one."""
    backend = QsimExBackend()
    for device in backend.available_devices():
        assert backend.run(circuit(), device=device).result().success
    if "GPU" not in backend.available_devices():
        with pytest.raises(Exception, match="GPU"):
            backend.run(circuit(), device="GPU").result()
    clifford = QuantumCircuit(2)
    clifford.h(0)
    clifford.cx(0, 1)
    clifford.measure_all()
    for method in backend.available_methods():
        assert backend.run(clifford, method=method).result().success
    for method in ("extended_stabilizer", "matrix_product_state", "unitary", "tensor_network"):
        with pytest.raises(OptionError, match="'automatic', 'statevector', 'density_matrix', 'stabilizer'"):
            backend.run(circuit(), method=method)


@pytest.mark.parametrize(
    ("method", "instead"),
    [("unitary", r"save_unitary\(circuit\)"), ("superop", "save_density_matrix"), ("extended_stabilizer", "Aer")],
)
def test_another_method_of_aer_is_refused_with_what_to_do(method: str, instead: str) -> None:
    """A method that Aer alone has is refused with the way to what it is asked for, if there is one."""
    with pytest.raises(OptionError, match=f"got '{method}'; .*{instead}"):
        QsimExBackend(method=method)
