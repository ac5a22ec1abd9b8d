"""Sweeps: translated once, run together, and equal to runs of their own."""

from __future__ import annotations

import pickle

import cirq
import duet
import numpy as np
import pytest
import sympy
from support.phases import apart

import qsim_ex
from qsim_ex import errors, reference
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_cirq.translation import gates
from qsim_ex_cirq.translation.circuits import translate
from qsim_ex_cirq.translation.sweep import translate_sweep

A, B, C = Q = cirq.LineQubit.range(3)
S, T = sympy.symbols("s t")
ORACLE = cirq.Simulator(dtype=np.complex128)


class Both(cirq.Gate):
    """A user's gate of two qubits that is only decomposed, into gates with its parameter."""

    def __init__(self, angle):
        self.angle = angle

    def _num_qubits_(self):
        return 2

    def _is_parameterized_(self):
        return cirq.is_parameterized(self.angle)

    def _parameter_names_(self):
        return cirq.parameter_names(self.angle)

    def _resolve_parameters_(self, resolver, recursive):
        return Both(resolver.value_of(self.angle, recursive))

    def _decompose_(self, qubits):
        yield cirq.ry(self.angle)(qubits[0])
        yield cirq.CZ(*qubits) ** (self.angle / 2)


class Picky(Both):
    """One whose parts depend on whether its number is positive."""

    def _resolve_parameters_(self, resolver, recursive):
        return Picky(resolver.value_of(self.angle, recursive))

    def _decompose_(self, qubits):
        if self.angle > 0:
            yield cirq.H(qubits[0])
        yield cirq.ry(self.angle)(qubits[1])


INNER = cirq.FrozenCircuit(cirq.rx(T)(A), cirq.X(B), cirq.CZ(A, B) ** (S - 1), cirq.S(A))

PARTS = {
    "powers": [gate**T for gate in (cirq.X, cirq.Y, cirq.Z, cirq.H)],
    "rotations": [cirq.rx(T), cirq.ry(2 * S + T), cirq.rz(T**2)],
    "shifted": [kind(exponent=T, global_shift=0.3) for kind in (cirq.XPowGate, cirq.YPowGate, cirq.ZPowGate)],
    "controlled": [cirq.CX**T, cirq.CZ**S, cirq.XPowGate(exponent=T, global_shift=0.2).controlled()],
    "two": [kind(exponent=S) for kind in (cirq.XXPowGate, cirq.YYPowGate, cirq.ZZPowGate, cirq.SwapPowGate)],
    "iswap": [cirq.ISWAP**T, cirq.ISwapPowGate(exponent=T, global_shift=0.5), cirq.FSimGate(T, S), cirq.ms(T)],
    "three": [cirq.CCX**T, cirq.CCZ**S, cirq.CCXPowGate(exponent=T, global_shift=0.1)],
    "phased": [
        cirq.PhasedISwapPowGate(phase_exponent=S, exponent=T),
        cirq.PhasedFSimGate(S, T, S * T, 0.3, S + T),
        cirq.PhasedXPowGate(phase_exponent=S, exponent=T),
        cirq.PhasedXPowGate(phase_exponent=0.25, exponent=T, global_shift=0.3),
        cirq.PhasedXZGate(x_exponent=S, z_exponent=T, axis_phase_exponent=S * T),
    ],
    "phasors": [cirq.PauliStringPhasorGate(cirq.DensePauliString("XYZ"), exponent_neg=T, exponent_pos=S)],
    "a user's": [Both(T), Both(S + T).controlled(), Both(0.3)],
    "open controls": [(cirq.Y**T).controlled(2, control_values=[0, 1]), cirq.rx(S).controlled(control_values=[(0, 1)])],
    "tagged": [cirq.X**T, cirq.QubitPermutationGate([1, 0]), cirq.QuantumFourierTransformGate(3)],
    "none": [cirq.X, cirq.T, cirq.MatrixGate(cirq.testing.random_unitary(4, random_state=1))],
}
"""Gates with symbols; all of them are translated once for all points."""


def circuit_of(parts):
    """A circuit that puts gates on the first qubits that they need, between layers that make them matter."""
    circuit = cirq.Circuit(cirq.ry(0.3 + k)(q) for k, q in enumerate(Q))
    for part in parts:
        circuit += [part.on(*Q[: cirq.num_qubits(part)]), cirq.H.on_each(*Q), cirq.T(B), cirq.CZ(B, C)]
    return circuit


def points(count=4, seed=1):
    """Resolvers for s and t, among them numbers that give special gates."""
    rows = np.random.default_rng(seed).uniform(-1, 1, (count, 2))
    rows[0] = 1.0, 0.0
    return [cirq.ParamResolver({"s": s, "t": t}) for s, t in rows.tolist()]


@pytest.fixture
def spy(monkeypatch):
    """A list that notes how many bindings each batch of several has."""
    counts = []
    run_batch = qsim_ex.Simulator.run_batch

    def noted(simulator, circuit, bindings=None, **how):
        if bindings is not None:  # which a single run has not
            counts.append(bindings.count)
        return run_batch(simulator, circuit, bindings, **how)

    monkeypatch.setattr(qsim_ex.Simulator, "run_batch", noted)
    return counts


@pytest.mark.parametrize("name", PARTS)
def test_translated_once(name):
    """One translation holds all points; each has the gates and the state of the circuit with its numbers."""
    circuit, resolvers = circuit_of(PARTS[name]), points()
    (translation,) = translate_sweep(circuit, resolvers)
    assert translation.sweep.count == 4
    for k, resolver in enumerate(resolvers):
        one = translation.sweep.circuit(k)
        alone = translate(circuit, resolver).circuit
        (ops, phase), (others, other_phase) = apart(one), apart(alone)
        assert [op for op, _ in ops] == [op for op, _ in others]
        numbers, other_numbers = (np.frombuffer(b"".join(raw for _, raw in of), np.complex128) for of in (ops, others))
        np.testing.assert_allclose(numbers, other_numbers, atol=1e-14)
        assert abs(phase - other_phase) < 1e-12
        wanted = cirq.final_state_vector(cirq.resolve_parameters(circuit, resolver), qubit_order=Q, dtype=np.complex128)
        np.testing.assert_allclose(reference.simulate(one), wanted, atol=1e-7 if name == "none" else 1e-12)


def test_every_rule_with_parameters_is_tried():
    """Each gate class of the rules whose numbers may be symbols is among those that are translated once here."""
    tried = {type(part) for parts in PARTS.values() for part in parts}
    tried |= {type(part.sub_gate) for parts in PARTS.values() for part in parts if hasattr(part, "sub_gate")}
    fixed = {cirq.CSwapGate, cirq.MatrixGate, cirq.GlobalPhaseGate, cirq.DensePauliString, cirq.MutableDensePauliString}
    literal = {cirq.DiagonalGate, cirq.TwoQubitDiagonalGate, cirq.ThreeQubitDiagonalGate}  # see the next test
    fixed |= {type(cirq.X), type(cirq.Y), type(cirq.Z)}  # their powers are the general classes
    later = {rule for rule in gates.RULES if rule.__name__ in ("CYPowGate", "CCYPowGate")}
    assert set(gates.RULES) - fixed - literal - later - tried <= {cirq.HPowGate}


@pytest.mark.parametrize(
    "operation",
    [
        cirq.DiagonalGate([T, S, 0.1, T + S]).on(A, B),
        Picky(T).on(A, B),
        cirq.CircuitOperation(INNER, repetitions=sympy.Symbol("n")),
    ],
    ids=["diagonal", "a user's", "repetitions"],
)
def test_structure_that_depends_on_numbers(simulator, spy, operation):
    """Where symbols will not do, each point is translated with its numbers, and those of one structure go together."""
    circuit = cirq.Circuit(cirq.H.on_each(*Q), operation, cirq.CZ(B, C))
    resolvers = [{"s": 0.1 * k, "t": (-1) ** k * 0.3, "n": 1 + k % 2} for k in range(5)]
    found = simulator.simulate_sweep(circuit, resolvers)
    assert sum(spy) == 5
    assert len(spy) <= 2
    for result, resolver in zip(found, resolvers, strict=True):
        wanted = cirq.final_state_vector(cirq.resolve_parameters(circuit, resolver), dtype=np.complex128)
        np.testing.assert_allclose(result.final_state_vector, wanted, atol=2e-6)


def test_subcircuits_with_symbols(simulator, spy):
    """Symbols inside of repeated and renamed subcircuits, some bound there, are swept in one batch."""
    operation = cirq.CircuitOperation(INNER, repetitions=2).with_params({"s": 2 * T})
    circuit = cirq.Circuit(cirq.H(A), operation, operation.with_qubit_mapping({A: C}))
    found = simulator.simulate_sweep(circuit, cirq.Linspace("t", 0, 1, 5))
    assert spy == [5]
    for k, result in enumerate(found):
        wanted = ORACLE.simulate(circuit, {"t": k / 4}).final_state_vector
        np.testing.assert_allclose(result.final_state_vector, wanted, atol=2e-6)


SWEEPS = {
    "linspace": cirq.Linspace("t", 0, 1, 3) * cirq.Points("s", [0.3, 1.0]),
    "zip": cirq.Points("t", [0, 1, 2]) + cirq.Points("s", [3, 4, 5]),
    "dictionaries": [{"t": 0.1, "s": 1}, {"t": 0.2, "s": np.float64(2)}],
    "symbols": [{T: 0.1, S: 1}, {T: 0.2, S: 2}],
    "chained": [cirq.ParamResolver({"t": "s", "s": 0.5}), cirq.ParamResolver({"t": S * 2, "s": 0.25})],
    "resolvers": [cirq.ParamResolver({"t": 0.1, "s": 1}), [cirq.ParamResolver({"t": 0.2, "s": 2})]],
    "superfluous": [{"t": 0.1, "s": 1, "u": 5}, {"t": 0.2, "s": 2, "v": 7}],
}


@pytest.mark.parametrize("name", SWEEPS)
def test_every_kind_of_sweep(simulator, spy, name):
    """Whatever Cirq takes as a sweep has the points, in the order, that Cirq gives it, and is one batch."""
    circuit = cirq.Circuit(cirq.ry(T)(A), cirq.CX(A, B), cirq.rx(S - T)(B), cirq.measure(A, B, key="m"))
    resolvers = list(cirq.to_resolvers(SWEEPS[name]))
    found = simulator.run_sweep(circuit, SWEEPS[name], repetitions=5)
    assert [result.params for result in found] == resolvers
    assert spy == [len(resolvers)]
    values = simulator.simulate_expectation_values_sweep(circuit[:-1], [cirq.Z(A), cirq.X(B)], SWEEPS[name])
    for value, resolver in zip(values, resolvers, strict=True):
        wanted = ORACLE.simulate_expectation_values(circuit[:-1], [cirq.Z(A), cirq.X(B)], resolver)
        np.testing.assert_allclose(value, np.real(wanted), atol=2e-6)


def test_samples_are_those_of_single_runs(make, dtype):
    """A sweep draws what runs one after another draw from the same seed, whatever is run together."""
    circuit = circuit_of(PARTS["phased"] + PARTS["two"])
    confusion = {(0,): np.array([[0.8, 0.2], [0.3, 0.7]])}
    circuit += [cirq.measure(A, C, key="k", confusion_map=confusion), cirq.measure(C, B, key="m", invert_mask=(True,))]
    resolvers = points(6)
    together_, apart, batch = (make(dtype=dtype, seed=9) for _ in range(3))
    swept = together_.run_sweep(circuit, resolvers, repetitions=30)
    assert swept == [apart.run(circuit, resolver, repetitions=30) for resolver in resolvers]
    both = batch.run_batch([circuit, circuit], [resolvers[:2], resolvers[2:]], repetitions=30)
    assert [len(some) for some in both] == [2, 4]
    assert [one for some in both for one in some] == swept
    assert swept[0].qsim_ex["seed"] == 9


def test_final_states_are_those_of_single_runs(make, dtype, close):
    """States of a sweep, measured at the end or not, are those of single simulations from the same seed."""
    for end in ([], [cirq.measure(A, C, key="m")], [cirq.PauliMeasurementGate([cirq.X, cirq.Y], key="p").on(A, C)]):
        circuit = circuit_of(PARTS["rotations"] + PARTS["iswap"]) + end
        resolvers = points(5)
        swept, apart = make(dtype=dtype, seed=4), make(dtype=dtype, seed=4)
        found = swept.simulate_sweep(circuit, resolvers, qubit_order=[B, A, C], initial_state=0b101)
        for result, resolver in zip(found, resolvers, strict=True):
            alone = apart.simulate(circuit, resolver, qubit_order=[B, A, C], initial_state=0b101)
            assert result.params == resolver
            assert {k: v.tolist() for k, v in result.measurements.items()} == {
                k: v.tolist() for k, v in alone.measurements.items()
            }
            close(result.final_state_vector, np.asarray(alone.final_state_vector, dtype=np.complex128))
            assert result.qsim_ex["seed"] == alone.qsim_ex["seed"]
            assert set(alone.qsim_ex) <= set(result.qsim_ex)


def test_states_of_a_sweep_can_be_kept_apart(simulator):
    """A state of a sweep can be pickled for itself, changed without a trace in others, and begun from again."""
    circuit = circuit_of(PARTS["powers"])
    results = simulator.simulate_sweep(circuit, points())
    again = pickle.loads(pickle.dumps(results[1]))
    assert again == results[1]
    assert len(pickle.dumps(results[1])) < 20_000
    kept = results[2].final_state_vector.copy()
    results[1].final_state_vector[:] = 0
    np.testing.assert_array_equal(results[2].final_state_vector, kept)
    begin = kept.astype(np.complex128)
    begin /= np.linalg.norm(begin)
    vectors = simulator.simulate_sweep(cirq.Circuit(cirq.X(A) ** T), points(), qubit_order=Q, initial_state=begin)
    for result, resolver in zip(vectors, points(), strict=True):
        wanted = ORACLE.simulate(cirq.Circuit(cirq.X(A) ** T), resolver, qubit_order=Q, initial_state=begin)
        np.testing.assert_allclose(result.final_state_vector, wanted.final_state_vector, atol=2e-6)


def test_amplitudes_and_values(simulator, spy):
    """Amplitudes and expectation values of all points, from a basis state too, are Cirq's; each is one batch."""
    circuit, order = circuit_of(PARTS["controlled"] + PARTS["three"]), [C, A, B]
    found = simulator.compute_amplitudes_sweep(circuit, [5, 0, 5], points(), qubit_order=order)
    wanted = ORACLE.compute_amplitudes_sweep(circuit, [5, 0, 5], points(), qubit_order=order)
    np.testing.assert_allclose(found, wanted, atol=2e-6)
    observables = [cirq.X(A) * cirq.Y(B), 0.5 * cirq.Z(C) - 1, 2j * cirq.Z(A)]
    values = simulator.simulate_expectation_values_sweep(
        circuit, observables, points(), qubit_order=order, initial_state=0b110
    )
    assert spy == [4, 4]
    for value, resolver in zip(values, points(), strict=True):
        wanted = ORACLE.simulate_expectation_values(
            circuit, [*observables[:2], 2 * cirq.Z(A)], resolver, order, initial_state=0b110
        )
        np.testing.assert_allclose(value, [*np.real(wanted[:2]), 1j * np.real(wanted[2])], atol=5e-6)
        assert [type(one) for one in value] == [float, float, complex]


def test_values_of_vectors_and_measured_states(simulator):
    """Points that begin in a vector, or end in permitted measurements, have their values too."""
    circuit = cirq.Circuit(cirq.ry(T)(A), cirq.CX(A, B))
    plus = np.full(4, 0.5, dtype=np.complex64)
    values = simulator.simulate_expectation_values_sweep(circuit, cirq.X(B), [{"t": 0}, {"t": 1}], initial_state=plus)
    np.testing.assert_allclose(np.ravel(values), [1, 1], atol=1e-6)
    measured = circuit + cirq.measure(A)
    values = simulator.simulate_expectation_values_sweep(
        measured, cirq.Z(A) * cirq.Z(B), [{"t": 1}] * 3, permit_terminal_measurements=True
    )
    np.testing.assert_allclose(np.ravel(values), [1, 1, 1], atol=1e-6)


def test_batches_of_programs(make, spy):
    """Circuits of one structure are sampled in one batch, others in their own; repetitions may differ."""
    turn = cirq.Circuit(cirq.X(A) ** T, cirq.measure(A, key="m"))
    other = cirq.Circuit(cirq.X(A), cirq.CX(A, B), cirq.measure(B, key="m"))
    simulator = make(seed=1)
    found = simulator.run_batch([turn, other, turn], [cirq.Points("t", [0, 1]), None, {"t": 1}], repetitions=3)
    assert spy == [3]  # and the other circuit by itself
    assert [[result.measurements["m"].sum() for result in some] for some in found] == [[0, 3], [3], [3]]
    found = simulator.run_batch([turn, turn], [{"t": 1}, {"t": 0}], repetitions=[2, 3])
    assert [[result.measurements["m"].shape for result in some] for some in found] == [[(2, 1)], [(3, 1)]]
    found = duet.run(simulator.run_batch_async, [turn], [cirq.Points("t", [0, 1])], 2)
    assert [result.measurements["m"].sum() for result in found[0]] == [0, 2]
    with pytest.raises(ValueError, match="1 circuits, 2 sweeps and 1 numbers"):
        simulator.run_batch([turn], [None, None])
    with pytest.raises(errors.MeasurementError):
        simulator.run_batch([turn, cirq.Circuit(cirq.X(A))], repetitions=2)


def test_sweeps_come_in_pieces(simulator, spy, hold):
    """An endless sweep gives its results a piece at a time, and pieces do not change them."""
    circuit = circuit_of(PARTS["rotations"]) + cirq.measure(*Q, key="m")
    hold(resolved_points=3)
    iterator = simulator.simulate_sweep_iter(circuit[:-1], points(8))
    next(iterator)
    assert spy == [3]
    assert len(list(iterator)) == 7
    assert spy == [3, 3, 2]
    hold(resolved_bytes=2 * 8 * 8)
    spy.clear()
    assert len(simulator.run_sweep(circuit, points(4), repetitions=2)) == 4
    assert spy in ([2, 2], [])  # two states of complex64 at a time, one of complex128, which runs alone


BAD = {
    "unbound": ([{"t": 1}, {"s": 1}], errors.ParameterError, "not specified: s"),
    "not a number": ([{"t": 1, "s": 1}, {"t": 1, "s": sympy.Symbol("x")}], errors.ParameterError, "not specified: x"),
    "not finite": ([{"t": 1, "s": 1}, {"t": np.nan, "s": 1}], errors.ParameterError, "finite"),
    "complex": (
        [{"t": 1, "s": 1}, {"t": 1j, "s": 1}],
        ValueError,
        "not supported|not a real",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_points(simulator, name):
    """A point without a real number for each symbol is refused, in a sweep as by itself."""
    circuit = cirq.Circuit(cirq.ry(T)(A), cirq.X(A) ** S, cirq.measure(A, key="m"))
    sweep, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        simulator.run_sweep(circuit, sweep, repetitions=2)
    with pytest.raises(kind, match=message):
        simulator.simulate_sweep(circuit, sweep)


def test_bad_circuits_of_sweeps(simulator):
    """A circuit that is refused for one point is refused for a sweep, with the moment."""
    early = cirq.X(B).with_classical_controls("m")
    circuit = cirq.Circuit(cirq.X(A) ** T, early, cirq.measure(A, key="m"))
    messages = []
    for params in ({"t": 1}, [{"t": 1}, {"t": 2}]):
        with pytest.raises(errors.MeasurementError) as caught:
            simulator.run_sweep(circuit, params, repetitions=2)
        messages.append((str(caught.value), caught.value.__notes__))
    assert messages[0] == messages[1]
    with pytest.raises(errors.CircuitError, match="bitstrings from 0 to 7 for 3 qubits, got 8"):
        simulator.compute_amplitudes_sweep(circuit_of([]), [1, 8], [{}, {}])


def test_a_broken_rule_is_heard(monkeypatch):
    """An error in a rule that gets many numbers at once is raised, and does not lead to single points."""

    def broken(gate, place):
        if isinstance(place.number(gate.exponent), np.ndarray):
            raise TypeError("broken")
        place.row("x")

    monkeypatch.setitem(gates.RULES, cirq.XPowGate, broken)
    circuit = cirq.Circuit(cirq.X(A) ** T, cirq.measure(A, key="m"))
    with pytest.raises(TypeError, match="broken"):
        QsimExSimulator(device="cpu").run_sweep(circuit, [{"t": 1}, {"t": 2}])


class OnFlips(cirq.NoiseModel):
    """A model that lets nothing but a whole X fail, and so must see numbers."""

    def noisy_operation(self, operation):
        """What becomes of an operation."""
        return [operation, cirq.bit_flip(1).on(A)] if operation == cirq.X(A) else [operation]


def test_noise_that_looks_at_numbers(make):
    """A noise model sees the numbers of each point, as in Cirq, and not the symbols."""
    circuit = cirq.Circuit(cirq.X(A) ** T, cirq.measure(A, key="m"))
    sweep = cirq.Points("t", [0, 1, 2])
    ours, cirqs = (kind.run_sweep(circuit, sweep) for kind in (make(noise=OnFlips()), cirq.Simulator(noise=OnFlips())))
    assert [result.measurements["m"].item() for result in ours] == [0, 0, 0]
    assert ours == cirqs


def test_noisy_sweeps(make, spy):
    """With noise after every moment, a sweep is one batch whose frequencies are those of the density matrix."""
    circuit = cirq.Circuit(cirq.ry(T)(A), cirq.CX(A, B), cirq.measure(A, B, key="m"))
    noise, shots = cirq.depolarize(0.1), 4000
    results = make(noise=noise, seed=1).run_sweep(circuit, cirq.Linspace("t", 0, 3, 4), repetitions=shots)
    assert spy == [4]
    exact = cirq.DensityMatrixSimulator(noise=noise)
    for result in results:
        density = exact.simulate(circuit[:-1], result.params).final_density_matrix
        histogram = result.histogram(key="m")
        for value, probability in enumerate(np.real(np.diag(density))):
            assert abs(histogram[value] / shots - probability) < 5 * np.sqrt(0.25 / shots)


def test_states_and_values_under_noise(make):
    """A noisy state is one trajectory, alone as in a sweep; a noisy expectation value is that of the channels."""
    circuit = cirq.Circuit(cirq.X(A) ** T, cirq.bit_flip(0.5).on(B))
    swept, apart = make(seed=3), make(seed=3)
    results = swept.simulate_sweep(circuit, [{"t": 1}] * 20)
    assert {result.dirac_notation() for result in results} == {"|10⟩", "|11⟩"}
    for result in results:
        np.testing.assert_array_equal(result.final_state_vector, apart.simulate(circuit, {"t": 1}).final_state_vector)
    amplitudes = make(seed=3).compute_amplitudes_sweep(circuit, [2], [{"t": 1}] * 20)
    assert {round(abs(value), 5) for (value,) in amplitudes} == {0, 1}
    for params in ({"t": 1}, [{"t": 0}, {"t": 1}]):
        *_, last = make(seed=4).simulate_expectation_values_sweep(circuit, [cirq.Z(A), cirq.Z(B)], params)
        assert last[0] == pytest.approx(-1)
        assert last[1] == pytest.approx(0)
    measured = circuit + cirq.measure(B, key="m")
    for result in make(seed=5).simulate_sweep(measured, [{"t": 1}] * 3):
        assert result.dirac_notation() == f"|1{result.measurements['m'].item()}⟩"
