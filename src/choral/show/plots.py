"""Pictures, one Vega-Lite specification each, drawn without a browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from choral.errors import ChoralError
from choral.front import CurvePoint

INK = "#1b1b1b"
BLUE = "#0b5fa5"


def capacity_plot(points: Sequence[CurvePoint], subtitle: str) -> Any:
    """Information against n, with the certified interval as a band; n is on a logarithmic scale."""
    alt = _altair()
    rows = [{"n": p.n, "information": p.information, "upper bound": p.upper_bound} for p in points]
    best = max(points, key=lambda p: p.information)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("n:Q", scale=alt.Scale(type="log"), title="samples n (logarithmic)"),
    )
    band = base.mark_area(color=BLUE, opacity=0.25).encode(
        y=alt.Y("information:Q", title="disclosed about W (bits)"), y2="upper bound:Q"
    )
    line = base.mark_line(color=BLUE, point=alt.OverlayMarkDef(color=INK, size=18)).encode(y="information:Q")
    last = points[-1]
    widest = max(p.upper_bound - p.information for p in points)
    return (band + line).properties(
        width=560,
        height=320,
        title=alt.TitleParams(
            f"Most can be told at n = {best.n}: {best.information:.4g} bits; {last.information:.3g} at n = {last.n}",
            subtitle=[subtitle, f"every point is a certified interval; the widest is {widest:.1g} bits wide"],
            anchor="start",
        ),
    )


def save_plot(chart: Any, path: Path) -> None:
    """Write a chart as .svg or .png."""
    import vl_convert

    specification = chart.to_json()
    if path.suffix == ".svg":
        path.write_text(vl_convert.vegalite_to_svg(specification), encoding="utf-8")
    else:
        path.write_bytes(vl_convert.vegalite_to_png(specification, scale=2))


def _altair() -> Any:
    try:
        import altair
    except ImportError as error:
        raise ChoralError("altair is not installed.", "Install it: pip install 'choral[plots]'.") from error
    return altair
