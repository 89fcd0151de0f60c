"""`toolcharter store`: migrate, check, back up, restore and copy a store, rotate its keys, and manage its secrets."""

import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import update_wrapper
from pathlib import Path
from typing import Any

import click

from toolcharter import (
    CORE_RECORDS,
    ConfigurationError,
    SecretRecord,
    Store,
    StoreHandle,
    ToolcharterError,
    open_store,
)
from toolcharter_stores import archive, maintenance

URL = "TOOLCHARTER_STORE"


@click.group("store")
def command() -> None:
    """Manage a store: its format, its content and its secrets."""


def _with_store(**settings: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the option --store to a command. An error of the store ends the command with one line and status 1."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def run(store: str, **options: Any) -> None:
            with _exit_on_store_error(), open_store(store, **settings) as handle:
                function(handle, **options)

        option = click.option(
            "--store",
            "-s",
            envvar=URL,
            default="sqlite:",
            show_default=True,
            show_envvar=True,
            metavar="URL",
            help="The store: sqlite:, sqlite:///path, postgresql://..., redis://...",
        )
        return option(update_wrapper(run, function))

    return decorate


@contextmanager
def _exit_on_store_error() -> Generator[None]:
    try:
        yield
    except ConfigurationError as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    except ToolcharterError as error:
        click.echo(getattr(error, "message", None) or str(error), err=True)
        sys.exit(1)


@command.command()
@_with_store()
def migrate(handle: StoreHandle) -> None:
    """Migrate the store to the format of this version. A newer format is refused."""
    handle.engine.require_current()
    click.echo("The store has the current format.")


@command.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@_with_store(migrates=False)
def check(handle: StoreHandle, *, as_json: bool) -> None:
    """Read everything and decrypt every secret. Exit status 1 if anything is wrong."""
    found = maintenance.check(handle.engine)
    if as_json:
        rows = [{"tenant": t, "distribution": d, "kind": k, "records": n} for (t, d, k), n in found.records.items()]
        click.echo(
            json.dumps({"records": rows, "items": found.items, "secrets": found.secrets, "faults": found.faults})
        )
    else:
        for (tenant, distribution, kind), number in found.records.items():
            click.echo(f"{number:>9}  {tenant or '-'}  {distribution}  {kind}")
        click.echo(f"{found.items} list items, {found.secrets} secrets.")
        for fault in found.faults:
            click.echo(fault, err=True)
    if found.faults:
        sys.exit(1)


_FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
_FORCE = click.option("--force", is_flag=True, help="Replace existing content.")


@command.command()
@_FILE
@_FORCE
@_with_store(migrates=False)
def backup(handle: StoreHandle, file: Path, *, force: bool) -> None:
    """Write the whole store to FILE, while other processes keep writing. Secrets stay encrypted in it."""
    written = archive.backup(handle.engine, file, replaces=force)
    if not written.is_signed:
        click.echo("The archive is not signed, since there is no key: a restore needs --from-elsewhere.", err=True)
    click.echo(f"{written.lines} lines.")


@command.command()
@_FILE
@click.option("--from-elsewhere", is_flag=True, help="Trust an archive that no key of this store has signed.")
@_with_store()
def restore(handle: StoreHandle, file: Path, *, from_elsewhere: bool) -> None:
    """Replace the whole content of the store by FILE, completely or not at all."""
    click.echo(f"{archive.restore(file, handle.engine, from_elsewhere=from_elsewhere)} lines.")


@command.command("copy")
@click.argument("target", metavar="TARGET_URL")
@_FORCE
@_with_store(migrates=False)
def copy_store(handle: StoreHandle, target: str, *, force: bool) -> None:
    """Replace the whole content of another store, of any kind, by the content of this store."""
    with open_store(target) as other:
        click.echo(f"{archive.copy(handle.engine, other.engine, replaces=force)} lines.")


@command.command("rotate-key")
@_with_store(migrates=False)
def rotate_key(handle: StoreHandle) -> None:
    """Encrypt every secret again with the first key. Then the other keys can be removed."""
    click.echo(f"{maintenance.rotate_keys(handle.engine)} records.")


@command.group()
def secret() -> None:
    """Manage the secrets that profiles, servers and tools refer to as secret:NAME."""


_TENANT = click.option("--tenant", default="", help="The tenant; by default the only tenant.")


@secret.command("put")
@click.argument("name")
@_TENANT
@_with_store()
def put_secret(handle: StoreHandle, name: str, tenant: str) -> None:
    """Store a secret, read from standard input or from a prompt without echo."""
    value = click.prompt("Value", hide_input=True) if sys.stdin.isatty() else sys.stdin.read().removesuffix("\n")
    if not value:
        raise click.UsageError("The value is empty.")
    _secrets(handle, tenant).put(
        SecretRecord(name=name, value=value, changed_at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    )
    click.echo(f"secret:{name}")


@secret.command("list")
@_TENANT
@_with_store()
def list_secrets(handle: StoreHandle, tenant: str) -> None:
    """List the names. Values are never shown."""
    after = ""
    while True:
        page = _secrets(handle, tenant).page(SecretRecord, after=after, limit=500)
        for stored in page.records:
            click.echo(stored.record.name)
        after = page.after
        if not after:
            return


@secret.command("delete")
@click.argument("name")
@_TENANT
@_with_store()
def delete_secret(handle: StoreHandle, name: str, tenant: str) -> None:
    """Delete a secret. Calls that need it are denied from then on."""
    if not _secrets(handle, tenant).delete(SecretRecord, name):
        raise archive.ArchiveError(f"There is no secret {name!r}.")
    click.echo(f"{name} is deleted.")


def _secrets(handle: StoreHandle, tenant: str) -> Store:
    return handle.bound(tenant, CORE_RECORDS)
