"""`toolcharter profiles`: what a profile's bare name finds, and whether it holds."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from toolcharter.cli import options
from toolcharter.cli.group import stop
from toolcharter.cli.output import print_json, print_table
from toolcharter.errors import ConfigurationError, Fault

if TYPE_CHECKING:
    from toolcharter.profile.read import FoundProfile


class _Row(NamedTuple):
    name: str
    description: str
    place: str
    faults: tuple[Fault, ...]


@click.command("profiles")
@click.argument("chosen", nargs=-1, metavar="[PROFILE]...")
@click.option("--check", is_flag=True, help="Load and build each; report every fault; exit status 2 if there is one.")
@options.json_output
@options.place
def command(
    chosen: Sequence[str],
    check: bool,  # noqa: FBT001 - click passes by name
    as_json: bool,  # noqa: FBT001 - as above
    workspace: str,
    events: Sequence[str],  # noqa: ARG001 - nothing is called, so nothing is logged
) -> None:
    """List the profiles that a name finds, or those given by name or path.

    Looked up in ./profiles, among the ready ones and in plugins.
    """
    rows = list(_given(chosen) if chosen else _findable())
    if check:
        rows = [row._replace(faults=tuple(_faults(row, workspace))) for row in rows]
    if as_json:
        print_json([{**row._asdict(), "faults": [str(fault) for fault in row.faults]} for row in rows])
    else:
        print_table(
            ("name", "place", "description"), [(row.name, row.place, row.description) for row in rows], ("bold",)
        )
    faults = list(dict.fromkeys(str(fault) for row in rows for fault in row.faults))
    if faults and (check or chosen):
        click.echo("\n\n".join(faults), err=True)
        stop(2)


def _findable() -> Iterator[_Row]:
    from toolcharter.profile.read import list_profiles  # noqa: PLC0415 - `--help` does without it

    yield from map(_row, list_profiles(_search()))


def _row(found: "FoundProfile") -> _Row:
    return _Row(found.name, _first_line(found.description), found.place, found.faults)


def _given(names: Sequence[str]) -> Iterator[_Row]:
    from toolcharter.profile.find import is_name  # noqa: PLC0415 - `--help` does without it
    from toolcharter.profile.read import read_profile  # noqa: PLC0415 - as above

    search = _search()
    for name in names:
        source = read_profile(name, search=search)
        profile, place = source.profile, str(source.files[0]) if is_name(name) and source.files else name
        shown, description = (profile.name, profile.description) if profile else (name, None)
        yield _Row(shown, _first_line(description), place, tuple(source.faults))


def _faults(row: _Row, workspace: str) -> Iterator[Fault]:
    """All that building *row* would be refused for; constructors do no I/O, so it is built."""
    from toolcharter.gate.build import build_tools  # noqa: PLC0415 - `--help` does without it

    seen = set(row.faults)
    yield from row.faults
    try:
        build_tools(row.place, workspace=workspace, events=lambda _: None).close()
    except ConfigurationError as error:
        yield from (fault for fault in error.faults if fault not in seen)


def _search() -> list[Path]:
    from toolcharter.loader.origin import profile_folders  # noqa: PLC0415 - `--help` does without it
    from toolcharter.loader.scan import installed  # noqa: PLC0415 - as above

    return profile_folders(installed())


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
