"""How much is told, of how much there is; and how the certified interval closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from choral.describe.display import at_most, in_bits
from choral.design.result import Disclosure
from choral.errors import ProblemError
from choral.show.plots.style import BLUE, GREY, INK, RULE, altair, chart_of, finished, number
from choral.show.progress import Moment


def ladder_plot(disclosure: Disclosure) -> Any:
    """H(W) ≥ I(W;X) ≥ the bound that needs no solving ≥ the certified bound ≥ what is disclosed, to scale."""
    alt = altair()
    rows = ladder(disclosure)
    order = [row["step"] for row in rows]
    base = chart_of(rows).encode(
        x=alt.X("bits:Q", title="bits", scale=alt.Scale(domainMin=0)),
        y=alt.Y("step:N", sort=order, title=None),
    )
    bars = base.mark_bar(stroke=INK, strokeWidth=0.6, height={"band": 0.7}).encode(
        color=alt.condition("datum.disclosed", alt.value(BLUE), alt.value(RULE))
    )
    words = base.mark_text(align="left", dx=5, color=INK).encode(text="text:N")
    entropy, everything, _, upper, told = (row["bits"] for row in rows)
    share = f", {100 * told / everything:.3g} % of what the used columns tell" if everything else ""
    notes = [
        f"certified gap {disclosure.gap:.2g} bits: {told:.3g} is achieved, {at_most(upper)} is proved never exceeded",
        f"{100 * told / entropy:.3g} % of all there is to know" if entropy else "the target never changes",
    ]
    finding = f"{in_bits(told)} about {disclosure.problem.target.name} are disclosed{share}"
    return finished((bars + words).properties(width=420, height=150), finding, notes, width=640)


def ladder(disclosure: Disclosure) -> list[dict[str, Any]]:
    """The five quantities, in bits, from what there is to what is told."""
    bounds = disclosure.bounds
    steps = [
        ("all there is to know", bounds.entropy),
        ("what the used columns tell", bounds.information),
        ("a bound that needs no solving", bounds.upper_bound),
        ("certified: no private channel tells more", disclosure.upper_bound),
        ("disclosed by this channel", disclosure.information),
    ]
    last = len(steps) - 1
    said = [at_most if i in (2, 3) else "{:.3g}".format for i in range(len(steps))]  # bounds are rounded up
    return [
        {"step": name, "bits": bits, "text": said[i](bits), "disclosed": i == last}
        for i, (name, bits) in enumerate(steps)
    ]


def closing_plot(moments: Sequence[Moment]) -> Any:
    """The certified interval against time: above, the interval; below, its width, on a logarithmic scale."""
    alt = altair()
    if not moments:
        raise ProblemError("Nothing was recorded.", "Give disclose(progress=recorder) and plot recorder.moments.")
    rows = [
        {
            "seconds": m.seconds,
            "information": m.information,
            "upper_bound": m.upper_bound,
            "gap": max(m.upper_bound - m.information, 0.0),
        }
        for m in moments
    ]
    when = alt.Scale(domain=_span(rows), nice=False)
    base = chart_of(rows).encode(x=alt.X("seconds:Q", title=None, scale=when))
    bits = alt.Y("information:Q", title="bits about W", scale=alt.Scale(zero=False))
    step = "step-after"
    band = base.mark_area(color=BLUE, opacity=0.2, interpolate=step).encode(y=bits, y2="upper_bound:Q")
    low = base.mark_line(color=BLUE, interpolate=step, point=alt.OverlayMarkDef(color=BLUE, size=22)).encode(
        y="information:Q"
    )
    high = base.mark_line(
        color=INK, interpolate=step, strokeDash=[5, 3], point=alt.OverlayMarkDef(color=INK, size=22, shape="square")
    ).encode(y="upper_bound:Q")
    upper = alt.layer(band, low, high).properties(width=520, height=210)
    wide = [row for row in rows if row["gap"] > 0]
    lower = (
        chart_of(wide)
        .mark_line(color=GREY, interpolate=step, point=alt.OverlayMarkDef(color=INK, size=22))
        .encode(
            x=alt.X("seconds:Q", title="seconds since the start", scale=when),
            y=alt.Y(
                "gap:Q", scale=alt.Scale(type="log"), title="width (bits)", axis=alt.Axis(format=".0e", tickCount=5)
            ),
        )
        .properties(width=520, height=100)
    )
    last = moments[-1]
    closed = f"The interval closed to {rows[-1]['gap']:.2g} bits in {last.seconds:.2g} s"
    notes = [
        "blue, solid: achieved by a private channel; black, dashed: proved never to be exceeded",
        "stopped at any moment, the channel is private and the bound holds",
    ]
    return finished(alt.vconcat(upper, lower, spacing=12), f"{closed}, at {number(last.information)} bits", notes)


def _span(rows: Sequence[dict[str, Any]]) -> list[float]:
    first, last = rows[0]["seconds"], rows[-1]["seconds"]
    return [first, last if last > first else first + 1e-3]
