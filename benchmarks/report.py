"""Formats the numbers: one line each during the run, and a table at the end."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from measure import Row


@dataclass
class Measured:
    """A row and the values of all runs; empty if no run measured it."""

    row: Row
    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        """The number that is compared with the goal."""
        return median(self.values) if self.values else None


@dataclass
class Run:
    """One run over all rows."""

    load: float
    """The load average of the minute before it."""
    seconds: float
    """The duration of the run, in seconds."""


_HEAD, _COLOPHON, _APART = "## ", "Measured with", "Measured apart, with:\n\n"
_INTRODUCTION = """\
# Speed

Written by `make bench`. Each number is a ratio, the median of pairs measured in turn in one run (`a / b`: how many
times b's time a takes), since bare times drift with the machine. The columns are the median, the least and the greatest
number of all runs; the median is held against the goal. Each peer runs in an environment of its own.

The governed call is a whole one: arguments validated, decided by 100 rules, three events in a file and the first two
ahead of the body, the path opened beneath the workspace, the result of 200 characters scrubbed, limits of time and
output, a rate limit.
No peer opens a file; only the careful user's call leaves events.
"""


def line(row: Row, value: float | None) -> str:
    """Return one row for the terminal."""
    return f"{_number(row, value):>12}  {_goal(row):>16}  {_verdict(row, value):<8}  {row.what}"


def markdown(
    found: Mapping[str, Sequence[Measured]], machine: str, versions: Iterable[str], runs: Sequence[Run]
) -> str:
    """Return the whole page."""
    tables = [f"{_HEAD}{topic}\n\n{_table(rows)}\n{_prices(rows)}" for topic, rows in found.items()]
    return "\n".join([_INTRODUCTION, *tables, f"{_HEAD}{_COLOPHON}\n\n{_colophon(machine, versions, runs)}"])


def renewed(
    page: str,
    topics: Sequence[str],
    found: Mapping[str, Sequence[Measured]],
    machine: str,
    versions: Iterable[str],
    runs: Sequence[Run],
) -> str:
    """Return *page* with new tables, and with a note that says what they were measured with.

    The note at the end of a page is for all tables that have none of their own. If all of these are new, that note is
    replaced; otherwise each new table gets a note of its own.

    Args:
        page: A page by `markdown` or by this function.
        topics: The names of all tables, in order.
        found: The new tables.
        machine: As for `markdown`.
        versions: As for `markdown`.
        runs: The runs of the new tables.
    """
    beginning, *parts = f"\n{page}".split(f"\n{_HEAD}")
    known = {part.partition("\n")[0]: part for part in parts}
    colophon = _colophon(machine, versions, runs)
    is_common = all(name in found or _APART in known[name] for name in topics if name in known)
    for topic, rows in found.items():
        known[topic] = f"{topic}\n\n{_table(rows)}\n{_prices(rows)}" + ("" if is_common else f"\n{_APART}{colophon}")
    if is_common:
        known[_COLOPHON] = f"{_COLOPHON}\n\n{colophon}"
    order = [name for name in (*topics, _COLOPHON) if name in known]
    return f"\n{_HEAD}".join([beginning, *(known[name] for name in order)]).removeprefix("\n")


def _table(rows: Sequence[Measured]) -> str:
    head = "| what | median | minimum | maximum | goal | met |\n|---|---|---|---|---|---|"
    return "\n".join([head, *map(_table_line, rows)])


def _table_line(measured: Measured) -> str:
    row, values = measured.row, measured.values
    numbers = (measured.median, min(values, default=None), max(values, default=None))
    cells = (*(_number(row, value) for value in numbers), _goal(row), _verdict(row, measured.median))
    return f"| {row.what} | {' | '.join(cells)} |"


def _prices(rows: Sequence[Measured]) -> str:
    missed = [
        one.row for one in rows if one.row.price and one.median is not None and one.row.meets_goal(one.median) is False
    ]
    lines = [f"- {row.what}: {row.price}\n" for row in missed]
    return "".join(["\n", *lines]) if lines else ""


def _colophon(machine: str, versions: Iterable[str], runs: Sequence[Run]) -> str:
    taken = ", ".join(f"{run.seconds / 60:.0f} min at a load of {run.load:.1f}" for run in runs)
    what = "one run" if len(runs) == 1 else f"{len(runs)} runs"
    return f"{machine}; {what}: {taken}.\n\n" + "".join(f"- {version}\n" for version in versions)


def _number(row: Row, value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3g}{row.unit}"


def _goal(row: Row) -> str:
    if row.goal is None:
        return "-"
    return f"{'at least' if row.at_least else 'at most'} {row.goal:g}{row.unit}"


def _verdict(row: Row, value: float | None) -> str:
    met = None if value is None else row.meets_goal(value)
    return {True: "yes", False: "**no**", None: ""}[met]
