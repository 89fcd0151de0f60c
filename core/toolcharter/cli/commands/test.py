"""`toolcharter test`: tests profiles by their own cases."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options
from toolcharter.cli.group import stop
from toolcharter.cli.output import is_terminal, print_json, print_text

if TYPE_CHECKING:
    import shutil

    from toolcharter.cli import junit as cli_junit
    from toolcharter.cli import profile_cases
    from toolcharter.cli.profile_cases import ProfileResult
    from toolcharter.testing import coverage as testing_coverage
    from toolcharter.testing.coverage import ReasonRow
else:
    shutil = lazy("shutil")
    cli_junit = lazy("toolcharter.cli.junit")
    profile_cases = lazy("toolcharter.cli.profile_cases")
    testing_coverage = lazy("toolcharter.testing.coverage")


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--junit", metavar="FILE", help="Write the results as JUnit XML, too.")
@options.json_output
@options.workspace_and_events
def command(
    paths: Sequence[str],
    junit: str | None,
    as_json: bool,
    workspace: str,
    events: Sequence[str],  # noqa: ARG001 - a case is a dry run, which leaves no event
) -> None:
    """Test profiles by their own cases.

    PATHS are profiles, by path or name, and folders of profiles; default: ./profiles. Each case is
    a decision; nothing is executed. The output ends with the declared reasons that no case has
    shown. Exit status 1 if a case fails.
    """
    coverage = testing_coverage.ReasonCoverage()
    tested = profile_cases.run_profiles(paths, workspace, coverage)
    if junit is not None:
        _write_junit(junit, tested)
    if as_json:
        print_json(
            {"profiles": [_to_json(one) for one in tested], "reasons": [row._asdict() for row in coverage.rows()]}
        )
    else:
        _show(tested, coverage.rows())
    stop(1 if any(one.failed for one in tested) else 0)


def _write_junit(file: str, tested: "Iterable[ProfileResult]") -> None:
    try:
        cli_junit.write_junit(Path(file), tested)
    except OSError as error:
        raise click.UsageError(f"--junit: cannot write {file!r}: {error.strerror}.") from error


def _to_json(tested: "ProfileResult") -> dict[str, Any]:
    cases = [{"name": one.name, "place": one.place, "passed": one.passed, "text": one.text} for one in tested.verdicts]
    return {"file": tested.file, "profile": tested.profile, "cases": cases}


def _show(tested: "Sequence[ProfileResult]", rows: "Iterable[ReasonRow]") -> None:
    for one in tested:
        for verdict in one.failed:
            _print_line(f"FAILED {verdict.text}\n", "red")
    for one in tested:
        _print_line(
            f"{one.file}: {_format_counts(one)}", "red" if one.failed else "green" if one.verdicts else "yellow"
        )
    gaps = [_format_gap(row) for row in rows if row.missing]
    if gaps:
        _print_line("\nDeclared reasons that no case has shown:")
        for gap in gaps:
            _print_line(testing_coverage.wrap_reasons(f"  {gap}", shutil.get_terminal_size().columns))


def _format_counts(tested: "ProfileResult") -> str:
    if not tested.verdicts:
        return "has no cases"
    failed = len(tested.failed)
    passed = f"{len(tested.verdicts) - failed} passed"
    return f"{failed} failed, {passed}" if failed else passed


def _format_gap(row: "ReasonRow") -> str:
    total = len(row.shown) + len(row.missing)
    return f"{row.profile}: {row.tool}: {len(row.missing)} of {total}: {', '.join(row.missing)}"


def _print_line(text: str, style: str = "") -> None:
    if is_terminal():
        print_text(text, style)
    else:
        click.echo(text.encode("utf-8", "backslashreplace"))
