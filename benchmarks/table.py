"""Render a result as a markdown table and a plot: ``python -m benchmarks.table FILE.json``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

from benchmarks import turns
from benchmarks.families import EXTRA, FAMILIES

OURS = "ours"


@dataclass(frozen=True)
class Best:
    """The fastest correct variant of one peer in one case."""

    median: float
    variant: str


@dataclass(frozen=True)
class Block:
    """All cases of one size and precision: family -> peer -> its best."""

    n: int
    precision: str
    rows: Mapping[str, Mapping[str, Best]]
    gates: Mapping[str, int]

    def ratio(self, family: str, peer: str) -> float | None:
        """Return how many times longer the peer takes than ours."""
        row = self.rows[family]
        return row[peer].median / row[OURS].median if OURS in row and peer in row else None

    def best_ratio(self, family: str) -> float | None:
        """Return the ratio of the fastest peer to ours."""
        ratios = [self.ratio(family, peer) for peer in self.rows[family] if peer != OURS]
        return min((r for r in ratios if r is not None), default=None)


def blocks(document: Mapping[str, Any]) -> list[Block]:
    """Group the cells of a result; a wrong answer has no time."""
    grouped: dict[tuple[int, str], dict[str, dict[str, Best]]] = {}
    gates: dict[tuple[int, str], dict[str, int]] = {}
    for cell in document["cells"]:
        key = (cell["n"], cell["precision"])
        row = grouped.setdefault(key, {}).setdefault(cell["family"], {})
        gates.setdefault(key, {})[cell["family"]] = cell["gates"]
        if cell["median"] is None or cell["correct"] is False:
            continue
        best = Best(cell["median"], cell["variant"])
        if cell["peer"] not in row or best.median < row[cell["peer"]].median:
            row[cell["peer"]] = best
    return [Block(*key, rows, gates[key]) for key, rows in grouped.items()]


def geometric_mean(ratios: Iterable[float | None]) -> float | None:
    """Return the geometric mean of the ratios that are there."""
    logs = [log(r) for r in ratios if r is not None]
    return exp(sum(logs) / len(logs)) if logs else None


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}×"


def _cell(block: Block, family: str, peer: str) -> str:
    best = block.rows[family].get(peer)
    if best is None:
        return "–"
    text = f"{best.median * 1e3:.4g}"
    ratio = block.ratio(family, peer)
    return text if peer == OURS or ratio is None else f"{text} ({_times(ratio)})"


def _block_table(block: Block, peers: Sequence[str]) -> list[str]:
    """Render one size and precision; the last row is the geometric mean over the seven families."""
    others = [p for p in peers if p != OURS]
    lines = [
        f"### n = {block.n}, {block.precision} precision",
        "",
        "| family | gates | " + " | ".join(f"{p}, ms" for p in peers) + " | best peer / ours |",
        "| --- " * (len(peers) + 3) + "|",
    ]
    titles = {f.name: f.title for f in (FAMILIES | EXTRA).values()}
    for family in block.rows:
        cells = [_cell(block, family, p) for p in peers]
        row = [titles[family], str(block.gates[family]), *cells, _times(block.best_ratio(family))]
        lines.append("| " + " | ".join(row) + " |")
    seven = [f for f in block.rows if f in FAMILIES]
    means = [geometric_mean(block.ratio(f, p) for f in seven) for p in others]
    best = geometric_mean(block.best_ratio(f) for f in seven)
    blank = [""] if OURS in peers else []
    row = ["**geometric mean**", "", *blank, *map(_times, means), f"**{_times(best)}**"]
    return [*lines, "| " + " | ".join(row) + " |", ""]


def _plans_table(document: Mapping[str, Any], block: Block) -> list[str]:
    """Say what ours did in the measured time: passes, bytes and arithmetic, counted from the plan."""
    rows = []
    for cell in document["cells"]:
        found = cell["extras"]
        here = (cell["n"], cell["precision"]) == (block.n, block.precision)
        if here and cell["peer"] == OURS and cell["median"] and "sweeps" in found and not cell.get("facts"):
            seconds = cell["median"]
            row = [f"{found['sweeps']:.0f}", f"{found['bytes'] / 2**30:.3g}", f"{found['bytes'] / seconds / 1e9:.4g}"]
            row += [f"{found['fma']:.3g}", f"{found['fma'] / seconds / 1e9:.4g}"]
            rows.append("| " + " | ".join([(FAMILIES | EXTRA)[cell["family"]].title, *row]) + " |")
    if not rows:
        return []
    titles = ["ours", "sweeps", "GiB moved", "GB/s", "multiply-adds", "10⁹ a second"]
    return ["| " + " | ".join(titles) + " |", "| --- " * len(titles) + "|", *rows, ""]


def _levels_table(document: Mapping[str, Any], block: Block) -> list[str]:
    """Say what ours moved between memories, as planned and as counted, and how well the time was predicted."""
    rows = []
    for cell in document["cells"]:
        facts = cell.get("facts") or {}
        here = (cell["n"], cell["precision"]) == (block.n, block.precision)
        if not (here and cell["peer"] == OURS and cell["median"] and "planned" in facts):
            continue
        planned, gib = facts["planned"], 2**30
        host = sum(facts.get("bytes_from_host", ())) + sum(facts.get("bytes_to_host", ()))
        sent = sum(facts.get("bytes_sent", {}).values())
        row = [f"{planned['passes']}", f"{planned['bytes_host'] / gib:.4g}", f"{host / gib:.4g}"]
        row += [f"{planned['exchanges']}", f"{planned['bytes_peers'] / gib:.4g}", f"{sent / gib:.4g}"]
        row += [f"{max(facts.get('peak_device_bytes') or facts['bytes_held']) / gib:.4g}"]
        row += [f"{facts['bytes_held_on_host'] / gib:.4g} {facts.get('host_memory_kind', '')}".strip()]
        row += [f"{cell['median'] * 1e3:.4g}", f"{planned['seconds'] * 1e3:.4g}"]
        name = f"{(FAMILIES | EXTRA)[cell['family']].title}, {cell['variant']}"
        rows.append("| " + " | ".join([name, *row]) + " |")
    if not rows:
        return []
    titles = ["ours", "passes", "GiB host link, planned", "counted", "exchanges", "GiB peers, planned", "counted"]
    titles += ["GiB most on a device", "GiB on the host", "ms", "ms predicted"]
    return ["| " + " | ".join(titles) + " |", "| --- " * len(titles) + "|", *rows, ""]


def _division(document: Mapping[str, Any]) -> list[str]:
    """Say how states were divided, and what the links between memories reach by plain copies."""
    gpus, wires = document.get("gpus", 1), document.get("device_wires")
    if gpus == 1 and wires is None:
        return []
    lines = [f"- states on {gpus} device{'s' * (gpus > 1)}" + (f", {wires} wires on each" if wires else "")]
    links = document.get("links") or {}
    found = [f"{name} {rate / 1e9:.4g} GB/s" for name, rate in links.get("bytes_per_second", {}).items()]
    return [*lines, f"- plain copies in this run: {', '.join(found)}"] if found else lines


def _header(document: Mapping[str, Any]) -> list[str]:
    """Say where, when and with what; name what is missing and what went wrong."""
    where = document["machine"]
    what = where["gpu"]["name"] if document["device"] == "gpu" and where["gpu"] else where["cpu"]
    lines = [f"{what}, {document['threads']} threads, {where['date']}, commit {document['commit']}."]
    lines += [f"{document['kind'].capitalize()}; medians of {document['repeat']} in ms (and ratio to ours).", ""]
    lines += [f"- {name} {p['version']}: {p['note']}" for name, p in document["peers"].items()]
    lines += _division(document)
    lines += [f"- not measured: {reason}" for reason in document["missing"].values()]
    for cell in document["cells"]:
        place = f"{cell['family']} n={cell['n']} {cell['precision']}, {cell['peer']}/{cell['variant']}"
        if cell["error"]:
            lines.append(f"- FAILED: {place}: {cell['error']}")
        elif cell["correct"] is False:
            lines.append(f"- WRONG: {place}: relative error {cell['deviation']:.1e}")
    if not all(cell["interleaved"] for cell in document["cells"]):
        lines.append("- the largest cases ran one peer after the other, for want of memory")
    return [*lines, ""]


def markdown(document: Mapping[str, Any]) -> str:
    """Render a result as markdown: a header, then one table per size and precision."""
    lines = _header(document)
    for block in blocks(document):
        present = {peer for row in block.rows.values() for peer in row}
        peers = [p for p in document["peers"] if p in present]
        lines += _block_table(block, peers) + _plans_table(document, block)
        lines += _levels_table(document, block)
    return "\n".join(lines)


def plot(document: Mapping[str, Any], path: Path) -> None:
    """Draw how many times longer the best peer takes than ours, per family and size."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullLocator

    drawn = [b for b in blocks(document) if any(b.best_ratio(f) for f in b.rows)]
    if not drawn:
        raise ValueError("nothing to draw: no case holds both our time and a peer's")
    families = [f for f in (FAMILIES | EXTRA) if any(f in b.rows for b in drawn)]
    figure, axes = plt.subplots(figsize=(5.2, 4.4), layout="constrained")  # so that a telephone shows its letters
    width = 0.8 / len(drawn)
    for k, block in enumerate(drawn):
        ratios = {i: block.best_ratio(f) for i, f in enumerate(families) if f in block.rows}
        bars = {i + (k - (len(drawn) - 1) / 2) * width: r for i, r in ratios.items() if r is not None}
        mean = geometric_mean(block.best_ratio(f) for f in block.rows if f in FAMILIES)
        label = f"{block.n} qubits, mean {_times(mean)}"
        # From 1 up or down: on a logarithmic axis a bar has no natural foot.
        shade = mpl.colormaps["viridis"](0.9 - 0.8 * k / max(1, len(drawn) - 1))
        axes.bar(list(bars), [r - 1 for r in bars.values()], width, bottom=1, label=label, color=shade)
    axes.axhline(1, color="black", linewidth=1)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}×")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", alpha=0.3)
    axes.set_xticks(range(len(families)), families)
    axes.set_title(f"best peer's time / ours, {drawn[0].precision} precision", fontsize="medium")
    figure.legend(fontsize="small", loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path, dpi=200)
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table of a file and draw its plot if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--plot", type=Path, help="write a plot of the ratios to this file")
    chosen = parser.parse_args(argv)
    document = json.loads(chosen.file.read_text())
    if document["kind"] in turns.KINDS:
        print(turns.markdown(document))
        return 0
    print(markdown(document))
    if chosen.plot:
        plot(document, chosen.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
