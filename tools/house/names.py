"""A class name means one thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tools.house.sources import ENGINE, Finding, Rule, Source


def class_names(sources: Sequence[Source]) -> Rule:
    """Find class names that the engine defines more than once, private and nested classes too.

    Names that are assigned, such as unions and aliases of types, are not seen.
    """
    places: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for one in sources:
        if one.path.startswith(ENGINE):
            for node in one.classes():
                places[node.name].append((one.path, node.lineno))
    twice = {name: where for name, where in sorted(places.items()) if len(where) > 1}
    found = tuple(
        Finding(*where[0], f"class {name}, which is also at " + ", ".join(f"{path}:{line}" for path, line in where[1:]))
        for name, where in twice.items()
    )
    return Rule("class names with two meanings", f"{len(twice)} of {len(places)}", "0", found)
