"""`toolcharter shims`: writes a program for each tool, `http_get --url ...`, that calls a service or a profile."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import click

from toolcharter import ToolcharterError, build_tools, lazy, read_regular
from toolcharter_service.registry import shim_program
from toolcharter_service.registry.records import ToolRecord
from toolcharter_service.registry.schemas import json_schema
from toolcharter_service.registry.source_tools import SOURCE_TOOLS
from toolcharter_service.registry.tools import schema_of

if TYPE_CHECKING:
    import httpx
else:
    httpx = lazy("httpx")  # shims of a profile need no service

MARK: Final = "# A shim of toolcharter: made anew by `toolcharter shims`.\n"
_FIRST: Final = "#!/usr/bin/env -S python3 -I\n"
"""`-I`: imports come neither from the folder of the shims nor from the user's environment."""
_HEAD_BYTES: Final = 512


class Shim(NamedTuple):
    """The program of one tool."""

    tool: str
    description: str
    schema: Mapping[str, Any]
    asks: Mapping[str, Any]
    """The target of the call: the service's `url`, or `profile` and `workspace`."""

    def text(self) -> str:
        """Return the content of the file. It has no secrets: the token is read from the environment at each call."""
        facts = {
            "tool": self.tool,
            "description": self.description,
            "properties": dict(self.schema.get("properties", {})),
            "required": list(self.schema.get("required", self.schema.get("properties", {}))),
            **self.asks,
        }
        source = Path(shim_program.__file__).read_text(encoding="utf-8")
        set_up = f"SHIM = json.loads({json.dumps(facts)!r})\n"
        return f'{_FIRST}{MARK}{source}\n\n{set_up}if __name__ == "__main__":\n    sys.exit(main(SHIM, sys.argv[1:]))\n'


class ShimChanges(NamedTuple):
    """The changes of a folder: written files, removed files, and notes on others."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    notes: tuple[str, ...]


def write_shims(folder: Path, shims: list[Shim]) -> ShimChanges:
    """Write *shims* into *folder*, and remove earlier shims whose tools no longer exist.

    Files that are no shims stay unchanged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written, notes = list[str](), list[str]()
    for name, shim in sorted(_with_file_names(shims)):
        path = folder / name
        if name.startswith("-"):
            notes.append(f"{name!r} is left out: a program's name does not begin with '-'.")
        elif os.path.lexists(path) and not is_shim(path):
            notes.append(f"{str(path)!r} is left unchanged: it is no shim.")
        else:
            _write(path, shim.text())
            written.append(name)
    removed = [one for one in sorted(folder.iterdir()) if one.name not in written and is_shim(one)]
    for one in removed:
        one.unlink()
    return ShimChanges(tuple(written), tuple(one.name for one in removed), tuple(notes))


def _with_file_names(shims: list[Shim]) -> Iterator[tuple[str, Shim]]:
    """Yield each shim with its file name: HDN's tools lose the prefix `tool_`, unless another tool has that name."""
    taken = {shim.tool.lower() for shim in shims}
    for shim in shims:
        short = shim.tool.removeprefix("tool_")
        yield short if shim.tool in SOURCE_TOOLS and short.lower() not in taken else shim.tool, shim


def is_shim(path: Path) -> bool:
    """Whether the file is a shim. Links are not followed."""
    with suppress(OSError):
        return read_regular(path, _HEAD_BYTES).startswith((_FIRST + MARK).encode())
    return False


def _write(path: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".shim-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o755)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def shims_of_service(url: str, environ: Mapping[str, str]) -> list[Shim]:
    """Return a shim for each tool that the service shows to the token in the environment.

    Raises:
        click.UsageError: The URL is invalid, or a token would be sent without encryption.
        click.ClickException: The service does not answer, or refuses.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or parts.username or parts.query or parts.fragment:
        raise click.UsageError("--url is the service's address, such as https://tools.example.org; without a token.")
    token = shim_program.read_token(dict(environ))
    if token and parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "::1", "localhost"}:
        raise click.UsageError("A token is only sent over https, or to this machine.")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if agent := environ.get("TOOLCHARTER_AGENT"):
        headers["X-Agent-ID"] = agent
    try:
        answer = httpx.get(f"{url.rstrip('/')}/api/v1/tools", headers=headers, timeout=30, trust_env=False)
        answer.raise_for_status()
        records = [ToolRecord.model_validate_json(json.dumps(one)) for one in answer.json()["tools"]]
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise click.ClickException(f"The service gives no tools: {error}") from None
    return [Shim(one.id, one.description or one.name, _schema(one), {"url": url.rstrip("/")}) for one in records]


def _schema(record: ToolRecord) -> Mapping[str, Any]:
    return json_schema(record.input_schema) if record.exec is None else schema_of(record)


def shims_of_profile(profile: str, workspace: Path) -> list[Shim]:
    """Return a shim for each tool of a profile, including the registered tools that it finds.

    Raises:
        ToolcharterError: The profile cannot be used.
    """
    path = Path(profile)
    asks = {"profile": str(path.resolve()) if path.exists() else profile, "workspace": str(workspace.resolve())}
    plain = {**asks, "arguments": {}, "fixed": {}}
    with build_tools(profile, workspace=workspace) as toolbox:
        return [Shim(name, tool.description, tool.parameters, plain) for name, tool in toolbox.items()]


@click.command("shims")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.option("--url", metavar="URL", help="The service; default: that of serve --dev, http://127.0.0.1:8081.")
@click.option("--profile", "-p", metavar="PROFILE", help="Call the tools of a profile, without a service.")
@click.option(
    "--workspace", "-w", type=click.Path(path_type=Path), default=Path(), help="The folder that its tools may touch."
)
def shims(folder: Path, url: str | None, profile: str | None, workspace: Path) -> None:
    """Write each tool as a program into DIR: `http_get --url ...` calls it and prints its JSON.

    The token comes from the environment, at each call: TOOLCHARTER_TOKEN, or the file that TOOLCHARTER_TOKEN_FILE names.
    """
    if url is not None and profile is not None:
        raise click.UsageError("Give --url or --profile.")
    try:
        found = (
            shims_of_profile(profile, workspace)
            if profile
            else shims_of_service(url or "http://127.0.0.1:8081", os.environ)
        )
        changes = write_shims(folder, found)
    except (ToolcharterError, OSError) as error:
        raise click.ClickException(str(error)) from error
    for note in changes.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"{len(changes.written)} programs in {folder}; {len(changes.removed)} removed.")
