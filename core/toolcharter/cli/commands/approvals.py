"""`toolcharter approvals`: lists saved approvals and forgets them."""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options
from toolcharter.cli.describe import format_count
from toolcharter.cli.output import print_json, print_table

if TYPE_CHECKING:
    from toolcharter.gate.approvals import escape, saved
    from toolcharter.gate.approvals.saved import SavedApproval
    from toolcharter.guards import state_folder
    from toolcharter.profile import find, read
else:
    escape = lazy("toolcharter.gate.approvals.escape")
    saved = lazy("toolcharter.gate.approvals.saved")
    state_folder = lazy("toolcharter.guards.state_folder")
    find = lazy("toolcharter.profile.find")
    read = lazy("toolcharter.profile.read")


@click.command("approvals")
@click.argument("action", type=click.Choice(["list", "forget"]))
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="Forget all approvals that 'list' would show.")
@click.option("--profile", "-p", metavar="PROFILE", help="Only approvals of this profile, by name or path.")
@click.option("--workspace", metavar="DIR", help="Only approvals for this folder; default: for all folders.")
@options.json_output
@options.ignored_events
def command(
    action: str,
    ids: Sequence[str],
    everything: bool,
    profile: str | None,
    workspace: str | None,
    as_json: bool,
) -> None:
    """List the saved approvals, or forget some.

    A user gave them with "allow always", each for one call in one folder.
    'forget' takes the IDs that 'list' shows.
    """
    folder = _approvals_folder()
    found = list(_find_saved(folder, profile, workspace))
    if action == "forget":
        found = _select_saved(found, ids, everything=everything)
        for owner in dict.fromkeys(kept.profile for kept in found):
            saved.remove_approvals(folder, owner, {kept.id for kept in found if kept.profile == owner})
    elif ids or everything:
        raise click.UsageError("'list' takes no IDs and no --all.")
    if as_json:
        print_json([_to_json(kept) for kept in found])
    elif action == "forget":
        click.echo(f"Forgot {format_count(len(found), 'approval') or 'nothing'}.")
    else:
        columns = ("id", "profile", "tool", "shows", "agent", "workspace", "by", "at", "until")
        rows = [_to_json(kept) for kept in found]
        print_table(columns, [[_format_cell(row, column) for column in columns] for row in rows], ("bold",))


def _find_saved(folder: Path, profile: str | None, workspace: str | None) -> "Iterator[SavedApproval]":
    name = profile if profile is None or find.is_name(profile) else read.load_profile(profile).name
    where = None if workspace is None else str(Path(workspace).resolve())
    for kept in saved.read_approvals(folder, name):
        if where in {None, kept.bound.workspace}:
            yield kept


def _select_saved(found: "list[SavedApproval]", ids: Sequence[str], *, everything: bool) -> "list[SavedApproval]":
    if bool(ids) == everything:
        raise click.UsageError("Name the IDs to forget, or --all; 'toolcharter approvals list' shows them.")
    unknown = sorted(set(ids) - {kept.id for kept in found})
    if unknown:
        raise click.UsageError(f"No approval has the ID {unknown[0]!r}; 'toolcharter approvals list' shows them.")
    return [kept for kept in found if everything or kept.id in ids]


def _approvals_folder() -> Path:
    folder = state_folder.state_path("approvals", os.environ)
    if folder is None:
        raise click.UsageError("There is no home folder to keep approvals in; set XDG_STATE_HOME.")
    return folder


def _to_json(kept: "SavedApproval") -> dict[str, Any]:
    moments = {"at": saved.format_time(kept.at), "until": saved.format_time(kept.until)}
    facts = {**kept._asdict(), **kept.bound._asdict(), **moments}
    del facts["bound"]
    return {"id": kept.id, **facts, "expired": kept.until <= datetime.now(UTC)}


def _format_cell(row: dict[str, Any], column: str) -> str:
    end = " (expired)" if column == "until" and row["expired"] else ""
    return escape.visible(row[column] or "") + end
