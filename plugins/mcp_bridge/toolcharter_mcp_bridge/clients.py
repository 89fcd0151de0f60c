"""Reads and writes the MCP servers in the settings of coding agents, without changing other settings.

Sources: the documentation of Claude Code (`.mcp.json`), Codex (`config.toml`), Gemini CLI (`settings.json`), OpenCode
(`opencode.json`) and VS Code (`.vscode/mcp.json`).
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

NAME = "toolcharter"
"""The name of the one entry that replaces all servers."""
_TABLE = re.compile(r"^\s*\[+\s*([^\]]+?)\s*\]+")
_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)\}|\{env:([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
"""A reference to a variable: `${NAME}`, `${env:NAME}`, `{env:NAME}` or `$NAME`."""


class Unreadable(Exception):
    """The settings cannot be understood; the text says why."""


class Entry(NamedTuple):
    """One server in a client's settings."""

    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str | None = None
    is_sse: bool = False
    headers: Mapping[str, str] = {}


class Client(NamedTuple):
    """One client: where its settings are, and how it writes servers."""

    files: tuple[str, ...]
    """The settings files, in the order of search: relative to the project, or with `~/` to the home folder."""
    key: str
    read: Callable[[Mapping[str, Any]], Entry]
    write: Callable[[tuple[str, ...], Mapping[str, str]], dict[str, Any]]

    def find_settings(self, project: Path, home: Path) -> Path | None:
        """Return the first of its settings files that exists."""
        places = (home / name[2:] if name.startswith("~/") else project / name for name in self.files)
        return next((place for place in places if place.is_file()), None)


def split_reference(value: str) -> tuple[str, str] | None:
    """Split a value into a literal prefix and the variable that it refers to; None if it has no such form."""
    found = _REFERENCE.search(value)
    if found is None or found.end() != len(value) or "$" in value[: found.start()]:
        return None
    return value[: found.start()], next(filter(None, found.groups()))


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {str(name): text if isinstance(text, str) else json.dumps(text) for name, text in value.items()}


def _words(entry: Mapping[str, Any]) -> tuple[str, ...]:
    command, args = entry.get("command"), entry.get("args", [])
    words = command if isinstance(command, list) else [command, *(args if isinstance(args, list) else [])]
    return tuple(map(str, words)) if command else ()


def _read(entry: Mapping[str, Any]) -> Entry:
    """Parse an entry of Claude Code, Gemini CLI, VS Code, OpenCode or Codex: only the names of their keys differ."""
    url = entry.get("httpUrl") or entry.get("url")
    is_sse = entry.get("type") == "sse" or ("url" in entry and "httpUrl" not in entry and entry.get("_sse", False))
    headers = _texts(entry.get("headers") or entry.get("http_headers"))
    if isinstance(variable := entry.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    env = _texts(entry.get("env") or entry.get("environment"))
    return Entry(_words(entry), env, url if isinstance(url, str) else None, bool(is_sse), headers)


def _read_gemini(entry: Mapping[str, Any]) -> Entry:
    """Parse an entry of Gemini CLI, where `url` without `httpUrl` means server-sent events."""
    return _read({**entry, "_sse": True})


def _plain(command: tuple[str, ...], env: Mapping[str, str]) -> dict[str, Any]:
    return {"command": command[0], "args": list(command[1:]), **({"env": dict(env)} if env else {})}


def _vscode(command: tuple[str, ...], env: Mapping[str, str]) -> dict[str, Any]:
    return {"type": "stdio", **_plain(command, env)}


def _opencode(command: tuple[str, ...], env: Mapping[str, str]) -> dict[str, Any]:
    return {"type": "local", "command": list(command), **({"environment": dict(env)} if env else {})}


CLIENTS: Mapping[str, Client] = {
    "claude-code": Client((".mcp.json", "~/.claude.json"), "mcpServers", _read, _plain),
    "codex": Client((".codex/config.toml", "~/.codex/config.toml"), "mcp_servers", _read, _plain),
    "gemini": Client((".gemini/settings.json", "~/.gemini/settings.json"), "mcpServers", _read_gemini, _plain),
    "opencode": Client(("opencode.json", "~/.config/opencode/opencode.json"), "mcp", _read, _opencode),
    "vscode": Client((".vscode/mcp.json",), "servers", _read, _vscode),
}


def servers_in(client: Client, text: str, *, is_toml: bool) -> dict[str, Mapping[str, Any]]:
    """Return the server entries of the settings, by name.

    Raises:
        Unreadable: The settings cannot be parsed.
    """
    found = _parsed(text, is_toml=is_toml).get(client.key, {})
    if not isinstance(found, Mapping) or not all(isinstance(entry, Mapping) for entry in found.values()):
        raise Unreadable(f"{client.key} is no mapping of servers")
    return dict(found)


def _parsed(text: str, *, is_toml: bool) -> dict[str, Any]:
    try:
        found: Any = tomllib.loads(text) if is_toml else json.loads(text or "{}")
    except ValueError as error:
        raise Unreadable(f"it is not understood: {error}") from None
    if not isinstance(found, dict):
        raise Unreadable("it is no mapping")
    return found


def with_servers(client: Client, text: str, servers: Mapping[str, Any], *, is_toml: bool) -> str:
    """Return the settings with *servers* in place of all their servers, and nothing else changed.

    Raises:
        Unreadable: The settings cannot be parsed, or the result would not parse to the wanted settings.
    """
    settings = _parsed(text, is_toml=is_toml)
    wanted = {**settings, client.key: dict(servers)}
    if not is_toml:
        return json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"
    written = _without_tables(text, client.key) + "".join(
        _table((client.key, name), one) for name, one in servers.items()
    )
    if {client.key: {}, **_parsed(written, is_toml=True)} != wanted:
        raise Unreadable(f"{client.key} is written in a way that is not understood")
    return written


def _without_tables(text: str, key: str) -> str:
    kept, is_ours = list[str](), False
    for line in text.splitlines():
        if header := _TABLE.match(line):
            is_ours = header[1].split(".")[0].strip().strip("\"'") == key
        if not is_ours:
            kept.append(line)
    return "\n".join(kept).rstrip("\n") + "\n" if kept else ""


def _table(path: tuple[str, ...], values: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    lines = [
        "",
        f"[{'.'.join(map(_quoted, path))}]",
        *(f"{_quoted(name)} = {_value(one)}" for name, one in plain.items()),
    ]
    inner = (_table((*path, name), one) for name, one in values.items() if isinstance(one, Mapping))
    return "\n".join(lines) + "\n" + "".join(inner)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _value(value: Any) -> str:
    """Format a value for TOML, which writes strings, numbers and lists as JSON does."""
    return json.dumps(value, ensure_ascii=False)
