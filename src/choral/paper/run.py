"""Run the sections one after another and write what they find; each file whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from choral.errors import FileInTheWayError, ProblemError, ReleaseFileError
from choral.files import write_whole
from choral.paper import beyond, bsc_bec, codes, conditions, many_samples, over_q, self_disclosure, synergy, two_binary
from choral.paper.page import Done, page
from choral.paper.record import Effort, Section
from choral.show.plots import as_following_svg

SECTIONS: tuple[Section, ...] = (
    synergy.SECTION,
    bsc_bec.SECTION,
    codes.SECTION,
    two_binary.SECTION,
    *many_samples.SECTIONS,
    *self_disclosure.SECTIONS,
    over_q.SECTION,
    *beyond.SECTIONS,
    *conditions.SECTIONS,
)
"""In the order of the paper, and then beyond it."""


def chosen_sections(only: Sequence[str]) -> list[Section]:
    """The sections of these names, or all."""
    known = {section.name: section for section in SECTIONS}
    for name in only:
        if name not in known:
            raise ProblemError(f"There is no section '{name}'.", f"Sections: {', '.join(known)}.")
    return [section for section in SECTIONS if not only or section.name in only]


def reproduce(
    folder: Path,
    only: Sequence[str] = (),
    *,
    force: bool = False,
    effort: Effort | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Done]:
    """Compute the sections and write tables (CSV), pictures (SVG) and index.html into a folder.

    An existing folder must be empty, unless `force`. `progress` is told how many sections are done, of how many, and what
    is going on.
    """
    sections = chosen_sections(only)
    _prepare(folder, force)
    done: list[Done] = []
    for number, section in enumerate(sections):

        def tell(message: str, number: int = number, title: str = section.title) -> None:
            if progress is not None:
                progress(number, len(sections), f"{title}: {message}")

        tell("starting")
        started = time.monotonic()
        found = section.run(replace(effort or Effort(), tell=tell))
        for table in found.tables:
            write_whole(folder / f"{table.name}.csv", table.csv(), force)
        pictures = []
        for picture in found.pictures:
            tell(f"drawing {picture.name}")
            pictures.append(as_following_svg(picture.chart))
            write_whole(folder / f"{picture.name}.svg", pictures[-1], force)
        done.append(Done(section, found, tuple(pictures), time.monotonic() - started))
    left_out = [section for section in SECTIONS if section not in sections]
    write_whole(folder / "index.html", page(done, left_out), force)
    return done


def _prepare(folder: Path, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise ReleaseFileError(f"{folder} is not a folder.", "Name a folder to write into.")
    if not folder.exists():
        if not folder.parent.is_dir():
            raise ReleaseFileError(f"There is no folder {folder.parent}.", "Make it first.")
        folder.mkdir()
    if any(folder.iterdir()) and not force:
        raise FileInTheWayError(
            f"{folder} is not empty.", "Choose another folder, or say --force to replace files in it."
        )
