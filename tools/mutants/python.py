"""Mutants of Python, drawn from those that cosmic-ray's operators make."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from functools import cache

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from tools.mutants.mutant import Mutant, differing
from tools.mutants.reach import ROOT, Reach

ROOMS = ("circuit", "program", "planning", "run", "placement", "devices", "kernels")

FAMILIES = {
    "Binary": 4,
    "Comparison": 4,
    "Number": 4,
    "AndWithOr": 2,
    "OrWithAnd": 2,
    "AddNot": 3,
    "Unary": 2,
    "TrueWithFalse": 1,
    "FalseWithTrue": 1,
    "BreakWithContinue": 1,
    "ContinueWithBreak": 1,
    "ZeroIteration": 2,
    "ExceptionReplacer": 1,
    "RemoveDecorator": 1,
}
"""For parts of operators' names how often one of them is drawn."""

PROMISES = frozenset({"frozen", "slots", "eq", "repr", "kw_only", "strict", "compare"})
"""Keywords of classes, fields and `zip` that forbid and compute nothing."""

CACHES = frozenset(
    {"abstractmethod", "cache", "cached_property", "lru_cache", "kept", "registered", "property", "overload", "final"}
)
"""Decorators that keep results or forbid something, or without which everything that uses the name fails."""


def drawn(reach: Reach, seed: int, rooms: Sequence[str] = ROOMS) -> Iterator[Mutant]:
    """Yield mutants of lines that tests reach, a room after another, for ever."""
    streams = [_of_room(room, reach, random.Random(f"{room} {seed}")) for room in rooms]
    while True:
        yield from map(next, streams)


def _of_room(room: str, reach: Reach, rng: random.Random) -> Iterator[Mutant]:
    files = _files(room)
    seen: set[str] = set()
    while True:
        found = _one(rng.choices(*files)[0], room, rng)
        if found and found.name not in seen and reaches(reach, found):
            seen.add(found.name)
            yield found


def _files(room: str) -> tuple[list[str], list[int]]:
    """Return the files of a room, and how many lines each has."""
    files = sorted((ROOT / "core/qsim_ex" / room).rglob("*.py"))
    return [str(file.relative_to(ROOT)) for file in files], [len(file.read_text().splitlines()) for file in files]


def reaches(reach: Reach, mutant: Mutant) -> bool:
    """Return whether tests reach a mutant: its lines, or its file if they run when that is imported."""
    lines = reach.lines.get(mutant.path, {})
    return bool(lines) and (
        not _in_function(mutant.path, mutant.line)
        or any(line in lines for line in range(mutant.line, mutant.until + 1))
    )


def _one(path: str, room: str, rng: random.Random) -> Mutant | None:
    """Draw a mutant of a file, None if there is none of the kind that was drawn or it does what the file does."""
    family = rng.choices(list(FAMILIES), list(FAMILIES.values()))[0]
    names = [name for name in operator_names() if family in name]
    name = rng.choice(names)
    if not _has(path, name):
        return None
    operator = get_operator(name)()
    source = (ROOT / path).read_text(encoding="utf-8")
    counting = _Counting(operator)
    counting.walk(_parsed(source))
    if not counting.places:
        return None
    text = mutate_code(source, operator, rng.randrange(counting.places))
    try:
        same = _known_meaning(source) == meaning(text)
    except SyntaxError:
        return None
    if same:
        return None
    before, after = differing(source, text)
    number = next(k for k, (a, b) in enumerate(zip(source.splitlines(), text.splitlines(), strict=False), 1) if a != b)
    line, until = _statement(path, number)
    return Mutant(path, room, line, until, type(operator).__name__, before, after, text)


class _Counting(Visitor):
    """Counts the places that an operator can change."""

    def __init__(self, operator: object) -> None:
        self.operator = operator
        self.places = 0

    def visit(self, node: object) -> object:
        self.places += sum(1 for _ in self.operator.mutation_positions(node))
        return node


def _has(path: str, operator: str) -> bool:
    """Return whether a file has the sign that an operator replaces, if it replaces one."""
    signs = {sign.__name__ for kind in (ast.operator, ast.cmpop) for sign in kind.__subclasses__()}
    replaced = operator.split("_")[1:2]
    return not signs.intersection(replaced) or replaced[0] in _kinds(path)


@cache
def _kinds(path: str) -> frozenset[str]:
    return frozenset(type(node).__name__ for node in ast.walk(_tree(path)))


@cache
def _parsed(source: str) -> object:
    """Parse a source, of which counting changes nothing."""
    return get_ast(source)


class _Bare(ast.NodeTransformer):
    """Takes out what computes nothing: annotations, defaults of methods without a body, `PROMISES` and `CACHES`."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        if _only_text(node.body):
            node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
        node.decorator_list = [one for one in node.decorator_list if not CACHES & set(_words(one))]
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST | None:
        return None if node.arg in PROMISES else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if "TYPE_CHECKING" in _words(node.test) else self.generic_visit(node)


def _only_text(body: list[ast.stmt]) -> bool:
    """Return whether a function has a docstring and nothing else, as one of a protocol or an abstract one has."""
    return len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


def _words(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr


def meaning(source: str) -> str:
    """Return what a source does: its tree without what computes nothing."""
    return ast.dump(_Bare().visit(ast.parse(source)))


_known_meaning = cache(meaning)


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def _in_function(path: str, line: int) -> bool:
    """Return whether a line runs only when a function is called."""
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.body[0].lineno <= line <= node.end_lineno
        for node in ast.walk(_tree(path))
    )


def _statement(path: str, line: int) -> tuple[int, int]:
    """Return the first line and the last of the smallest statement on a line, of its head if it has a body."""
    found = [
        (node.lineno, node.body[0].lineno - 1 if getattr(node, "body", None) else node.end_lineno)
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    around = [(start, max(start, end)) for start, end in found if start <= line <= max(start, end)]
    return min(around, key=lambda lines: lines[1] - lines[0], default=(line, line))
