"""`toolcharter mcp wrap` and `unwrap`: replace all servers of a client by one governed entry, and undo it."""

import difflib
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import click
import yaml

from toolcharter import open_live, state_path
from toolcharter_mcp_bridge.clients import (
    CLIENTS,
    NAME,
    Client,
    Entry,
    Unreadable,
    servers_in,
    split_reference,
    with_servers,
)
from toolcharter_mcp_bridge.open_bridges import collect_bridges
from toolcharter_mcp_bridge.policy import McpBridgePolicy
from toolcharter_mcp_bridge.texts import full_name
from toolcharter_mcp_bridge.trust import Definition, TrustStore

_NO_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 24


class Wrapped(NamedTuple):
    """The files that describe one wrapped client."""

    folder: Path
    name: str

    @property
    def profile(self) -> Path:
        """The profile that has the client's servers."""
        return self.folder / f"{self.name}.yaml"

    @property
    def record(self) -> Path:
        """The record of the settings before and after."""
        return self.folder / f"{self.name}.json"


@click.command("mcp.wrap")
@click.argument("client", type=click.Choice(sorted(CLIENTS)))
@click.option("--file", "given", type=click.Path(path_type=Path), help="The settings file; default: the client's own.")
@click.option("--project", type=click.Path(path_type=Path), default=".", help="The client's project; default: here.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def wrap(client: str, given: Path | None, project: Path, yes: bool) -> None:  # noqa: FBT001 - an option
    """Replace all MCP servers of CLIENT by one governed entry.

    The servers are started once to list their tools. The new profile allows the tools that say that they only read,
    and asks about all others. The profile and the change are shown first. The old settings are kept, and `unwrap`
    restores them.
    """
    kind, file = CLIENTS[client], _settings_file(client, given, project)
    text, place = _text(file), _record_place(client, file)
    if place.record.exists():
        raise click.ClickException(f"{file} is wrapped already; undo it first: toolcharter mcp unwrap {client}")
    try:
        entries = servers_in(kind, text, is_toml=file.suffix == ".toml")
    except Unreadable as error:
        raise click.ClickException(f"{file}: {error}") from None
    servers, secrets = _translate_servers({name: kind.read(entry) for name, entry in entries.items()})
    if not servers:
        raise click.ClickException(f"{file} names no MCP server.")
    found, notes = _list_tools(place, servers, secrets, project)
    profile = _profile_text(place.name, client, servers, found)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    _show_and_ask(kind, file, text, place, profile, secrets, yes=yes)
    store = TrustStore(place.name, project.resolve())
    for server, definitions in found.items():
        store.approve(server, *definitions)
    click.echo(
        f"Wrapped {len(servers)} servers with {sum(map(len, found.values()))} tools. Undo: toolcharter mcp unwrap {client}"
    )


def _show_and_ask(
    kind: Client, file: Path, text: str, place: Wrapped, profile: str, secrets: Mapping[str, str], *, yes: bool
) -> None:
    """Show the files that would be written, and write them if the user agrees."""
    command = (*_own_command(), "mcp", "--profile", str(place.profile), "--workspace", ".")
    try:
        after = with_servers(kind, text, {NAME: kind.write(command, secrets)}, is_toml=file.suffix == ".toml")
    except Unreadable as error:
        raise click.ClickException(f"{file}: {error}") from None
    click.echo(f"# {place.profile}\n{profile}")
    shown = _mask_secrets(
        "".join(
            difflib.unified_diff(text.splitlines(keepends=True), after.splitlines(keepends=True), str(file), str(file))
        ),
        secrets,
    )
    click.echo(shown)
    if not yes:
        click.confirm("Write both?", abort=True)
    place.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _replace(place.profile, profile, 0o600)
    _replace(place.record, json.dumps({"file": str(file), "before": text, "after": after}), 0o600)
    backup = file.with_name(f"{file.name}.before-toolcharter")
    _replace(backup, text, file.stat().st_mode & 0o777)
    if _text(file) != text:
        raise click.ClickException(f"{file} was changed meanwhile; it stays as it is.")
    _replace(file, after, file.stat().st_mode & 0o777)
    click.echo(f"The settings as they were: {backup}")


@click.command("mcp.unwrap")
@click.argument("client", type=click.Choice(sorted(CLIENTS)))
@click.option("--file", "given", type=click.Path(path_type=Path), help="The settings file; default: the client's own.")
@click.option("--project", type=click.Path(path_type=Path), default=".", help="The client's project; default: here.")
def unwrap(client: str, given: Path | None, project: Path) -> None:
    """Restore the MCP servers that CLIENT had before `wrap`; other changes since then are kept."""
    kind, file = CLIENTS[client], _settings_file(client, given, project)
    place, text = _record_place(client, file), _text(file)
    try:
        record = json.loads(place.record.read_text())
        before, after = str(record["before"]), str(record["after"])
    except (OSError, ValueError, KeyError):
        raise click.ClickException(f"{file} is not wrapped.") from None
    if text != after:
        is_toml = file.suffix == ".toml"
        try:
            present = servers_in(kind, text, is_toml=is_toml)
            added = {name: entry for name, entry in present.items() if name != NAME}
            before = with_servers(kind, text, {**servers_in(kind, before, is_toml=is_toml), **added}, is_toml=is_toml)
        except Unreadable as error:
            raise click.ClickException(f"{file}: {error}") from None
    _replace(file, before, file.stat().st_mode & 0o777)
    place.record.unlink()
    place.profile.unlink(missing_ok=True)
    file.with_name(f"{file.name}.before-toolcharter").unlink(missing_ok=True)
    click.echo(f"{file} has its MCP servers back.")


def _settings_file(client: str, given: Path | None, project: Path) -> Path:
    file = given or CLIENTS[client].find_settings(project.resolve(), Path.home())
    if file is None or not file.is_file():
        where = given or " and ".join(CLIENTS[client].files)
        raise click.ClickException(f"There are no settings of {client} at {where}.")
    return file.resolve()


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{file}: {getattr(error, 'strerror', None) or 'is no text'}") from None


def _record_place(client: str, file: Path) -> Wrapped:
    folder = state_path("mcp_wrapped", os.environ)
    if folder is None:
        raise click.ClickException("The user has no home folder; set XDG_STATE_HOME.")
    return Wrapped(folder, f"{client}-{sha256(str(file).encode()).hexdigest()[:8]}")


def _own_command() -> tuple[str, ...]:
    script = Path(sys.executable).parent / "toolcharter"
    return (str(script),) if script.is_file() else (sys.executable, "-P", "-m", "toolcharter")


def _translate_servers(entries: Mapping[str, Entry]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the servers for the profile, and the literal values that only the client's settings may hold."""
    servers, secrets = dict[str, Any](), dict[str, str]()
    for name, entry in entries.items():
        short = _NO_NAME.sub("-", name.lower()).strip("-")[:_LONGEST_NAME].strip("-") or "server"
        while short in servers:
            short = f"{short[: _LONGEST_NAME - 3].strip('-')}-{len(servers) + 1}"
        if entry.url is not None:
            servers[short] = {"url": entry.url, **({"transport": "sse"} if entry.is_sse else {})}
            values, key = entry.headers, "headers"
            if re.match(r"https?://(127\.0\.0\.1|localhost)[:/]", entry.url):
                servers[short] |= {
                    "url": entry.url.replace("localhost", "127.0.0.1", 1),
                    "allowed_private": ["127.0.0.1"],
                }
        elif entry.command:
            servers[short] = {"command": _program(entry.command[0]), "args": list(entry.command[1:]), "network": True}
            values, key = {**_kept_environment(), **entry.env}, "env"
        else:
            continue
        written = {one: _translate_value(short, one, value, secrets, key) for one, value in values.items()}
        servers[short] |= {key: written} if written else {}
    return servers, secrets


def _kept_environment() -> dict[str, str]:
    """Return the variables of the client's environment that programs do not work without."""
    return {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}


def _program(command: str) -> str:
    """Return the path that the client finds for a bare name: a profile would look in other folders."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    found = (Path(folder, command) for folder in folders) if "/" not in command else ()
    return next((str(path) for path in found if path.is_file() and os.access(path, os.X_OK)), command)


def _translate_value(server: str, name: str, value: str, secrets: dict[str, str], key: str) -> Any:
    """Translate a server's value. A reference stays a reference; a literal becomes a reference to our own entry.

    That entry gets the literals in *secrets*: they are in the client's settings already.
    """
    if key == "env" and name in {"HOME", "PATH"}:
        return value
    if found := split_reference(value):
        prefix, variable = found
        return {"env": variable, **({"prefix": prefix} if prefix else {})}
    variable = re.sub(r"\W", "_", f"MCP_{server}_{name}".upper())
    secrets[variable] = value
    return {"env": variable}


def _list_tools(
    place: Wrapped, servers: Mapping[str, Any], secrets: Mapping[str, str], project: Path
) -> tuple[dict[str, list[Definition]], list[str]]:
    """Start the servers once, and return their tools and the notes about them."""
    policy = McpBridgePolicy.from_profile({"servers": dict(servers)})
    wait_s = max((server.connect_timeout_s for server in policy.servers.values()), default=0.0)
    written = {
        "profile": f"look-{place.name}",
        "runner": "host",
        "extensions": {"mcp_bridge": {"servers": dict(servers), "wait_s": wait_s, "search_above": 10_000}},
    }
    before = {name: os.environ.get(name) for name in secrets}
    os.environ.update(secrets)
    try:
        with tempfile.TemporaryDirectory() as folder, collect_bridges() as bridges:
            path = Path(folder, "look.yaml")
            path.write_text(yaml.safe_dump(written))
            with open_live(path, workspace=project, events=None) as live:
                live.settle()
                notes = list(live.reload().notes)
                return {name: found for bridge in bridges for name, found in bridge.definitions().items()}, notes
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _profile_text(name: str, client: str, servers: Mapping[str, Any], found: Mapping[str, list[Definition]]) -> str:
    """Return the profile: it allows tools that say they only read, and asks a person about all others."""
    reads = [
        full_name(server, one.name)
        for server, definitions in found.items()
        for one in definitions
        if one.hints.get("readOnlyHint") is True
    ]
    written = {
        "profile": name,
        "description": f"The MCP servers of {client}: tools that say they only read may, the rest asks.",
        "runner": "host",
        "mode": "ask",
        "extensions": {"mcp_bridge": {"servers": dict(servers)}},
        "allow": [*reads, "mcp_search"],
    }
    return yaml.safe_dump(written, sort_keys=False, width=120, allow_unicode=True)


def _mask_secrets(text: str, secrets: Mapping[str, str]) -> str:
    for value in sorted(secrets.values(), key=len, reverse=True):
        if value:
            text = text.replace(json.dumps(value, ensure_ascii=False), '"..."')
    return text


def _replace(file: Path, text: str, mode: int) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".toolcharter-")
    try:
        with os.fdopen(handle, "w") as new:
            os.fchmod(new.fileno(), mode)
            new.write(text)
            new.flush()
            os.fsync(new.fileno())
        os.replace(name, os.path.realpath(file))  # noqa: PTH105 - through a symbolic link, as managers of dotfiles make them
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
