"""Tests the random numbers of shots with dieharder: ``python tools/randomness.py``, or ``--stream`` to another program.

The numbers are those that shots, choices and channels draw (`qsim_ex.observe.sampling.uniforms_of`), the highest 32
bits of each. Two streams are tested: many shots of one seed, and few shots of many seeds and instructions that follow
each other, since no two keys may look alike either.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import count

from qsim_ex.observe.sampling import uniforms_of

STREAMS = {"shots": (1 << 18, 1), "keys": (32, 1 << 10)}
"""By name: the shots of each instruction of a seed, and how many seeds are drawn for together."""

TESTS = (0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 15, 16, 17, 100, 101, 102, 201, 202, 205, 206, 208, 209)
"""Numbers of dieharder's tests, but for those that its authors call suspect; some take minutes."""

WIDTHS = {201: (2, 3, 4, 5), 202: (2, 3, 4, 5)}
"""Dimensions of points, and numbers that are ordered together, as ``dieharder -a`` has them; others have one way."""

SAMPLES = {201: 100}
"""P-values that are tested together, where it would be 1,000, which take half an hour."""


def stream(shots: int, seeds: int) -> Iterator[bytes]:
    """Yield the bytes of a stream, without end."""
    for number in count():
        instruction, first = number % 4, number // 4 * seeds
        numbers = uniforms_of(range(first, first + seeds), instruction, shots)
        yield (numbers * (1 << 32)).astype("<u4").tobytes()


def write(name: str) -> None:
    """Write a stream to the standard output until nobody reads it."""
    try:
        for piece in stream(*STREAMS[name]):
            sys.stdout.buffer.write(piece)
    except BrokenPipeError:
        sys.stderr.close()  # or Python says that it could not flush


def tested(name: str, tests: tuple[int, ...]) -> Iterator[str]:
    """Yield what dieharder prints about a stream, a line for each test."""
    for test, width in ((number, width) for number in tests for width in WIDTHS.get(number, (0,))):
        source = subprocess.Popen([sys.executable, __file__, "--stream", name], stdout=subprocess.PIPE)
        ways = ["-d", str(test), "-n", str(width), "-p", str(SAMPLES.get(test, 0)), "-k", "2"]
        told = [f"-D{column}" for column in ("test_name", "ntuple", "psamples", "pvalues", "assessment")]
        asked = ["dieharder", "-g", "200", *ways, "-c", ",", *told]
        found = subprocess.run(asked, stdin=source.stdout, capture_output=True, text=True, check=True)
        source.kill()
        source.wait()
        for line in found.stdout.splitlines():
            if line.strip() and not line.startswith("#"):
                yield f"{name}, {line.strip()}"


def failed(lines: list[str]) -> list[str]:
    """Return the lines that say that a test failed; one in 200 is weak by chance."""
    return [line for line in lines if "FAILED" in line]


def main() -> int:
    """Write a stream, or test both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stream", choices=STREAMS, help="write this stream and test nothing")
    parser.add_argument("--tests", type=int, nargs="*", default=TESTS, help="numbers of dieharder's tests")
    given = parser.parse_args()
    if given.stream:
        write(given.stream)
        return 0
    if shutil.which("dieharder") is None:
        print("dieharder is not installed: apt-get install dieharder")
        return 2
    lines = []
    for name in STREAMS:
        for line in tested(name, tuple(given.tests)):
            print(line, flush=True)
            lines.append(line)
    wrong = failed(lines)
    print(f"{len(lines)} tests, {sum('WEAK' in line for line in lines)} weak, {len(wrong)} failed")
    return 1 if wrong or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
