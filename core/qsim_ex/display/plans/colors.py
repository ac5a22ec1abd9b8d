"""The colors of a picture of a plan, on a light ground and on a dark one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Colors:
    """The colors of a picture. nearness: from absent to registers. spans: of the parts of a run, in their order."""

    ground: str
    ink: str
    grid: str
    nearness: tuple[str, str, str, str]
    spans: tuple[str, str, str, str, str]
    sweep: str
    motion: str


LIGHT = Colors(
    ground="#ffffff",
    ink="#1c2733",
    grid="#d5dde6",
    nearness=("#ffffff", "#dbe7f6", "#8fb8e0", "#1f5fa8"),
    spans=("#c3ccd6", "#8fb8e0", "#b9a5d8", "#1f5fa8", "#6aa78a"),
    sweep="#d9822b",
    motion="#b3261e",
)
DARK = Colors(
    ground="#14181f",
    ink="#dde5ee",
    grid="#2b3543",
    nearness=("#14181f", "#233145", "#3a6ea5", "#a9d2ff"),
    spans=("#566373", "#3a6ea5", "#8b74b8", "#a9d2ff", "#6aa78a"),
    sweep="#f0a04b",
    motion="#ff7a70",
)
