"""Parts of the calendar that dates are cut by: decade, year, quarter, month, week and weekday.

A date is a day of the Gregorian calendar, continued backwards, from the year 1 to 9999; weeks are those of ISO 8601, which
begin on Mondays and belong to the year of their Thursday. Of a point in time without a zone its own day counts, whatever
the machine's zone is; of one with a zone the day in UTC. So a value has the same part on every engine and every machine.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from choral.tables.kinds import DATES
from choral.tables.sql import text_literal

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_YEAR = "(?!0000)[0-9]{4}"
PARTS = {
    "decade": "[0-9]{3}0s",
    "year": _YEAR,
    "quarter": f"{_YEAR}-Q[1-4]",
    "month": f"{_YEAR}-(?:0[1-9]|1[0-2])",
    "week": f"{_YEAR}-W(?:0[1-9]|[1-4][0-9]|5[0-3])",
    "weekday": "|".join(DAYS),
}
"""The parts, the coarsest first, and how one of each is written: 1980s, 1984, 1984-Q3, 1984-07, 1984-W28, Thursday."""
LEAST_YEARS = {"decade": 30, "year": 4}
"""Years between the first and the last date from which a part is proposed; below it is months."""


@dataclass(frozen=True)
class Calendar:
    """Dates by a part of the calendar."""

    part: str

    kinds: ClassVar[tuple[str, ...]] = DATES
    one: ClassVar[str] = "bin"

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise ValueError(f"{self.part!r} is no part of the calendar")

    def name_of(self, value: datetime.date) -> str | None:
        """What the part is called that a date, or point in time, lies in; None outside the years 1 to 9999."""
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            try:
                value = value.astimezone(datetime.UTC)
            except OverflowError:
                return None
        year, week, day = value.isocalendar()
        return {
            "decade": f"{value.year // 10 * 10:04}s",
            "year": f"{value.year:04}",
            "quarter": f"{value.year:04}-Q{(value.month + 2) // 3}",
            "month": f"{value.year:04}-{value.month:02}",
            "week": f"{year:04}-W{week:02}",
            "weekday": DAYS[day - 1],
        }[self.part]

    def sql(self, value: str) -> str:
        """SQL of the same for a date or a point in time (in UTC, if it had a zone); NULL outside the years 1 to 9999."""
        year = f"lpad(CAST(year({value}) AS VARCHAR), 4, '0')"
        found = {
            "decade": f"left({year}, 3) || '0s'",
            "year": year,
            "quarter": f"{year} || '-Q' || CAST(quarter({value}) AS VARCHAR)",
            "month": f"{year} || '-' || lpad(CAST(month({value}) AS VARCHAR), 2, '0')",
            "week": f"lpad(CAST(isoyear({value}) AS VARCHAR), 4, '0') || '-W' || "
            f"lpad(CAST(weekofyear({value}) AS VARCHAR), 2, '0')",
            "weekday": f"list_extract([{', '.join(map(text_literal, DAYS))}], isodow({value}))",
        }[self.part]
        return f"CASE WHEN year({value}) BETWEEN 1 AND 9999 THEN {found} END"

    def can_be(self, name: Any) -> bool:
        """Whether a part may be called so."""
        return isinstance(name, str) and re.fullmatch(PARTS[self.part], name) is not None

    def in_order(self, names: Any) -> list[str]:
        """Names of parts as the calendar has them."""
        return sorted(names, key=DAYS.index if self.part == "weekday" else str)

    def said(self, many: int) -> str:
        """How a column is spoken of that is cut so."""
        return f"by {self.part}"

    def written(self, name: str) -> str:
        """The option that asks for it."""
        return f"--bins '{name}={self.part}'"

    def to_document(self) -> dict[str, Any]:
        """The part as JSON, for the document of a column."""
        return {"calendar": self.part}


def fitting_part(first: datetime.date | None, last: datetime.date | None) -> str:
    """The part to propose for dates between these: few enough to have records in each.

    >>> fitting_part(datetime.date(1931, 5, 1), datetime.date(2004, 1, 1))
    'decade'
    """
    years = 0 if first is None or last is None else last.year - first.year
    return next((part for part, least in LEAST_YEARS.items() if years >= least), "month")
