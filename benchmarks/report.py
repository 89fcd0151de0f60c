"""How the numbers are shown: a line each while they come in, a table at the end."""

from collections.abc import Iterable, Mapping, Sequence

from measure import Row

Measured = Sequence[tuple[Row, float | None]]

_INTRODUCTION = """\
# Speed

Written by `make bench`. Each number is a ratio, the median of pairs measured in turn in one run (`a / b`: how many
times b's time a takes), since bare times drift with the machine. Each peer runs in an environment of its own.

The governed call is a whole one: arguments validated, decided by 100 rules, three events in a file and the first two
ahead of the body, the path opened beneath the workspace, the result of 200 characters scrubbed, limits of time and
output, a rate limit.
No peer opens a file; only the careful user's call leaves events.
"""


def line(row: Row, value: float | None) -> str:
    """One row for the terminal."""
    return f"{_number(row, value):>12}  {_goal(row):>16}  {_verdict(row, value):<8}  {row.what}"


def markdown(found: Mapping[str, Measured], machine: str, versions: Iterable[str], seconds: float) -> str:
    """The whole page."""
    tables = [f"## {topic}\n\n{_table(rows)}\n{_prices(rows)}" for topic, rows in found.items()]
    return "\n".join([_INTRODUCTION, *tables, _colophon(machine, versions, seconds)])


def _table(rows: Measured) -> str:
    head = "| what | measured | goal | met |\n|---|---|---|---|"
    lines = [f"| {row.what} | {_number(row, value)} | {_goal(row)} | {_verdict(row, value)} |" for row, value in rows]
    return "\n".join([head, *lines])


def _prices(rows: Measured) -> str:
    missed = [row for row, value in rows if row.price and value is not None and row.met(value) is False]
    lines = [f"- {row.what}: {row.price}\n" for row in missed]
    return "".join(["\n", *lines]) if lines else ""


def _colophon(machine: str, versions: Iterable[str], seconds: float) -> str:
    return f"## Measured with\n\n{machine}; the run took {seconds / 60:.0f} min.\n\n" + "".join(
        f"- {version}\n" for version in versions
    )


def _number(row: Row, value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3g}{row.unit}"


def _goal(row: Row) -> str:
    if row.goal is None:
        return "-"
    return f"{'at least' if row.at_least else 'at most'} {row.goal:g}{row.unit}"


def _verdict(row: Row, value: float | None) -> str:
    met = None if value is None else row.met(value)
    return {True: "yes", False: "**no**", None: ""}[met]
