"""Draw the pictures of the documentation from the library: `make pictures`."""

from pathlib import Path

import choral as ch
from choral.show.plots import as_following_svg, signature_plot

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"


def drawn() -> dict[str, str]:
    """Every picture, by its file's name."""
    clinic = ch.disclose(ch.examples.clinic(), "diagnosis")
    return {"told-and-hidden.svg": as_following_svg(signature_plot(clinic))}


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name, svg in drawn().items():
        (PICTURES / name).write_text(svg, encoding="utf-8")
