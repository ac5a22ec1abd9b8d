"""The program of a circuit with one final state, which nothing random has made."""

from __future__ import annotations

from collections.abc import Sequence

from qsim_ex.circuit.ops import Instruction, title_of, wires_of
from qsim_ex.circuit.structure import Structure
from qsim_ex.errors import NotSupported
from qsim_ex.program.divide import program_of
from qsim_ex.program.program import Program, RandomInstruction


def unitary_program(structure: Structure, touched: int = 0) -> Program:
    """Return the program of a circuit that is applied to a state: `Program.whole`, without the measurements at its end.

    Raises `NotSupported`, naming the instruction, if the final state is random, and if the circuit sets the state of
    wires that were touched.
    """
    program = program_of(structure, True, touched)
    if touched and any(node.beginning is not None for node in program.nodes):
        raise NotSupported(
            "expected a circuit that goes on with the given state, got one with set_statevector, which discards it; "
            "begin with that state instead (StateVector(…, initial=amplitudes))."
        )
    if program.first_random is not None:
        raise _no_one_state(program.first_random, structure.instructions)
    return program


def _no_one_state(first_random: RandomInstruction, instructions: Sequence[Instruction]) -> NotSupported:
    """Return the error of a circuit whose state is random; for a measurement it names the next instruction too."""
    place, wires = first_random.place, first_random.wires
    if instructions[place].written_bits:
        later = range(place + 1, len(instructions))
        acting = (k for k in later if instructions[k].saved is None)
        place = next((k for k in acting if instructions[k].acts_on & wires), place)
    instruction = instructions[place]
    numbers = wires_of(wires)
    acted = ("wire " if len(numbers) == 1 else "wires ") + ", ".join(map(str, numbers))
    return NotSupported(
        f"expected a circuit with one final state, got {first_random.feature}, which makes the final state random: "
        f"instruction {place} ({title_of(instruction)}) acts on {acted}; use Simulator.run or Simulator.run_batch."
    )
