"""What the command line finds: files in Cirq's JSON, and the demonstration."""

from __future__ import annotations

import cirq
import numpy as np
import pytest

from qsim_ex import Options, Simulator, errors
from qsim_ex_cirq.frontend import frontend, ising_quench

A, B, C = cirq.LineQubit.range(3)


def test_demonstration_is_the_quench(make):  # noqa: ARG001  (puts the test's device in the place of the CPU)
    """The demonstration's amplitudes are those of the quench, bit w of an index being qubit w, and counts fit them."""
    shown = frontend.demo(5, 4_000, 7, Options(device="cpu"))
    wanted = cirq.final_state_vector(ising_quench(5), qubit_order=cirq.LineQubit.range(5)[::-1], dtype=np.complex128)
    np.testing.assert_allclose(shown.amplitudes, wanted, atol=1e-12)
    assert sum(shown.counts.values()) == 4_000 == shown.result.shots
    for bits, count in shown.counts.items():
        probability = abs(wanted[int(bits, 2)]) ** 2
        assert abs(count / 4_000 - probability) < 0.05
    assert "ZZ" in shown.drawing
    assert shown.result.precision == "double"


def test_demonstration_keeps_its_seed(make):  # noqa: ARG001
    """The same seed shows the same counts."""
    first, second = (frontend.demo(4, 100, 7, Options(device="cpu", precision="single")).counts for _ in range(2))
    assert first == second


def test_the_quench_is_trotterised():
    """One step of the quench is exp(−0.4i·ZZ) on neighbours and then exp(−0.3i·X) on each spin."""
    x, z, one = cirq.unitary(cirq.X), cirq.unitary(cirq.Z), np.eye(2)
    zz = np.diag(np.exp(-0.4j * np.diag(np.kron(z, z))))
    rx = np.cos(0.3) * one - 1j * np.sin(0.3) * x
    np.testing.assert_allclose(cirq.unitary(ising_quench(2, steps=1)), np.kron(rx, rx) @ zz, atol=1e-12)


def test_files(make, tmp_path):  # noqa: ARG001
    """A circuit that Cirq wrote is read, runs, and its outcomes are written as Cirq writes them."""
    circuit = cirq.Circuit(cirq.X(A), cirq.measure(A, B, key="m", invert_mask=(False, True)), cirq.measure(C, key="k"))
    path = tmp_path / "one.json"
    cirq.to_json(circuit, path)
    loaded, info = frontend.load(path)
    assert (info.name, info.format, info.num_clbits) == ("one", "Cirq JSON", 3)
    ((value, count),) = Simulator(device="cpu").run(loaded, shots=3).counts().items()
    assert count == 3
    assert info.format_bits(value) == "k=0, m=11"


@pytest.mark.parametrize(
    ("text", "says"), [(None, "cannot be read"), ("OPENQASM 2.0;", "not Cirq's JSON"), ("[1, 2]", "holds a list")]
)
def test_bad_files(tmp_path, text, says):
    """A file that is missing, that is no JSON, or that holds no circuit is refused by name."""
    path = tmp_path / "bad.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(errors.CircuitError, match=says) as caught:
        frontend.load(path)
    assert "bad.json" in str(caught.value)


def test_confusion_in_a_file(tmp_path):
    """A confusion map, which the engine's circuit cannot hold, is not lost silently."""
    path = tmp_path / "confused.json"
    confusion = {(0,): np.array([[0.9, 0.1], [0.1, 0.9]])}
    cirq.to_json(cirq.Circuit(cirq.measure(A, confusion_map=confusion)), path)
    with pytest.raises(errors.NotSupported, match="confusion map"):
        frontend.load(path)
