"""Progress bars and notices on stderr, in terminals and in notebooks; nothing is ever written to stdout.

A bar has a thread of its own, which looks at the counts of the work four times a second. The work itself only stores
two numbers, and work that ends before its bar would appear shows nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from concurrent.futures import Future

DELAY, ASKED_DELAY = 3.0, 0.5
"""The seconds of work before a bar appears, without ``progress=True`` and with it."""

_EVERY = 0.25
"""The seconds between two looks at the counts."""

_LINES_EVERY = 10.0
"""The seconds between two lines of a bar in a file, such as the log of a batch system."""


def interactive() -> bool:
    """Return whether a user would see a bar: in a notebook, or where stderr is a terminal; not in worker processes."""
    processes: Any = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return False
    return in_notebook() or in_terminal()


def in_terminal() -> bool:
    """Return whether stderr is a terminal."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")


class Bar:
    """A bar for one piece of work; use it in ``with``, so that it ends with the work, also by an error or Ctrl-C.

    what: the name of the things that are counted, such as "steps"; until a total is known, what is being done. delay:
    the seconds before it appears.
    """

    def __init__(self, what: str, delay: float = DELAY) -> None:
        self.what = what
        self.done, self.total = 0, 0
        self._delay = delay
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._show, name="qsim-ex-bar", daemon=True)

    def update(self, done: int, total: int) -> None:
        """Say that `done` of `total` things are done; any thread may call it."""
        self.done, self.total = done, total

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _show(self) -> None:
        began = perf_counter()
        if self._over.wait(self._delay):
            return
        with _screen()(self) as draw:
            draw(perf_counter() - began)
            while not self._over.wait(_EVERY):
                draw(perf_counter() - began)


def bar_of(progress: object, what: str) -> Bar | None:
    """Return the bar that the option `progress` asks for, None if there is to be none.

    True asks for one in any case; None for one if a user would see it.
    """
    if progress is True:
        return Bar(what, ASKED_DELAY)
    return Bar(what) if progress is None and interactive() else None


@contextmanager
def counted(progress: object, what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar for `total` things; yield the function to be called after each of them.

    progress: the option of this name; of a function there is no bar, since the function is called by each run. One
    thing alone has none either.
    """
    bar = bar_of(progress, what) if total > 1 else None
    if bar is None:
        yield _nothing
        return
    bar.update(0, total)
    lock = threading.Lock()

    def one() -> None:
        with lock:
            bar.update(bar.done + 1, total)

    with bar:
        yield one


def followed(futures: Sequence[Future[Any]], sizes: Sequence[int], progress: object, what: str) -> None:
    """Show a bar until all futures have ended; sizes: how many things each of them counts for."""
    bar, total, lock = bar_of(progress, what), sum(sizes), threading.Lock()
    if bar is None:
        return
    bar.update(0, total)
    bar.__enter__()

    def ended(size: int, _: Future[Any]) -> None:
        with lock:
            bar.update(bar.done + size, total)
        if bar.done == total:
            bar.__exit__(None, None, None)

    for future, size in zip(futures, sizes, strict=True):
        future.add_done_callback(partial(ended, size))


def _nothing() -> None:
    """Count nothing: there is no bar."""


# --- where a bar is drawn --------------------------------------------------------------------------------------------

Draw = Callable[[float], None]
"""Draws a bar, given the seconds since its work began."""


def _screen() -> Callable[[Bar], Any]:
    """Return the place for bars: a context manager that yields a function to draw with."""
    return _notebook if in_notebook() else _terminal if in_terminal() else _file


def words(bar: Bar, seconds: float) -> str:
    """Return how far the work is, and the time left at the present rate."""
    if not bar.total:
        return f"qsim-ex: {bar.what}, {duration(seconds)}"
    far = f"qsim-ex: {bar.done:,} of {bar.total:,} {bar.what} ({bar.done / bar.total:.0%}), {duration(seconds)}"
    if not 0 < bar.done < bar.total:
        return far
    return f"{far}, about {duration(seconds / bar.done * (bar.total - bar.done))} left"


def duration(seconds: float) -> str:
    """Return a time as 5 s, 2:05 min or 1:01 h."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds) // 60
    return f"{minutes}:{int(seconds) % 60:02d} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d} h"


@contextmanager
def _terminal(bar: Bar) -> Iterator[Draw]:
    """Draw on a line of the terminal that is erased at the end; bars of several threads share one display."""
    with _live as live:
        task = live.add_task("", total=None)

        def draw(seconds: float) -> None:
            live.update(task, description=words(bar, seconds), completed=bar.done, total=bar.total or None)

        try:
            yield draw
        finally:
            live.remove_task(task)


class _Live:
    """The one display of rich in this process, which exists as long as a bar is shown."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._display: Any = None

    def __enter__(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        with self._lock:
            if not self._users:
                # What a program prints meanwhile stays on its own stream, which may be a file.
                self._display = Progress(
                    BarColumn(bar_width=32),
                    TextColumn("{task.description}"),
                    console=Console(stderr=True),
                    transient=True,
                    redirect_stdout=False,
                    redirect_stderr=False,
                )
                self._display.start()
            self._users += 1
            return self._display

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._display.stop()


_live = _Live()


@contextmanager
def _notebook(bar: Bar) -> Iterator[Draw]:
    """Draw below the cell of a notebook; the line is empty at the end."""
    page: Any = import_module("IPython.display")
    line = page.display(page.HTML(""), display_id=True)

    def draw(seconds: float) -> None:
        drawn = f"<progress value='{bar.done}' max='{bar.total or 1}'></progress> {words(bar, seconds)}"
        line.update(page.HTML(drawn))

    try:
        yield draw
    finally:
        line.update(page.HTML(""))


@contextmanager
def _file(bar: Bar) -> Iterator[Draw]:
    """Write a line now and then, and one at the end: stderr is a file, and the user has asked for a bar."""
    began = latest = perf_counter()

    def draw(seconds: float) -> None:
        nonlocal latest
        if perf_counter() - latest >= _LINES_EVERY:
            latest = perf_counter()
            _write(words(bar, seconds))

    yield draw
    _write(words(bar, perf_counter() - began))


def _write(line: str) -> None:
    if sys.stderr is not None:  # a program without a console has none
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
