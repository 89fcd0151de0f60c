"""Keeps the tools that a person has approved, as they were then, in the user's state folder."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple

from toolcharter import StateFolder, UnsafeState, state_path

TrustState = Literal["approved", "new", "changed"]


class Definition(NamedTuple):
    """One tool as its server describes it, with the server's identity."""

    identity: str
    """The server's command or URL, with its variables or headers."""
    version: str
    """The name and version that the server gives itself."""
    name: str
    """The server's own name for the tool."""
    description: str
    schema: Mapping[str, Any]
    """The schema as the server sent it."""
    hints: Mapping[str, Any]
    """The server's annotations of the tool, such as `readOnlyHint`."""

    @property
    def hash(self) -> str:
        """The SHA-256 of the whole definition."""
        return sha256(_canonical(self).encode(errors="surrogatepass")).hexdigest()


def _canonical(one: Definition) -> str:
    return json.dumps(one, sort_keys=True, separators=(",", ":"))


class TrustStore:
    """The approved tools of one profile's servers. Thread-safe; a record that cannot be read approves nothing."""

    def __init__(self, profile: str, workspace: Path, environ: Mapping[str, str] = os.environ) -> None:
        path = state_path("mcp_bridge", environ)
        self._folder = None if path is None else StateFolder(path.parent, path.name, workspace=workspace)
        self._profile = profile
        self._known: dict[str, dict[str, Definition]] = {}
        self._lock = Lock()

    def approved(self, server: str) -> Mapping[str, Definition]:
        """Return the approved tools of *server*, by the server's own names."""
        with self._lock:
            if server not in self._known:
                self._known[server] = self._read(server)
            return dict(self._known[server])

    def state_of(self, server: str, found: Definition) -> TrustState:
        """Return whether a tool is approved, new, or changed since its approval."""
        known = self.approved(server).get(found.name)
        if known is None:
            return "new"
        return "approved" if known.hash == found.hash else "changed"

    def approve(self, server: str, *definitions: Definition) -> bool:
        """Save that a person has agreed. False if it could not be written, so that it holds only in this process."""
        with self._lock:
            known = {**self._known.get(server, {}), **{one.name: one for one in definitions}}
            self._known[server] = known
            if self._folder is None:
                return False
            try:
                with self._folder.locked(self._file(server)) as held:
                    known = {**self._parsed(held.read(self._file(server))), **{one.name: one for one in definitions}}
                    held.write(self._file(server), self._text(server, known))
            except (OSError, UnsafeState):
                return False
            return True

    def forget(self, server: str) -> None:
        """Drop all approvals of *server*."""
        with self._lock:
            self._known[server] = {}
            if self._folder is not None:
                with suppress(OSError, UnsafeState), self._folder.locked(self._file(server)) as held:
                    held.write(self._file(server), self._text(server, {}))

    def _file(self, server: str) -> str:
        return f"{sha256(f'{self._profile}/{server}'.encode()).hexdigest()[:32]}.json"

    def _text(self, server: str, known: Mapping[str, Definition]) -> str:
        tools = [one._asdict() for one in known.values()]
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return json.dumps({"profile": self._profile, "server": server, "written": now, "tools": tools}, indent=1)

    def _read(self, server: str) -> dict[str, Definition]:
        if self._folder is None:
            return {}
        with suppress(OSError, UnsafeState), self._folder.opened() as held:
            return self._parsed(held.read(self._file(server)))
        return {}

    @staticmethod
    def _parsed(text: str | None) -> dict[str, Definition]:
        try:
            found = [Definition(**one) for one in json.loads(text or "{}").get("tools", ())]
        except (ValueError, TypeError, AttributeError):
            return {}
        return {one.name: one for one in found if _is_sound(one)}


def _is_sound(one: Definition) -> bool:
    texts = (one.identity, one.version, one.name, one.description)
    return all(isinstance(text, str) for text in texts) and isinstance(one.schema, dict) and isinstance(one.hints, dict)


def describe_change(approved: Definition | None, current: Definition) -> str:
    """Describe what a person agrees to: all that a model reads of a new tool, or all changes as lines with `-` and `+`.

    Nothing is cut, since the missing part could be the dangerous one. The size of schemas and descriptions is bounded.
    """
    if approved is None:
        return "\n".join((f"{current.name}: {current.description or 'no description'}", *_texts(current.schema, ())))
    said = list[str]()
    for field, before, after in zip(Definition._fields, map(_lines, approved), map(_lines, current), strict=True):
        if before != after:
            said += [f"{field.replace('identity', 'command or url')}:", *_changes(before, after)]
    return "\n".join(said)


def _texts(schema: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Yield every value in a schema with its path."""
    items = enumerate(schema) if isinstance(schema, list) else schema.items() if isinstance(schema, Mapping) else ()
    if path and not items:
        place = ".".join(path)
        # Unprintable characters are escaped: they could end the line, or control the terminal.
        yield f"  {place if place.isprintable() else repr(place)}: {schema!r}"
    for key, value in items:
        yield from _texts(value, (*path, str(key)))


def _changes(before: list[str], after: list[str]) -> list[str]:
    """Return the lines that are gone and the lines that are new, in linear time: a server chooses the lines."""
    gone, new = Counter(before), Counter(after)
    gone, new = gone - new, new - gone
    marked = [f"- {line}" for line in before if _take_line(gone, line)] + [
        f"+ {line}" for line in after if _take_line(new, line)
    ]
    return marked or ["the same lines in another order"]


def _take_line(left: Counter[str], line: str) -> bool:
    left[line] -= 1
    return left[line] >= 0


def _lines(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.replace("\0", " ").strip().splitlines()
    return json.dumps(value, indent=1, sort_keys=True).splitlines()
