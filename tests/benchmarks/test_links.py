"""The benchmark of links measures full migrations and whole exchanges, and counts their bytes."""

import json
from pathlib import Path

import pytest

from benchmarks import copies, links
from benchmarks.peers.base import Setup

RATES = {f"peers XOR {mask}": 1e9 for mask in range(1, 8)}


@pytest.mark.parametrize("migration", [1, 2, 4])
@pytest.mark.parametrize("variant", ["whole", "spread"])
def test_a_migration_moves_what_does_not_stay(migration: int, variant: str) -> None:
    """A visit that is timed as a full migration moves each window once that does not stay on the device."""
    setup = Setup(11, "single", 1, device_wires=11 - migration)
    row = links.migration("cpu", setup, variant, 1e9, repeat=2)
    stays = row.facts["slots"]
    assert stays == min(3, (1 << migration) - 1)
    assert row.moved == 2 * ((1 << migration) - stays) * (8 << setup.local)
    assert row.to_json()["of_ceiling"] == pytest.approx(row.moved / row.seconds / 1e9)


@pytest.mark.parametrize("gpus", [2, 4, 8])
def test_an_exchange_sends_its_part(gpus: int) -> None:
    """An exchange of some device bits sends the same part of the state every time."""
    rows = list(links.exchanges("cpu", Setup(11, "double", 1, gpus=gpus), RATES, repeat=2))
    size = (16 << 11) // gpus
    assert [row.moved for row in rows] == [size - (size >> bits) for bits in range(1, gpus.bit_length())]
    assert all(row.ceiling == pytest.approx(1e9) for row in rows)


def test_ceilings_copy_every_piece() -> None:
    """A ceiling copies every piece, and there is one for each pair of partners."""

    class Counting(copies.NumpyCopier):
        piece = 1000

        def __init__(self) -> None:
            self.pairs: list[int] = []

        def copy(self, to: object, source: object, queue: object) -> None:
            super().copy(to, source, queue)
            self.pairs.append(len(to))  # type: ignore[arg-type]

    copier = Counting()
    found = copies.ceilings(copier, 4, repeat=1)["bytes_per_second"]
    assert list(found) == ["host to device", "device to host", "both ways", *[f"peers XOR {k}" for k in (1, 2, 3)]]
    assert len(copier.pairs) == 2 * (2 + 2 + 4 + 3 * 4)  # each once before it is timed
    assert all(rate > 0 for rate in found.values())


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints and writes every migration, exchange and ceiling."""
    out = tmp_path / "links.json"
    asked = ["cpu", "--n", "11", "--device-wires", "9", "--gpus", "2", "--repeat", "1", "--commit", "c"]
    assert links.main([*asked, "--out", str(out)]) == 0
    names = [row["name"] for row in json.loads(out.read_text())["rows"]]
    assert names == [
        "migration, 2 migration wires, whole",
        "migration, 2 migration wires, spread",
        "exchange of 1 device bits",
    ]
    printed = capsys.readouterr().out
    assert all(name in printed for name in [*names, "both ways", "peers XOR 1"])


def test_a_state_that_does_not_migrate_is_refused() -> None:
    """A state in one piece, which does not migrate, ends the command."""
    with pytest.raises(SystemExit):
        links.main(["cpu", "--n", "11", "--device-wires", "11"])
