"""Pictures: one Vega-Lite specification each, with a title that states the finding; SVG and PNG without a browser.

| picture | function |
|---|---|
| a channel as a heat map | `channel_plot` |
| p(w given y) as a strip, with the prior | `posterior_plot` |
| told and hidden: the target beside what is protected | `signature_plot` |
| the information ladder | `ladder_plot` |
| the interval closing during a search | `closing_plot`, from a `choral.show.progress.Recorder` |
| two binary samples: the segment (the paper's second figure) | `segment_plot` |
| the hypergraph of a small support | `hypergraph_plot` |
| capacity against n, with its limit | `capacity_plot` |
| trade-off curves | `tradeoff_plot` |
| a chain of channels | `diagram_plot` |
| schemes at one n; one quantity against another, by scheme | `schemes_plot`, `lines_plot` |

All are legible in black and white: what colour says, lightness, dashes, shapes or labels say too. Where there are too many
codes, states, columns or values to draw, the rest is aggregated, and a note says so.
"""

from __future__ import annotations

from choral.show.plots.channel import channel_plot
from choral.show.plots.curves import capacity_plot, lines_plot, schemes_plot, tradeoff_plot
from choral.show.plots.diagram import diagram_plot
from choral.show.plots.ladder import closing_plot, ladder_plot
from choral.show.plots.output import as_following_svg, as_png, as_svg, save_plot
from choral.show.plots.posteriors import posterior_plot
from choral.show.plots.shapes import hypergraph_plot, segment_plot
from choral.show.plots.signature import signature_plot

__all__ = [
    "as_following_svg",
    "as_png",
    "as_svg",
    "capacity_plot",
    "channel_plot",
    "closing_plot",
    "diagram_plot",
    "hypergraph_plot",
    "ladder_plot",
    "lines_plot",
    "posterior_plot",
    "save_plot",
    "schemes_plot",
    "segment_plot",
    "signature_plot",
    "tradeoff_plot",
]
