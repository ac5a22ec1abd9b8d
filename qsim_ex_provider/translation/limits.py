"""Limits on a file in OpenQASM before anything is built of it: sizes, repetitions, nesting, and other files.

A few lines can describe more than any machine holds: a register of 10^9 qubits, a loop over as many values, gates that
each call the one before twice. These are counted here, from the text, without doing what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from qiskit.circuit import ControlFlowOp, ControlledGate, ForLoopOp, QuantumCircuit
from qiskit.circuit.library import UnitaryGate

from qsim_ex.errors import CircuitError
from qsim_ex_provider.translation.translator import class_rows

BUILT_IN = ("qelib1.inc", "stdgates.inc")
MOST_INCLUDES = 1000

_TOKENS = {
    "2": re.compile(r'(?P<no>//[^\n]*)|(?P<file>"[^"\n]*"|\'[^\'\n]*\')|(?P<open>[\[({])|(?P<close>[\])}])'),
    "3": re.compile(
        r'(?P<no>//[^\n]*|/\*.*?\*/)|(?P<file>"[^"\n]*"|\'[^\'\n]*\')|(?P<open>[\[({])|(?P<close>[\])}])', re.DOTALL
    ),
}
_REGISTER = re.compile(r"\b(qreg|creg)\s+\w+\s*\[\s*(\d+)\s*\]")
_PHYSICAL = re.compile(r"\$(\d+)")


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a file may ask for.

    max_qubits: in all its registers. max_instructions: with all loops and definitions written out, gates of the
    standard libraries counting as one each; classical bits have the same limit. max_depth: of brackets, blocks and
    definitions in one another.
    """

    max_qubits: int = 1000
    max_instructions: int = 1_000_000
    max_depth: int = 100

    def check(self, where: str, name: str, what: str, number: int) -> None:
        """Raise `CircuitError` if a number is above the limit `name`."""
        if number > (most := getattr(self, name)):
            told = number if number < 10**18 else f"about 10^{len(f'{number:x}') * 6 // 5}"
            flag = name.replace("_", "-")
            raise CircuitError(f"{where}: expected at most {most} {what}, got {told}; raise {name} (--{flag}).")


def check_text(path: Path, text: str, version: str, limits: Limits) -> None:
    """Check brackets, registers with their sizes in figures, and that included files lie beside the file."""
    _IncludedFiles(path, version, limits).file(path, text, (path.resolve(),))


class _IncludedFiles:
    """A file and those that it includes."""

    def __init__(self, path: Path, version: str, limits: Limits) -> None:
        self.folder = path.parent.resolve()
        self.version = version
        self.limits = limits
        self.qubits = self.bits = self.included = 0

    def file(self, path: Path, text: str, above: tuple[Path, ...]) -> None:
        """Check one file; above: those that include it."""
        bare, depth, last = [], 0, 0
        for token in _TOKENS[self.version].finditer(text):
            kind, at = token.lastgroup, token.start()
            if kind in ("no", "file"):
                bare.append(text[last:at])
                last = token.end()
                if kind == "file":
                    line = text.count("\n", 0, at) + 1
                    self.include(f"{path}:{line}", path, token.group()[1:-1], above)
            else:
                depth += 1 if kind == "open" else -1
                if depth > self.limits.max_depth:
                    line = text.count("\n", 0, at) + 1
                    self.limits.check(f"{path}:{line}", "max_depth", "brackets in one another", depth)
        code = " ".join([*bare, text[last:]])
        for kind, size in _REGISTER.findall(code):
            if kind == "qreg":
                self.qubits += _number(size)
            else:
                self.bits += _number(size)
        physical = max((_number(size) + 1 for size in _PHYSICAL.findall(code)), default=0)
        self.limits.check(str(path), "max_qubits", "qubits", max(self.qubits, physical))
        self.limits.check(str(path), "max_instructions", "classical bits", self.bits)

    def include(self, where: str, path: Path, name: str, above: tuple[Path, ...]) -> None:
        """Check an included file and what it includes; one that does not exist is refused when it is read."""
        if name in BUILT_IN:
            return
        given = PurePath(name)
        found = (self.folder / name).resolve()
        if given.is_absolute() or ".." in given.parts or not found.is_relative_to(self.folder):
            raise CircuitError(
                f"{where}: expected an included file beside {path.name} or in a folder below, got {name!r}."
            )
        if found in above:
            raise CircuitError(f"{where}: expected an included file that does not include itself, got {name!r}.")
        self.included += 1
        if self.included > MOST_INCLUDES:
            raise CircuitError(f"{where}: expected at most {MOST_INCLUDES} included files, got more.")
        if self.version == "2" and found.is_file():
            try:
                text = found.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise CircuitError(f"{where}: expected a text file that can be read, got {name!r}: {error}.") from error
            self.file(found, text, (*above, found))


def check_program(path: Path, program: object, limits: Limits) -> None:
    """Check the syntax tree of OpenQASM 3: registers, loops and definitions."""
    _ProgramSizes(path, limits).whole(program)


class _ProgramSizes:
    """The sizes of a program in OpenQASM 3, counted from its syntax tree, statement by statement.

    A size is the number of instructions with everything written out, and the depth of definitions.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        from openqasm3 import ast

        self.ast = ast
        self.path = path
        self.limits = limits
        self.gates: dict[str, tuple[int, int]] = {}  # the sizes of definitions
        self.qubits = self.bits = 0

    def whole(self, program: Any) -> None:
        """Check a program."""
        count, _ = self.block(program.statements)
        self.limits.check(str(self.path), "max_instructions", "instructions", count)

    def block(self, statements: Iterable[object]) -> tuple[int, int]:
        """Return the size of statements that follow one another."""
        found = [self.statement(statement) for statement in statements]
        return sum(count for count, _ in found), max((depth for _, depth in found), default=0)

    def statement(self, node: Any) -> tuple[int, int]:
        """Return the size of one statement."""
        ast, where = self.ast, f"{self.path}:{node.span.start_line}" if node.span else str(self.path)
        match node:
            case ast.QubitDeclaration() | ast.ClassicalDeclaration(type=ast.BitType()):
                return self.register(node, where)
            case ast.QuantumGateDefinition():
                return self.definition(node, where)
            case ast.QuantumGate() | ast.QuantumPhase():
                return self.gate(node, where)
        inside = self.inside(node)
        if inside is None:
            return 1, 0
        self.limits.check(where, "max_instructions", "instructions", inside[0])
        return inside

    def register(self, node: Any, where: str) -> tuple[int, int]:
        """Count a register of qubits or of classical bits."""
        if isinstance(node, self.ast.QubitDeclaration):
            self.qubits += self.size(node.size)
            self.limits.check(where, "max_qubits", "qubits", self.qubits)
            return 0, 0
        self.bits += self.size(node.type.size)
        self.limits.check(where, "max_instructions", "classical bits", self.bits)
        return 1, 0

    def definition(self, node: Any, where: str) -> tuple[int, int]:
        """Note the size of a gate that is defined."""
        count, depth = self.block(node.body)
        self.limits.check(where, "max_depth", "definitions in one another", depth + 1)
        self.gates[node.name.name] = count, depth + 1
        return 0, 0

    def gate(self, node: Any, where: str) -> tuple[int, int]:
        """Return the size of a gate, or of a global phase, and check its controls."""
        for modifier in node.modifiers:
            if modifier.modifier is not self.ast.GateModifierName.pow:
                self.limits.check(where, "max_qubits", "controls", self.size(modifier.argument))
        return self.gates.get(node.name.name, (1, 0)) if isinstance(node, self.ast.QuantumGate) else (1, 0)

    def inside(self, node: object) -> tuple[int, int] | None:
        """Return the size of what a statement holds; None if it holds no statements."""
        ast = self.ast
        match node:
            case ast.ForInLoop():
                count, depth = self.block(node.block)
                return count * self.times(node.set_declaration), depth
            case ast.BranchingStatement():
                return self.block([*node.if_block, *node.else_block])
            case ast.SwitchStatement():
                blocks = [case.statements for _, case in node.cases]
                blocks += [node.default.statements] if node.default else []
                return self.block(statement for statements in blocks for statement in statements)
            case ast.WhileLoop():
                return self.block(node.block)
            case ast.Box():
                return self.block(node.body)
            case ast.CompoundStatement():
                return self.block(node.statements)
        return None

    def size(self, node: object) -> int:
        """Return a size; one that is not written in figures is refused later."""
        if isinstance(node, self.ast.UnaryExpression):
            return abs(self.size(node.expression))
        return abs(node.value) if isinstance(node, self.ast.IntegerLiteral) else 1

    def signed(self, node: object, default: int) -> int:
        """Return a number with its sign, or a default for one that is not written in figures."""
        if isinstance(node, self.ast.UnaryExpression):
            return -self.signed(node.expression, default)
        return node.value if isinstance(node, self.ast.IntegerLiteral) else default

    def times(self, values: object) -> int:
        """Return how often a loop over some values is done."""
        if isinstance(values, self.ast.DiscreteSet):
            return len(values.values)
        if not isinstance(values, self.ast.RangeDefinition):
            return 1
        step = self.signed(values.step, 1) or 1
        return max(0, (self.signed(values.end, 0) - self.signed(values.start, 0)) // step + 1)


def check_circuit(path: Path, circuit: QuantumCircuit, limits: Limits) -> None:
    """Check what a file has become: its qubits, and its instructions with all definitions written out."""
    rows, known = class_rows(), dict[str, int]()

    def count(found: QuantumCircuit, depth: int) -> int:
        limits.check(str(path), "max_depth", "definitions in one another", depth)
        return sum(of(instruction.operation, depth) for instruction in found.data)

    def of(operation: Any, depth: int) -> int:
        if isinstance(operation, ControlFlowOp):
            inside = sum(count(block, depth + 1) for block in operation.blocks)
            return inside * _length(operation.params[0]) if isinstance(operation, ForLoopOp) else inside
        if isinstance(operation, ControlledGate) and type(operation) not in rows:
            return of(operation.base_gate, depth + 1)
        if type(operation) in rows or isinstance(operation, UnitaryGate):
            return 1
        if operation.name not in known:  # in a file a name is defined once
            inner = operation.definition
            known[operation.name] = 1 if inner is None else count(inner, depth + 1)
        return known[operation.name]

    limits.check(str(path), "max_qubits", "qubits", circuit.num_qubits)
    limits.check(str(path), "max_instructions", "instructions", count(circuit, 0))


def _length(values: Sequence[int] | range | Mapping[object, object]) -> int:
    if isinstance(values, range):  # len() of a long one is an error
        return max(0, (values.stop - values.start + values.step - (1 if values.step > 0 else -1)) // values.step)
    return len(values)


def _number(figures: str) -> int:
    return int(figures) if len(figures) < 100 else 10**100
