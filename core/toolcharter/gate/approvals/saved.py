"""Saved approvals: one YAML list for each profile, in a folder of the user that no tool can write to.

Each approval is for one call, and turns `ask` into `allow` for this call only, until it expires. The file belongs to
the
user: comments stay, and the user may remove entries by hand.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from toolcharter.errors import ConfigurationError, Fault
from toolcharter.gate.approvals import saved_yaml
from toolcharter.guards.state_folder import StateFolder, UnsafeState
from toolcharter.profile.find import is_name
from toolcharter.profile.nodes import Node, describe_value, items, to_plain
from toolcharter.profile.parse import parse_yaml

HEADER = """\
# Approvals that were given with "allow always". `toolcharter approvals list` and `forget` show and remove them.
"""
_BINDING_KEYS = ("tool", "args", "workspace", "profile_digest", "runner")
_OPTIONAL_BINDING_KEYS = ("agent", "user", "code", "tenant")
_REQUIRED_KEYS = ("shows", *_BINDING_KEYS, "profile", "at", "until")
_OPTIONAL_KEYS = (*_OPTIONAL_BINDING_KEYS, "by")
_KEYS = (*_REQUIRED_KEYS, *_OPTIONAL_KEYS)


class Binding(NamedTuple):
    """What an approval is bound to. It is valid for a call only if all of these values are the same."""

    tool: str
    """The tool's canonical name."""
    args: str
    """SHA-256 of the validated arguments and of the commands, from `arguments_digest`."""
    workspace: str
    """The real path of the workspace."""
    profile_digest: str
    runner: str
    """The runner of the tool's programs; empty if they run nowhere."""
    agent: str | None = None
    """The calling agent: an approval for one agent is none for another agent."""
    user: str | None = None
    """The user that the agent works for."""
    code: str | None = None
    """The fingerprint of a discovered tool."""
    tenant: str | None = None
    """The tenant of the call, if several tenants share a service."""

    @property
    def call(self) -> tuple[str | None, ...]:
        """The fields that identify the same call to a person."""
        return self.tool, self.args, self.workspace, self.agent, self.user, self.tenant


class SavedApproval(NamedTuple):
    """One saved approval."""

    bound: Binding
    shows: str
    """The call in one line, for people to read; only `bound` is compared."""
    profile: str
    """The profile's name."""
    by: str | None
    """The person who gave it; None if unknown."""
    at: datetime
    until: datetime
    place: str = ""
    """`file:line:column`."""

    @property
    def id(self) -> str:
        """The approval's identifier, a hash of its fields."""
        parts = [*self.bound, *self[1:4], format_time(self.at), format_time(self.until)]
        return sha256(json.dumps(parts).encode()).hexdigest()[:12]

    def is_valid(self, workspace: Path, now: datetime) -> bool:
        """Whether it is valid in *workspace* at *now*."""
        return self.bound.workspace == str(workspace.resolve()) and now < self.until


def load_valid(folder: Path, profile: str, workspace: Path, now: datetime) -> tuple[SavedApproval, ...]:
    """Read the valid approvals.

    Args:
        folder: From `state_path`.
        profile: The profile's name.
        workspace: The folder that tools can write to.
        now: The current time, with its time zone.

    Returns:
        The approvals of this profile and workspace that have not expired, in the order of the file.

    Raises:
        ConfigurationError: The file is broken, or another user could have written it. Then no approval counts.
    """
    return tuple(kept for kept in _read_file(folder, profile, workspace) if kept.is_valid(workspace, now))


def read_approvals(folder: Path, profile: str | None = None) -> tuple[SavedApproval, ...]:
    """Read all saved approvals, including expired ones, of one profile or of all profiles.

    Raises:
        ConfigurationError: As for `load_valid`; it lists the faults of all files.
    """
    names = [profile] if profile is not None else _profile_names(folder)
    found: list[SavedApproval] = []
    faults: list[Fault] = []
    for name in names:
        try:
            found += _read_file(folder, name, None)
        except ConfigurationError as error:
            faults += error.faults
    if faults:
        raise ConfigurationError(faults)
    return tuple(found)


def save_approval(folder: Path, kept: SavedApproval, workspace: Path) -> None:
    """Add *kept* to the file of its profile, atomically, even if another process writes there at the same time.

    Args:
        folder: From `state_path`; made if it is missing.
        kept: The approval; its `place` is ignored.
        workspace: The folder that tools can write to.

    Raises:
        ConfigurationError: The file is broken or cannot be written, or another user could write it.
    """
    values = {
        "shows": kept.shows,
        **kept.bound._asdict(),
        "profile": kept.profile,
        "by": kept.by,
        "at": format_time(kept.at),
        "until": format_time(kept.until),
    }
    entry = {key: value for key, value in values.items() if value is not None}

    def add(text: str, held: tuple[SavedApproval, ...]) -> tuple[str, list[str]]:
        return saved_yaml.append_entry(text or HEADER, entry), [*(each.id for each in held), kept.id]

    _edit_file(folder, kept.profile, workspace, add)


def remove_approvals(folder: Path, profile: str, ids: Collection[str]) -> int:
    """Remove the approvals of a profile whose identifiers are in *ids*.

    Returns:
        How many were removed.

    Raises:
        ConfigurationError: As for `save_approval`.
    """
    count = 0

    def remove(text: str, held: tuple[SavedApproval, ...]) -> tuple[str, list[str]]:
        nonlocal count
        gone = [index for index, each in enumerate(held) if each.id in ids]
        count = len(gone)
        return saved_yaml.remove_entries(text, gone), [each.id for each in held if each.id not in ids]

    _edit_file(folder, profile, None, remove)
    return count


def _edit_file(
    folder: Path,
    profile: str,
    workspace: Path | None,
    change: Callable[[str, tuple[SavedApproval, ...]], tuple[str, list[str]]],
) -> None:
    """Replace the file's text by the result of *change*, after checking that this has exactly the returned entries."""
    state = _state_folder(folder, workspace)
    name = _file_name(folder, profile)
    try:
        with state.locked(name) as held:
            before = held.read(name) or ""
            after, ids = change(before, _parse_file(before, folder / name))
            _require_exactly(ids, _parse_file(after, folder / name))
            if after != before:
                held.write(name, after)
    except (OSError, UnsafeState) as error:
        raise _file_error(folder / name, error) from error


def _read_file(folder: Path, profile: str, workspace: Path | None) -> tuple[SavedApproval, ...]:
    name = _file_name(folder, profile)
    state = _state_folder(folder, workspace)
    try:
        with state.opened() as held:
            text = held.read(name)
        if text is not None:
            state.refuse_workspace()
    except FileNotFoundError:
        return ()
    except (OSError, UnsafeState) as error:
        raise _file_error(folder / name, error) from error
    return _parse_file(text or "", folder / name)


def _profile_names(folder: Path) -> list[str]:
    try:
        return sorted(path.stem for path in folder.iterdir() if path.suffix == ".yaml" and is_name(path.stem))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _file_error(folder, error) from error


def _state_folder(folder: Path, workspace: Path | None) -> StateFolder:
    return StateFolder(folder.parent, folder.name, workspace=workspace)


def _file_name(folder: Path, profile: str) -> str:
    if not is_name(profile):
        raise _file_error(folder, UnsafeState(f"holds no approvals of {profile!r}", "Name the profile."))
    return f"{profile}.yaml"


def _file_error(path: Path, error: Exception) -> ConfigurationError:
    if isinstance(error, UnsafeState):
        return ConfigurationError([Fault(str(path), "", f"the file of saved approvals {error.what}.", error.fix)])
    what = f"the file of saved approvals cannot be used: {getattr(error, 'strerror', None) or error}."
    return ConfigurationError([Fault(str(path), "", what)])


def _require_exactly(ids: list[str], held: tuple[SavedApproval, ...]) -> None:
    if [kept.id for kept in held] != ids:
        raise UnsafeState("cannot be changed without changing other entries", "Change it by hand.")


def _parse_file(text: str, file: Path) -> tuple[SavedApproval, ...]:
    """Parse the list.

    Raises:
        ConfigurationError: It lists each fault with its place.
    """
    if saved_yaml.is_blank(text):
        return ()
    faults: list[Fault] = []
    root = parse_yaml(text, str(file), faults)
    if root is not None and not isinstance(root.value, list):
        faults.append(Fault(str(root.place), "", f"expected a list of approvals, not {describe_value(root.value)}."))
    found = (
        [] if root is None else [_parse_entry(item, index, file.stem, faults) for index, item in enumerate(items(root))]
    )
    if faults:
        raise ConfigurationError(faults)
    return tuple(kept for kept in found if kept is not None)


def _parse_entry(item: Node, index: int, profile: str, faults: list[Fault]) -> SavedApproval | None:
    given = to_plain(item)
    if isinstance(given, dict):
        problems = list(_find_problems(given, profile))
    else:
        problems = [(f"an approval is a mapping, not {describe_value(given)}.", f"Its keys are {', '.join(_KEYS)}.")]
    if problems:
        faults += (Fault(str(item.place), str(index), what, fix) for what, fix in problems)
        return None
    bound = Binding(*(given[key] for key in _BINDING_KEYS), *(given.get(key) for key in _OPTIONAL_BINDING_KEYS))
    at, until = _parse_time(given["at"]), _parse_time(given["until"])
    return SavedApproval(bound, given["shows"], given["profile"], given.get("by"), at, until, str(item.place))


def _find_problems(given: Mapping[str, Any], profile: str) -> Iterator[tuple[str, str]]:
    """Yield each fault of an entry, and how to fix it."""
    if "rule" in given:
        yield (
            "an earlier version saved it as a rule, which covers more than what a person approved.",
            "Remove the entry; the person is asked again.",
        )
        return
    for key in sorted(given.keys() - set(_KEYS)):
        yield f"an approval has no {key!r}.", f"Its keys are {', '.join(_KEYS)}."
    for key in _REQUIRED_KEYS:
        if not isinstance(given.get(key), str):
            yield f"`{key}` is missing or no text.", ""
    for key in ("at", "until"):
        if isinstance(given.get(key), str) and not _is_time(given[key]):
            yield f"`{key}` is no date and time with a time zone.", "Write it as 2026-01-31T12:00:00Z."
    if given.get("profile", profile) != profile:
        yield f"it is for the profile {given['profile']!r}, in the file of {profile!r}.", "Move it there."
    for key in _OPTIONAL_KEYS:
        if not isinstance(given.get(key), str | None):
            yield f"`{key}` is no text.", ""


def _is_time(text: str) -> bool:
    try:
        _parse_time(text)
    except (ValueError, OverflowError):
        return False
    return True


def _parse_time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("no time zone")
    return moment.astimezone(UTC)


def format_time(moment: datetime) -> str:
    """Format *moment* for the file: UTC, in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
