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
from toolcharter.profile.nodes import Node, described, items, plain
from toolcharter.profile.parse import parse

HEADER = """\
# Approvals that were given with "allow always". `toolcharter approvals list` and `forget` show and remove them.
"""
_BOUND = ("tool", "args", "workspace", "profile_digest", "runner")
_MAYBE_BOUND = ("agent", "user", "code", "tenant")
_TEXTS = ("shows", *_BOUND, "profile", "at", "until")
_OPTIONAL = (*_MAYBE_BOUND, "by")
_KEYS = (*_TEXTS, *_OPTIONAL)


class Binding(NamedTuple):
    """What an approval is bound to. It is valid for a call only if all of these values are the same."""

    tool: str
    """The tool's canonical name."""
    args: str
    """SHA-256 of the validated arguments and of the commands, from `digest_of_arguments`."""
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


class Kept(NamedTuple):
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
        parts = [*self.bound, *self[1:4], written(self.at), written(self.until)]
        return sha256(json.dumps(parts).encode()).hexdigest()[:12]

    def holds(self, workspace: Path, now: datetime) -> bool:
        """Whether it is valid in *workspace* at *now*."""
        return self.bound.workspace == str(workspace.resolve()) and now < self.until


def load(folder: Path, profile: str, workspace: Path, now: datetime) -> tuple[Kept, ...]:
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
    return tuple(kept for kept in _entries(folder, profile, workspace) if kept.holds(workspace, now))


def entries(folder: Path, profile: str | None = None) -> tuple[Kept, ...]:
    """Read all saved approvals, including expired ones, of one profile or of all profiles.

    Raises:
        ConfigurationError: As for `load`; it lists the faults of all files.
    """
    names = [profile] if profile is not None else _profiles(folder)
    found: list[Kept] = []
    faults: list[Fault] = []
    for name in names:
        try:
            found += _entries(folder, name, None)
        except ConfigurationError as error:
            faults += error.faults
    if faults:
        raise ConfigurationError(faults)
    return tuple(found)


def keep(folder: Path, kept: Kept, workspace: Path) -> None:
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
        "at": written(kept.at),
        "until": written(kept.until),
    }
    entry = {key: value for key, value in values.items() if value is not None}

    def add(text: str, held: tuple[Kept, ...]) -> tuple[str, list[str]]:
        return saved_yaml.appended(text or HEADER, entry), [*(each.id for each in held), kept.id]

    _change(folder, kept.profile, workspace, add)


def forget(folder: Path, profile: str, ids: Collection[str]) -> int:
    """Remove the approvals of a profile whose identifiers are in *ids*.

    Returns:
        How many were removed.

    Raises:
        ConfigurationError: As for `keep`.
    """
    count = 0

    def remove(text: str, held: tuple[Kept, ...]) -> tuple[str, list[str]]:
        nonlocal count
        gone = [index for index, each in enumerate(held) if each.id in ids]
        count = len(gone)
        return saved_yaml.without(text, gone), [each.id for each in held if each.id not in ids]

    _change(folder, profile, None, remove)
    return count


def _change(
    folder: Path,
    profile: str,
    workspace: Path | None,
    change: Callable[[str, tuple[Kept, ...]], tuple[str, list[str]]],
) -> None:
    """Replace the file's text by the result of *change*, after checking that this has exactly the returned entries."""
    state = _state(folder, workspace)
    name = _file_of(folder, profile)
    try:
        with state.locked(name) as held:
            before = held.read(name) or ""
            after, ids = change(before, _read(before, folder / name))
            _require_only(ids, _read(after, folder / name))
            if after != before:
                held.write(name, after)
    except (OSError, UnsafeState) as error:
        raise _error(folder / name, error) from error


def _entries(folder: Path, profile: str, workspace: Path | None) -> tuple[Kept, ...]:
    name = _file_of(folder, profile)
    state = _state(folder, workspace)
    try:
        with state.opened() as held:
            text = held.read(name)
        if text is not None:
            state.refuse_workspace()
    except FileNotFoundError:
        return ()
    except (OSError, UnsafeState) as error:
        raise _error(folder / name, error) from error
    return _read(text or "", folder / name)


def _profiles(folder: Path) -> list[str]:
    try:
        return sorted(path.stem for path in folder.iterdir() if path.suffix == ".yaml" and is_name(path.stem))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _error(folder, error) from error


def _state(folder: Path, workspace: Path | None) -> StateFolder:
    return StateFolder(folder.parent, folder.name, workspace=workspace)


def _file_of(folder: Path, profile: str) -> str:
    if not is_name(profile):
        raise _error(folder, UnsafeState(f"holds no approvals of {profile!r}", "Name the profile."))
    return f"{profile}.yaml"


def _error(path: Path, error: Exception) -> ConfigurationError:
    if isinstance(error, UnsafeState):
        return ConfigurationError([Fault(str(path), "", f"the file of saved approvals {error.what}.", error.fix)])
    what = f"the file of saved approvals cannot be used: {getattr(error, 'strerror', None) or error}."
    return ConfigurationError([Fault(str(path), "", what)])


def _require_only(ids: list[str], held: tuple[Kept, ...]) -> None:
    if [kept.id for kept in held] != ids:
        raise UnsafeState("cannot be changed without changing other entries", "Change it by hand.")


def _read(text: str, file: Path) -> tuple[Kept, ...]:
    """Parse the list.

    Raises:
        ConfigurationError: It lists each fault with its place.
    """
    if saved_yaml.is_blank(text):
        return ()
    faults: list[Fault] = []
    root = parse(text, str(file), faults)
    if root is not None and not isinstance(root.value, list):
        faults.append(Fault(str(root.place), "", f"expected a list of approvals, not {described(root.value)}."))
    found = [] if root is None else [_entry(item, index, file.stem, faults) for index, item in enumerate(items(root))]
    if faults:
        raise ConfigurationError(faults)
    return tuple(kept for kept in found if kept is not None)


def _entry(item: Node, index: int, profile: str, faults: list[Fault]) -> Kept | None:
    given = plain(item)
    if isinstance(given, dict):
        problems = list(_problems(given, profile))
    else:
        problems = [(f"an approval is a mapping, not {described(given)}.", f"Its keys are {', '.join(_KEYS)}.")]
    if problems:
        faults += (Fault(str(item.place), str(index), what, fix) for what, fix in problems)
        return None
    bound = Binding(*(given[key] for key in _BOUND), *(given.get(key) for key in _MAYBE_BOUND))
    at, until = _moment(given["at"]), _moment(given["until"])
    return Kept(bound, given["shows"], given["profile"], given.get("by"), at, until, str(item.place))


def _problems(given: Mapping[str, Any], profile: str) -> Iterator[tuple[str, str]]:
    """Yield each fault of an entry, and how to fix it."""
    if "rule" in given:
        yield (
            "an earlier version saved it as a rule, which covers more than what a person approved.",
            "Remove the entry; the person is asked again.",
        )
        return
    for key in sorted(given.keys() - set(_KEYS)):
        yield f"an approval has no {key!r}.", f"Its keys are {', '.join(_KEYS)}."
    for key in _TEXTS:
        if not isinstance(given.get(key), str):
            yield f"`{key}` is missing or no text.", ""
    for key in ("at", "until"):
        if isinstance(given.get(key), str) and not _is_moment(given[key]):
            yield f"`{key}` is no date and time with a time zone.", "Write it as 2026-01-31T12:00:00Z."
    if given.get("profile", profile) != profile:
        yield f"it is for the profile {given['profile']!r}, in the file of {profile!r}.", "Move it there."
    for key in _OPTIONAL:
        if not isinstance(given.get(key), str | None):
            yield f"`{key}` is no text.", ""


def _is_moment(text: str) -> bool:
    try:
        _moment(text)
    except (ValueError, OverflowError):
        return False
    return True


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("no time zone")
    return moment.astimezone(UTC)


def written(moment: datetime) -> str:
    """Format *moment* for the file: UTC, in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
