"""One mutant, and what became of it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Outcome = Literal["killed", "survived", "equivalent", "none"]
"""none: it does not compile."""


@dataclass(frozen=True)
class Mutant:
    """One small change of one source.

    path: of the source, relative to the checkout. line, until: the lines of the statement that is changed, from 1.
    operator: who changed it. before, after: the lines that differ. text: the whole source as it is then.
    """

    path: str
    room: str
    line: int
    until: int
    operator: str
    before: str
    after: str
    text: str

    @property
    def name(self) -> str:
        """A name that stays while its source does."""
        return hashlib.sha256(f"{self.path}\0{self.text}".encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Result:
    """What became of a mutant. by: the test that told it apart, "" if none did or it cannot be said."""

    name: str
    path: str
    room: str
    line: int
    operator: str
    before: str
    after: str
    outcome: Outcome
    by: str
    seconds: float

    @classmethod
    def of(cls, mutant: Mutant, outcome: Outcome, by: str = "", seconds: float = 0.0) -> Result:
        """Say what became of a mutant."""
        kept = {key: value for key, value in asdict(mutant).items() if key not in ("text", "until")}
        return cls(name=mutant.name, **kept, outcome=outcome, by=by, seconds=round(seconds, 2))

    def line_of_log(self) -> str:
        """Return all of it in a line."""
        where = f"{self.path}:{self.line} {self.operator}"
        return f"{self.outcome} {where}: {self.before} -> {self.after} | {self.by} | {self.seconds} s"


class Record:
    """The results in a file, one JSON line each. What stands there is not run again."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        self._results = {one.name: one for one in (Result(**json.loads(line)) for line in lines)}

    def __contains__(self, name: str) -> bool:
        return name in self._results

    def add(self, result: Result) -> None:
        """Append a result; of two of one mutant the later one counts."""
        with self._lock, self._file.open("a", encoding="utf-8") as out:
            self._results[result.name] = result
            out.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")

    def __getitem__(self, name: str) -> Result:
        return self._results[name]


def differing(before: str, after: str) -> tuple[str, str]:
    """Return the lines in which two texts differ, stripped: those from the first that differs to the last."""
    olds, news = before.splitlines(), after.splitlines()
    start = next((k for k, (old, new) in enumerate(zip(olds, news, strict=False)) if old != new), 0)
    end = next((k for k, (old, new) in enumerate(zip(olds[::-1], news[::-1], strict=False)) if old != new), 0)
    end = min(end, len(olds) - start, len(news) - start)
    return tuple(" ".join(line.strip() for line in lines[start : len(lines) - end]) for lines in (olds, news))


def share(results: Sequence[Result]) -> float:
    """Return which share of the mutants that can be told apart was killed."""
    killed, survived = (sum(one.outcome == outcome for one in results) for outcome in ("killed", "survived"))
    return killed / (killed + survived) if killed + survived else 1.0


def table(results: list[Result]) -> str:
    """Return how many were killed and survived, by room."""
    rooms = sorted({one.room for one in results})
    rows = [(room, [one for one in results if one.room == room]) for room in rooms] + [("all", results)]
    lines = [f"{'room':24} {'mutants':>8} {'killed':>8} {'equivalent':>11} {'survived':>9} {'killed of others':>17}"]
    for room, found in rows:
        killed, equal, left = (
            sum(one.outcome == outcome for one in found) for outcome in ("killed", "equivalent", "survived")
        )
        lines.append(f"{room:24} {len(found):8} {killed:8} {equal:11} {left:9} {share(found):>17.1%}")
    return "\n".join(lines)
