"""Prints at the end of a run which reasons were shown, and whether they are enough."""

from collections.abc import Iterator

import pytest

from toolcharter.testing.coverage import ReasonCoverage, ReasonRow, wrap_reasons

_PARTIAL = ("keyword", "markexpr", "deselect", "lf", "stepwise")
"""Options of pytest that deselect tests."""


def summarise(
    reporter: pytest.TerminalReporter, config: pytest.Config, coverage: ReasonCoverage, minimum: float
) -> None:
    """Write the section, if there are rows or complaints."""
    complained = list(find_gaps(config, coverage, minimum))
    rows = [row for row in coverage.rows() if row.shown or row.missing or row.open]
    if not rows and not complained:
        return
    reporter.section("toolcharter: reasons shown")
    width = config.get_terminal_writer().fullwidth
    reporter.write("".join(f"{wrap_reasons(line, width)}\n" for line in _table_lines(rows)))
    shown, declared = coverage.totals()
    if declared:
        reporter.write_line(f"{shown} of {declared} declared reasons shown ({_percent(shown, declared):.0f} %)")
    for line in complained:
        reporter.write_line(line, red=True)


def find_gaps(config: pytest.Config, coverage: ReasonCoverage, minimum: float) -> Iterator[str]:
    """Yield the reasons why a run fails although its tests passed."""
    shown, declared = coverage.totals()
    if _percent(shown, declared) < minimum:
        yield (
            f"FAILED: the tests show {_percent(shown, declared):.2f} % of the declared reasons; "
            f"at least {minimum:g} % is required"
        )
    if not is_partial(config):
        for tool, missing in coverage.unreached().items():
            yield f"FAILED: contract of {tool!r}: no test reaches {', '.join(missing)}"


def is_partial(config: pytest.Config) -> bool:
    """Whether the command line leaves tests out. Then it is unknown which reasons no test reaches."""
    named = config.args if config.args_source is config.ArgsSource.ARGS else ()
    return any(config.getoption(name, default=False) for name in _PARTIAL) or any(
        "::" in arg or (config.invocation_params.dir / arg).is_file() for arg in named
    )


def _table_lines(rows: list[ReasonRow]) -> Iterator[str]:
    first = max((len(row.profile) for row in rows), default=0)
    second = max((len(row.tool) for row in rows), default=0)
    for row in rows:
        yield f"{row.profile:<{first}}  {row.tool:<{second}}  {_row_state(row)}"


def _row_state(row: ReasonRow) -> str:
    if row.open:
        return "declares no list of reasons"
    counted = f"{len(row.shown)} of {len(row.shown) + len(row.missing)}"
    return f"{counted}, never: {', '.join(row.missing)}" if row.missing else counted


def _percent(shown: int, declared: int) -> float:
    return 100.0 * shown / declared if declared else 100.0
