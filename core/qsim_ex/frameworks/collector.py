"""Work that makes many objects, and none that only the garbage collector could free."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def uncollected(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return a function that the garbage collector does not interrupt.

    Translating a circuit makes some objects for each gate. The collector would walk over all of them, and over all that
    the user's program holds, several times, and find nothing: that is a quarter of a translation. It runs afterwards.
    """

    @wraps(function)
    def run(*given: Given.args, **named: Given.kwargs) -> Result:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return function(*given, **named)
        finally:
            if enabled:
                gc.enable()

    return run
