"""`PlanPicture`: a picture of plans that a notebook shows and that can be saved.

matplotlib is imported when a picture is asked for. No window is opened and no setting is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qsim_ex.display.plans.chart import PlanChart
from qsim_ex.errors import MissingPackage, OptionError
from qsim_ex.later import later

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qsim_ex.display.plans import colors as plan_colors
    from qsim_ex.display.plans import drawing as plan_drawing
    from qsim_ex.display.plans.drawing import Moment
else:
    plan_colors = later("qsim_ex.display.plans.colors")
    plan_drawing = later("qsim_ex.display.plans.drawing")


@dataclass(frozen=True, eq=False)
class PlanPicture:
    """A picture that a notebook shows; `figure` is matplotlib's, for further drawing."""

    figure: Figure

    def save(self, path: str | Path) -> None:
        """Write the picture to a file; its suffix says the format, such as .svg, .png or .pdf."""
        kind = Path(path).suffix.removeprefix(".").lower()
        known = sorted(self.figure.canvas.get_supported_filetypes())
        if kind not in known:
            raise OptionError(f"expected a file name that ends in one of {', '.join(known)}, got {str(path)!r}.")
        with _settings():
            self.figure.savefig(path, dpi=150, metadata={"Date": None} if kind == "svg" else None)

    def svg(self) -> str:
        """Return the picture as SVG."""
        page = StringIO()
        with _settings():
            self.figure.savefig(page, format="svg", metadata={"Date": None})
        text = page.getvalue()
        return text[text.index("<svg") :]

    def _repr_svg_(self) -> str:
        return self.svg()


def _settings() -> Any:
    """Return the settings under which a picture is drawn: the same picture in every run, with letters as paths."""
    import matplotlib as mpl

    return mpl.rc_context({"svg.hashsalt": "qsim-ex", "svg.fonttype": "path", "font.size": 9})


def drawn(
    charts: Sequence[PlanChart], timings: Mapping[str, float], watched: Sequence[Moment] = (), *, dark: bool = False
) -> PlanPicture:
    """Return the picture of some plans, which follow one another from left to right.

    timings, watched: of a run that has happened; see `Explanation.plot`.
    """
    try:
        import matplotlib as mpl  # noqa: F401  (the drawing needs it)
    except ImportError:
        raise MissingPackage(
            "a picture of a plan needs matplotlib, which is not installed; pip install 'qsim-ex[plots]'."
        ) from None
    if not any(chart.steps for chart in charts):
        raise OptionError("expected a plan with steps, got none; nothing of this circuit is planned.")
    with _settings():
        return PlanPicture(
            plan_drawing.PlanDrawing(charts, plan_colors.DARK if dark else plan_colors.LIGHT).figure(timings, watched)
        )
