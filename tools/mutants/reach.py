"""Which tests reach which line of the product: noted once, by coverage.py, over a sample of the tests."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


OF_ALL = 3.0
"""How many seconds all cases of a test are taken to need, of which a few were noted."""


@dataclass(frozen=True)
class Reach:
    """What was noted. seconds: of each test. lines: by file and line, the tests that ran it."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]

    @classmethod
    def read(cls, files: Iterable[Path]) -> Reach:
        """Read what `Noting` wrote in one process or several."""
        seconds: dict[str, float] = {}
        lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        for file in files:
            told = json.loads(file.read_text(encoding="utf-8"))
            names = list(told["seconds"])
            seconds |= told["seconds"]
            for path, found in told["lines"].items():
                for line, numbers in found.items():
                    lines[path][int(line)] += [names[number] for number in numbers]
        return cls(seconds, lines)

    @cached_property
    def breadth(self) -> dict[str, int]:
        """How many lines each test reaches."""
        counts = dict.fromkeys(self.seconds, 0)
        for found in self.lines.values():
            for names in found.values():
                for name in names:
                    counts[name] += 1
        return counts

    def length(self, test: str) -> float:
        """Return how many seconds a test takes, or all cases of one."""
        return self.seconds.get(test, OF_ALL)

    def tests(self, path: str, line: int, until: int) -> list[str]:
        """Return the tests that run a line (to `until`, where a statement goes on), the nearest and quickest first.

        A line that runs only when its file is imported is reached by every test that runs a line of the file.
        """
        found = self.lines.get(path, {})
        names = {name for at in range(line, until + 1) for name in found.get(at, [])}
        if not names:
            names = {name for at in found for name in found[at]}
        room = path.removeprefix("core/qsim_ex/").split("/")[0]
        stem = Path(path).stem

        def near(name: str) -> tuple[float, ...]:
            file = name.split("::", maxsplit=1)[0]
            apart = (f"test_{stem}.py" not in file) + (f"tests/{room}/" not in file)
            return apart, self.seconds[name] * 1000 + self.breadth[name] ** 0.5

        return sorted(names, key=near)


@dataclass
class Noting:
    """Notes what tests reach, from now on. file: where it is written."""

    file: str
    seconds: dict[str, float] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        import coverage

        self._coverage = coverage.Coverage(data_file=None, source=[str(ROOT / "core/qsim_ex")], config_file=False)
        self._coverage.start()

    def begin(self, test: str) -> None:
        """Lines belong to this test from now on."""
        self._coverage.switch_context(test)

    def end(self, test: str, seconds: float) -> None:
        """Lines belong to no test."""
        self._coverage.switch_context("")
        self.seconds[test] = round(seconds, 4)

    def drop(self, test: str) -> None:
        """Forget a test."""
        self.dropped.add(test)

    def write(self) -> None:
        """Write what was noted."""
        self._coverage.stop()
        kept = {name: seconds for name, seconds in self.seconds.items() if name not in self.dropped}
        number = {name: k for k, name in enumerate(kept)}
        data = self._coverage.get_data()
        lines = {}
        for path in data.measured_files():
            by_line = data.contexts_by_lineno(path)
            found = {line: sorted(number[name] for name in names if name in number) for line, names in by_line.items()}
            lines[str(Path(path).relative_to(ROOT))] = {line: names for line, names in found.items() if names}
        Path(self.file).write_text(json.dumps({"seconds": kept, "lines": lines}), encoding="utf-8")
