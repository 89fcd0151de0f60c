"""`toolcharter profiles`: lists the profiles that can be named, checks them and prints them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options
from toolcharter.cli.describe import format_count
from toolcharter.cli.group import stop
from toolcharter.cli.output import print_json, print_table
from toolcharter.errors import Fault

if TYPE_CHECKING:
    from toolcharter.cli import profile_lint
    from toolcharter.loader import origin, scan
    from toolcharter.profile import dump as profile_dump
    from toolcharter.profile import find, nodes, read
else:
    profile_lint = lazy("toolcharter.cli.profile_lint")
    origin = lazy("toolcharter.loader.origin")
    scan = lazy("toolcharter.loader.scan")
    profile_dump = lazy("toolcharter.profile.dump")
    find = lazy("toolcharter.profile.find")
    nodes = lazy("toolcharter.profile.nodes")
    read = lazy("toolcharter.profile.read")


class _Row(NamedTuple):
    name: str
    description: str
    place: str
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...] = ()


@click.command("profiles")
@click.argument("chosen", nargs=-1, metavar="[PROFILE]...")
@click.option(
    "--check", is_flag=True, help="Load and build each; report faults and warnings; exit status 2 for a fault."
)
@click.option(
    "--all",
    "everywhere",
    is_flag=True,
    help="With --check: also check installed profiles, even if ./profiles has some.",
)
@click.option("--strict", is_flag=True, help="Check; exit status 1 if there are only warnings.")
@click.option(
    "--show", is_flag=True, help="Print each profile as YAML instead, merged with its parents, without defaults."
)
@options.json_output
@options.workspace_and_events
def command(
    chosen: Sequence[str],
    check: bool,
    everywhere: bool,
    strict: bool,
    show: bool,
    as_json: bool,
    workspace: str,
    events: Sequence[str],  # noqa: ARG001 - nothing is called, so nothing is logged
) -> None:
    """List the profiles that can be named, or those given by name or path.

    Names are looked up in ./profiles, among the ready profiles and in plugins. If ./profiles has any, --check checks
    only those.
    """
    if show:
        _show(chosen or [row.place for row in _findable_rows()], as_json=as_json)
        return
    rows = list(_named_rows(chosen) if chosen else _findable_rows())
    check = check or strict
    if check and not chosen and not everywhere:
        rows = _in_own_folder(rows) or rows
    if check:
        rows = [_lint_row(row, workspace) for row in rows]
    faults = [str(fault) for row in rows for fault in row.faults] if check or chosen else []
    warnings = [f"Warning: {_one_line(warning)}" for row in rows for warning in row.warnings]
    # Faults are separate paragraphs. Warnings take one line each, so that they can be filtered.
    said = [*dict.fromkeys(faults), *(["\n".join(dict.fromkeys(warnings))] if warnings else [])]
    if said:
        click.echo("\n\n".join(said), err=True)
    if as_json:
        print_json([_to_json(row) for row in rows])
    else:
        columns = ("name", *(["check"] if check else []), "place", "description")
        print_table(columns, [_cells(row, check=check) for row in rows], ("bold",))
    stop(2 if faults else int(strict and bool(warnings)))


def _show(names: Sequence[str], *, as_json: bool) -> None:
    search = _plugin_folders()
    profiles = [read.load_profile(name, search=search) for name in names]
    if as_json:
        print_json([profile_dump.profile_values(profile) for profile in profiles])
    else:
        click.echo("---\n".join(map(profile_dump.dump, profiles)), nl=False)


def _one_line(warning: Fault) -> str:
    return str(warning).replace("\n", " ")


def _to_json(row: _Row) -> dict[str, Any]:
    return {**row._asdict(), "faults": list(map(str, row.faults)), "warnings": list(map(_one_line, row.warnings))}


def _cells(row: _Row, *, check: bool) -> tuple[str, ...]:
    verdict = format_count(len(row.faults), "fault") or format_count(len(row.warnings), "warning") or "ok"
    return (row.name, *([verdict] if check else []), row.place, row.description)


def _findable_rows() -> Iterator[_Row]:
    for found in read.list_profiles(_plugin_folders()):
        yield _Row(found.name, _first_line(found.description), found.place, found.faults)


def _in_own_folder(rows: Sequence[_Row]) -> list[_Row]:
    """Return the rows of profiles in ./profiles, which the user can edit."""
    return [row for row in rows if find.canonical_location(row.place)[0] == find.canonical_path(find.OWN_FOLDER)]


def _named_rows(names: Sequence[str]) -> Iterator[_Row]:
    search = _plugin_folders()
    for name in names:
        source = read.read_profile(name, search=search)
        profile, place = source.profile, str(source.files[0]) if find.is_name(name) and source.files else name
        shown, description = (profile.name, profile.description) if profile else (name, None)
        yield _Row(shown, _first_line(description), place, tuple(source.faults))


def _lint_row(row: _Row, workspace: str) -> _Row:
    found = profile_lint.lint_profile(row.place, workspace, _plugin_folders())
    faults = nodes.in_file_order(dict.fromkeys([*row.faults, *found.faults]), row.place)
    return row._replace(faults=tuple(faults), warnings=found.warnings)


def _plugin_folders() -> list[Path]:
    return origin.profile_folders(scan.find_installed())


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
