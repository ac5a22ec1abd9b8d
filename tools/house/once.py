"""One divider, one prepare, one executor loop, one sum of memory: what only they do is done nowhere else.

Each rule sees one form of source text, and says which. It does not see the same work in another form.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from tools.house.sources import ENGINE, Finding, Rule, Source, last_name

PROGRAM = f"{ENGINE}program/"
PREPARE = f"{ENGINE}execution/prepare.py"
EXECUTOR = f"{ENGINE}placement/executor.py"
STATE_BYTES = f"{ENGINE}devices/memory.py"

PREPARES_ITSELF: Mapping[str, str] = {
    f"{ENGINE}run/repeated.py": "the measured fast path of decision 0013, which keeps what it has prepared",
}
"""Files that prepare without `execution.prepare`, and why."""

COUNTS_BYTES: Mapping[str, str] = {
    "qsim_ex_cirq/resolvers.py": "how many final states a caller of Cirq is given at a time, no memory of the engine",
}
"""Files that count the bytes of a state, and why."""


def one_divider(sources: Sequence[Source]) -> Rule:
    """Find nodes of a `Program` that are made outside `program/`, and programs that are made outside one file of it.

    A call of ``Segment`` or ``BranchPoint`` makes a node; a save is an instruction too, so anybody may make one.
    """
    made = [(one, call, last_name(call.func)) for one in sources for call in one.calls()]
    dividers = [(one, call) for one, call, name in made if name == "Program" and one.path.startswith(PROGRAM)]
    found = [
        one.find(call, f"makes a {name}")
        for one, call, name in made
        if name in ("Segment", "BranchPoint") and not one.path.startswith(PROGRAM)
    ]
    files = {one.path for one, _ in dividers}
    if len(files) > 1:
        found += [one.find(call, "makes a Program, as another file does") for one, call in dividers]
    if not files:
        found.append(Finding(PROGRAM, 1, "nothing makes a Program here"))
    return Rule("dividers", str(len(files | {one.path for one in found})), "1", tuple(found))


def one_prepare(sources: Sequence[Source]) -> Rule:
    """Find work that is prepared, or plans that are bound to numbers, elsewhere than in `execution.prepare`.

    Seen are calls of methods ``prepare`` and ``prepare_batch`` outside `devices/` and `kernels/`, and imports of
    ``fill``, ``fill_batch`` and ``bind`` from the planner's module ``binding``, outside `planning/`.
    """
    apart = (f"{ENGINE}devices/", f"{ENGINE}kernels/", f"{ENGINE}planning/")
    found = [place for one in sources if not one.path.startswith(apart) for place in _prepared(one)]
    files = {one.path for one in found}
    broken = [one for one in found if one.path not in (PREPARE, *PREPARES_ITSELF)]
    broken += [Finding(path, 1, "prepares nothing") for path in (PREPARE, *PREPARES_ITSELF) if path not in files]
    number = f"{len(files - PREPARES_ITSELF.keys())}, beside {_reasons(PREPARES_ITSELF)}"
    return Rule("prepares", number, "1", tuple(broken))


def _prepared(one: Source) -> Iterator[Finding]:
    for node in ast.walk(one.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="prepare" | "prepare_batch" as name)):
                yield one.find(node, f"calls {name} of a device")
            case ast.ImportFrom(module=str(module), names=names) if module.endswith(".binding"):
                if bound := {alias.name for alias in names} & {"fill", "fill_batch", "bind"}:
                    yield one.find(node, f"binds a plan by {', '.join(sorted(bound))}")


def one_executor(sources: Sequence[Source]) -> Rule:
    """Find steps of a plan that are run elsewhere than in the loop of `placement.executor`.

    Seen are ``for`` loops over something named ``steps`` that give what they go over to ``run``, ``run_batch`` or
    ``launch``, and calls of ``device.run`` and ``device.run_batch``. A step that is made in the call itself, such as
    one that writes zeros, is of no plan and may be run by any placement.
    """
    loops = [(one, place) for one in sources for place in _loops(one)]
    found = [place for one, place in loops if one.path != EXECUTOR]
    found += [place for one in sources if one.path != EXECUTOR for place in _told(one)]
    if sum(one.path == EXECUTOR for one, _ in loops) != 1:
        found.append(Finding(EXECUTOR, 1, "this file should have one loop that runs steps"))
    return Rule("executor loops", str(len(loops)), "1", tuple(found))


def _loops(one: Source) -> Iterator[Finding]:
    for node in ast.walk(one.tree):
        if not isinstance(node, ast.For):
            continue
        if not any(last_name(part) == "steps" for part in ast.walk(node.iter)):
            continue
        stepped = {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
        calls = [part for line in node.body for part in ast.walk(line) if isinstance(part, ast.Call)]
        for call in calls:
            if last_name(call.func) in ("run", "run_batch", "launch") and stepped & set(map(last_name, call.args)):
                yield one.find(node, "a loop that runs steps")
                break


def _told(one: Source) -> Iterator[Finding]:
    for call in one.calls():
        match call:
            case ast.Call(func=ast.Attribute(value=of, attr="run" | "run_batch"), args=[_, _, step, *_]):
                if last_name(of) == "device" and not isinstance(step, ast.Call):
                    yield one.find(call, "tells a device to run a step")


def one_sum_of_memory(sources: Sequence[Source]) -> Rule:
    """Find bytes of a state that are counted outside `placement/`, but for ``state_bytes`` in `devices.memory`.

    Seen is ``nbytes(1 << bits)`` of a `Storage`, with any count that is a shift. `kernels/` counts bytes of its own
    tables so, and is left out. What planning counts as costs, ``storage.bytes * 2.0**bits``, is time and no memory.
    """
    found = [
        one.find(call, "counts the bytes of a state; use devices.memory.state_bytes, or the placement's own sum")
        for one in sources
        if one.path not in (STATE_BYTES, *COUNTS_BYTES)
        if not one.path.startswith((f"{ENGINE}placement/", f"{ENGINE}kernels/"))
        for call in one.calls()
        if last_name(call.func) == "nbytes"
        if any(isinstance(part, ast.LShift) for given in call.args for part in ast.walk(given))
    ]
    number = f"{len(found)}, beside {_reasons(COUNTS_BYTES)}"
    return Rule("sums of memory outside placement/", number, "0", tuple(found))


def _reasons(exceptions: Mapping[str, str]) -> str:
    return "; ".join(f"{path.removeprefix(ENGINE)} ({why})" for path, why in exceptions.items())
