"""From a chart to a picture, without a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from choral.errors import ChoralError, ProblemError
from choral.files import write_whole
from choral.show.style import following


def as_svg(chart: Any) -> str:
    """The chart as SVG."""
    return str(_converter().vegalite_to_svg(chart.to_json(validate=False)))


def as_following_svg(chart: Any) -> str:
    """The chart as SVG that is dark for readers who want dark pages."""
    return following(as_svg(chart))


def as_png(chart: Any) -> bytes:
    """The chart as PNG, of 144 dots per inch."""
    return bytes(_converter().vegalite_to_png(chart.to_json(validate=False), scale=2))


def save_plot(chart: Any, path: Path, force: bool = False) -> None:
    """Write a chart as .svg or .png, whole or not at all; an existing file is kept unless `force`."""
    if path.suffix not in (".svg", ".png"):
        raise ProblemError(f"{path} is neither .svg nor .png.", "Choose one of these endings.")
    write_whole(path, as_svg(chart) if path.suffix == ".svg" else as_png(chart), force)


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise ChoralError("vl-convert is not installed.", "Install it: pip install 'choral[plots]'.") from error
    return vl_convert
