"""Qiskit's control flow: blocks under conditions, loops, and stores into run-time variables.

A function here yields each circuit inside its instruction, with the place where it acts, and goes on when that circuit
is appended. So the translator needs no recursion, however deeply blocks are nested.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

from qiskit.circuit import (
    BoxOp,
    BreakLoopOp,
    CircuitInstruction,
    ContinueLoopOp,
    ControlFlowOp,
    ForLoopOp,
    IfElseOp,
    Measure,
    Parameter,
    QuantumCircuit,
    Store,
    SwitchCaseOp,
    WhileLoopOp,
)
from qiskit.circuit.classical import expr, types
from qiskit.circuit.controlflow import CASE_DEFAULT
from qiskit.circuit.library import GlobalPhaseGate

from qsim_ex.frameworks import Expression
from qsim_ex_provider.saves.kinds import SAVES
from qsim_ex_provider.translation.place import Place
from qsim_ex_provider.translation.translator import Saving, Translator

WRITTEN_OUT = 100_000
"""The most instructions of a loop that is written out where its indices are known; a longer one stays a loop."""


class Body(NamedTuple):
    """A circuit inside an instruction, and the place where it acts."""

    circuit: QuantumCircuit
    place: Place


Bodies = Iterator[Body]


def if_else(operation: IfElseOp, place: Place, to: Translator) -> Bodies:
    """Append both blocks, the second one for when the condition does not hold."""
    holds, *fails = operation.blocks
    with to.builder.branch(_condition(operation, to)):
        yield Body(holds, place)
        for block in fails:
            to.builder.otherwise()
            yield Body(block, place)


def switch_case(operation: SwitchCaseOp, place: Place, to: Translator) -> Bodies:
    """Append all cases, each under its condition; the default stands for every value that no other case has."""
    target = to.variables.expression(operation.target)
    cases = list(operation.cases_specifier())
    if any(_writes(block) for _, block in cases):  # then a case could change the value that later ones look at
        held = to.variables.unnamed(target.width)
        to.builder.store(held, target)
        target = held
    named: set[int] = set()
    for labels, block in cases:
        own = {int(label) for label in labels if label is not CASE_DEFAULT}
        holds = target.among(sorted(own))
        if CASE_DEFAULT in labels:
            holds = target.among(sorted(named - own)).invert()
        named |= own
        with to.builder.branch(holds):
            yield Body(block, place)


def for_loop(operation: ForLoopOp, place: Place, to: Translator) -> Bodies:
    """Append the body once for every index; a long one without a parameter stays a loop, and so does one that saves."""
    indices, parameter, body = operation.params
    variable = to.variables.variable(parameter) if isinstance(parameter, expr.Var) else None
    ranged = indices if isinstance(indices, range) else None
    written = variable is None and parameter in body.parameters  # a body need not use it
    saves = _saves(body, to.saving)  # values of all rounds, under one label
    if saves and variable is None:
        if written:
            variable = to.variables.variable(round_ := expr.Var.new("round", types.Uint(64)))
            body, written = _by_round(body, parameter, round_, indices, to.saving), False
        ranged = range(len(indices))
    if ranged is not None and not written and (saves or len(ranged) * len(body.data) > WRITTEN_OUT):
        yield from _counted(ranged, variable, body, place, to)
        return
    leaves = _leaves(body)
    with ExitStack() as blocks:
        if leaves:
            blocks.enter_context(to.builder.once())
            to.loops.append("written out")
        for index in indices:
            if variable is not None:
                to.builder.store(variable, Expression.constant(index, variable.width))
            once = body.assign_parameters({parameter: index}) if written else body
            with to.builder.once() if leaves else ExitStack():
                yield Body(once, place)
        if leaves:
            to.loops.pop()


def _by_round(
    body: QuantumCircuit, parameter: Parameter, number: expr.Var, indices: Iterable[int], saving: Saving
) -> QuantumCircuit:
    """Return the body of a loop with a switch over the round's number for each instruction that takes its parameter.

    An instruction that saves is in no switch, so that all rounds save by one.
    """
    made = QuantumCircuit(body.qubits, body.clbits, *body.cregs)
    for one in (CircuitInstruction(GlobalPhaseGate(body.global_phase)), *body.data):
        operation = one.operation
        if not any(parameter in getattr(given, "parameters", ()) for given in operation.params):
            made.append(one)
        elif isinstance(operation, ControlFlowOp) and any(_saves(block, saving) for block in operation.blocks):
            blocks = [_by_round(block, parameter, number, indices, saving) for block in operation.blocks]
            made.append(operation.replace_blocks(blocks), one.qubits, one.clbits)
        else:
            alone = made.copy_empty_like()
            alone.append(one)
            cases = [(k, alone.assign_parameters({parameter: index})) for k, index in enumerate(indices)]
            made.append(SwitchCaseOp(number, cases), made.qubits, made.clbits)
    return made


def _counted(indices: range, variable: Expression | None, body: QuantumCircuit, place: Place, to: Translator) -> Bodies:
    """Append a loop that counts its rounds."""
    rounds = to.variables.unnamed(64)
    to.builder.store(rounds, Expression.constant(0, 64))
    to.used.update(place.wires)
    with to.builder.loop(rounds.binary("less", Expression.constant(len(indices), 64))):
        if variable is not None:
            index = rounds.binary("multiply", Expression.constant(indices.step, 64))
            to.builder.store(variable, index.binary("add", Expression.constant(indices.start, 64)).cast(variable.width))
        to.builder.store(rounds, rounds.binary("add", Expression.constant(1, 64)))
        to.loops.append("loop")
        yield Body(body, place)
        to.loops.pop()


def while_loop(operation: WhileLoopOp, place: Place, to: Translator) -> Bodies:
    """Append a loop."""
    to.used.update(place.wires)  # a later round finds them in any state
    with to.builder.loop(_condition(operation, to)):
        to.loops.append("loop")
        yield Body(operation.blocks[0], place)
        to.loops.pop()


def box(operation: BoxOp, place: Place, to: Translator) -> Bodies:  # noqa: ARG001
    """Append the instructions of a box; the box itself is only for the transpiler."""
    yield Body(operation.body, place)


def break_loop(operation: BreakLoopOp, place: Place, to: Translator) -> None:  # noqa: ARG001
    """Leave the innermost loop; one that is written out has a block for all of it and one for each round."""
    to.builder.leave(1 if to.loops[-1] == "written out" else 0)


def continue_loop(operation: ContinueLoopOp, place: Place, to: Translator) -> None:  # noqa: ARG001
    """Go on with the next round of the innermost loop."""
    if to.loops[-1] == "written out":
        to.builder.leave()
    else:
        to.builder.next_round()


def store(operation: Store, place: Place, to: Translator) -> None:  # noqa: ARG001
    """Append a store into a run-time variable or classical bits."""
    to.variables.store(operation.lvalue, to.variables.expression(operation.rvalue))


def _condition(operation: IfElseOp | WhileLoopOp, to: Translator) -> Expression:
    """Return the condition of an instruction: a value of a bit or a register, or an expression."""
    if isinstance(operation.condition, tuple):
        read, value = operation.condition
        return to.read(read).among([int(value)])
    return to.variables.expression(operation.condition)


def _inside(circuit: QuantumCircuit, *, loops: bool) -> Iterator[Any]:
    """Yield all operations in a circuit and its blocks; loops: in the blocks of loops too."""
    waiting = [circuit]
    while waiting:
        for instruction in waiting.pop().data:
            operation = instruction.operation
            yield operation
            if isinstance(operation, ControlFlowOp) and (loops or not isinstance(operation, ForLoopOp | WhileLoopOp)):
                waiting += operation.blocks


def _leaves(body: QuantumCircuit) -> bool:
    """Return whether something in the body of a loop leaves that loop or its round."""
    return any(isinstance(operation, BreakLoopOp | ContinueLoopOp) for operation in _inside(body, loops=False))


def _saves(body: QuantumCircuit, saving: Saving) -> bool:
    """Return whether something in the body of a loop saves a value, which is kept for all blocks in there."""
    if id(body) not in saving:
        blocks, inside = [body], [0]  # each, and the place of what it is in
        saves = []
        for place, block in enumerate(blocks):  # which grow meanwhile
            operations = [instruction.operation for instruction in block.data]
            saves.append(any(operation.name in SAVES for operation in operations))
            inner = [one for it in operations if isinstance(it, ControlFlowOp) for one in it.blocks]
            blocks += inner
            inside += [place] * len(inner)
        for place in reversed(range(len(blocks))):
            saves[inside[place]] |= saves[place]
        saving.update((id(block), (block, one)) for block, one in zip(blocks, saves, strict=True))
    return saving[id(body)][1]


def _writes(block: QuantumCircuit) -> bool:
    """Return whether something in a block may write classical bits or variables."""
    return any(
        isinstance(operation, Measure | Store) or (operation.num_clbits and not isinstance(operation, ControlFlowOp))
        for operation in _inside(block, loops=True)
    )
