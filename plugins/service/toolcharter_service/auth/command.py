"""`toolcharter service`: manages tokens and users from a shell on the service's machine, before anyone can sign in."""

import json
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from getpass import getuser
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from pydantic import BaseModel, ValidationError

from toolcharter import Store, StoreConflict, StoreUnavailable, hookimpl, open_store
from toolcharter_service.auth import tokens as token_module
from toolcharter_service.auth.passwords import MIN_LENGTH, Passwords
from toolcharter_service.auth.principal import CallerScope, Role
from toolcharter_service.auth.records import TokenRecord, UserRecord
from toolcharter_service.auth.tokens import DEFAULT_DAYS, NewToken
from toolcharter_service.auth.users import NewUser, new_user_record
from toolcharter_service.config import read_config, url_of
from toolcharter_service.service import Service

ModelT = TypeVar("ModelT", bound=BaseModel)
RecordT = TypeVar("RecordT", TokenRecord, UserRecord)


class _AdminTarget(NamedTuple):
    """The service and tenant that a command works on."""

    service: Service
    store: Store
    """The records of the service as a whole."""
    tenant: str

    def emit_admin_event(self, action: str, target: str, **more: Any) -> None:
        """Emit an event for an administrative action."""
        by = f"shell:{getuser()}"
        self.service.emit("service.admin", action=action, tenant=self.tenant, by=by, target=target, **more)


@click.group("service")
def command() -> None:
    """Create, list and revoke the service's tokens and users."""


@command.group()
def token() -> None:
    """Manage tokens, for agents and programs."""


@command.group()
def user() -> None:
    """Manage people who sign in with a password."""


_CONFIG = click.option(
    "--config", "config", required=True, type=click.Path(path_type=Path), help="The configuration of the service."
)
_TENANT = click.option("--tenant", help="The tenant; may be omitted if the configuration has only one.")
_ROLES = click.option(
    "--role",
    "roles",
    multiple=True,
    required=True,
    type=click.Choice([role.value for role in Role]),
    help="A role that it has; repeatable.",
)
_AGENTS = click.option(
    "--agent", "agents", multiple=True, help="An agent that it may speak for, repeatable; by default any agent."
)
_PROJECTS = click.option(
    "--project", "projects", multiple=True, help="A project that it may name, repeatable; by default any project."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")


@token.command("create")
@click.argument("name")
@_CONFIG
@_TENANT
@_ROLES
@_AGENTS
@_PROJECTS
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([scope.value for scope in CallerScope]),
    help="A scope that it is limited to, repeatable; by default all scopes.",
)
@click.option("--user", "person", help="The person that it is for: grants to this user are valid for the token, too.")
@click.option("--days", type=float, default=DEFAULT_DAYS, show_default=True, help="How many days it is valid.")
def create_token(config: Path, tenant: str | None, name: str, person: str | None, days: float, **lists: Any) -> None:
    """Create a token and print it. It is not stored, and not shown again."""
    with _open_target(config, tenant) as target:
        wanted = _validate_options(NewToken, name=name, user=person, days=days, **_without_empty(lists))
        created = token_module.create_token(target.tenant, wanted, f"shell:{getuser()}")
        target.store.put(created.record, expected=0)
        more = {"name": name, "user": person, "roles": wanted.roles, "agents": wanted.agents}
        target.emit_admin_event("token_created", created.record.id, **more)
    click.echo(created.text)
    until = datetime.fromtimestamp(created.record.expires, UTC).strftime("%Y-%m-%d %H:%M")
    click.echo(f"Token {created.record.id} of tenant {target.tenant}, until {until} UTC.", err=True)


@token.command("list")
@_CONFIG
@_TENANT
@_JSON
def list_tokens(config: Path, tenant: str | None, *, as_json: bool) -> None:
    """List the tokens, without their secret text."""
    with _open_target(config, tenant) as target:
        _print_records(
            _read_records(target, TokenRecord),
            ("id", "name", "user", "roles", "agents", "expires", "created_by"),
            as_json=as_json,
        )


@token.command("revoke")
@click.argument("token_id", metavar="ID")
@_CONFIG
@_TENANT
def revoke_token(config: Path, tenant: str | None, token_id: str) -> None:
    """Revoke a token. Within a second every process refuses it."""
    with _open_target(config, tenant) as target:
        revoked = target.store.transact(
            lambda transaction: token_module.revoke_token(transaction, target.tenant, token_id)
        )
        if revoked is None:
            raise click.ClickException(f"There is no token {token_id!r}; `toolcharter service token list` shows them.")
        target.emit_admin_event("token_revoked", token_id, name=revoked.name)
    click.echo(f"Revoked {token_id} ({revoked.name}).", err=True)


@user.command("add")
@click.argument("name")
@_CONFIG
@_TENANT
@_ROLES
@_AGENTS
@_PROJECTS
def add_user(config: Path, tenant: str | None, name: str, **lists: Any) -> None:
    """Add a person who signs in with a password. It is read from a prompt or from standard input."""
    with _open_target(config, tenant) as target:
        if sys.stdin.isatty():
            password = click.prompt(
                f"Password, {MIN_LENGTH} characters or more", hide_input=True, confirmation_prompt=True
            )
        else:
            password = sys.stdin.readline().rstrip("\r\n")
        wanted = _validate_options(NewUser, name=name, password=password, **_without_empty(lists))
        record = new_user_record(target.tenant, wanted, Passwords().hash(password), f"shell:{getuser()}")
        try:
            target.store.put(record, expected=0)
        except StoreConflict as error:
            raise click.ClickException(f"There is a user {name!r} already.") from error
        target.emit_admin_event("user_created", name, roles=record.roles, agents=record.agents)
    click.echo(f"Added {name} to tenant {target.tenant}.", err=True)


@user.command("list")
@_CONFIG
@_TENANT
@_JSON
def list_users(config: Path, tenant: str | None, *, as_json: bool) -> None:
    """List the users."""
    with _open_target(config, tenant) as target:
        _print_records(
            _read_records(target, UserRecord), ("name", "roles", "agents", "enabled", "created_by"), as_json=as_json
        )


@user.command("remove")
@click.argument("name")
@_CONFIG
@_TENANT
def remove_user(config: Path, tenant: str | None, name: str) -> None:
    """Delete a user. The user's sessions end."""
    with _open_target(config, tenant) as target:
        if not target.store.delete(UserRecord, target.tenant, name):
            raise click.ClickException(f"There is no user {name!r}; `toolcharter service user list` shows them.")
        target.emit_admin_event("user_deleted", name)
    click.echo(f"Removed {name}.", err=True)


@contextmanager
def _open_target(config: Path, tenant: str | None) -> Generator[_AdminTarget]:
    """Open the records of the service that *config* describes.

    Raises:
        ConfigurationError: The configuration has faults. The command line shows them and exits with status 2.
        click.ClickException: The store does not answer, or the tenant does not exist.
    """
    file = read_config(config)
    tenants = list(file.config.tenants)
    if tenant is None and len(tenants) > 1:
        raise click.UsageError(f"Choose one of the tenants with --tenant: {', '.join(tenants)}.")
    if tenant is not None and tenant not in tenants:
        raise click.UsageError(f"The configuration has no tenant {tenant!r}; it has {', '.join(tenants)}.")
    with open_store(url_of(file.config.store)) as stores:
        service = Service(file, stores=stores)
        try:
            yield _AdminTarget(service, service.store(""), tenant or tenants[0])
        except StoreUnavailable as error:
            raise click.ClickException(f"{error.message} {error.hint or ''}".strip()) from error


def _without_empty(lists: dict[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Keep the options that were given. An option that was not given sets no restriction."""
    return {name: values for name, values in lists.items() if values}


def _validate_options(model: type[ModelT], **values: Any) -> ModelT:
    """Validate the options against *model*.

    Raises:
        click.UsageError: A value is invalid.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise click.UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from error


def _read_records(target: _AdminTarget, model: type[RecordT]) -> Iterator[RecordT]:
    """Yield the tenant's records, and print which cannot be read."""
    after = ""
    while True:
        page = target.store.page(model, where={"tenant": target.tenant}, after=after, skip_unreadable=True)
        for what in page.unreadable:
            click.echo(what, err=True)
        yield from (one.record for one in page.records)
        after = page.after
        if not after:
            return


def _print_records(records: Iterator[BaseModel], columns: Sequence[str], *, as_json: bool) -> None:
    for record in records:
        values = {name: getattr(record, name) for name in columns}
        if as_json:
            click.echo(json.dumps(values))
        else:
            click.echo(
                "  ".join(f"{name}={_format_field(name, value)}" for name, value in values.items() if value is not None)
            )


def _format_field(name: str, value: Any) -> str:
    if name == "expires":
        ended = " (expired)" if value < time.time() else ""
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%MZ") + ended
    return ",".join(value) if isinstance(value, tuple) else json.dumps(value) if isinstance(value, str) else str(value)


@hookimpl
def register_commands() -> Sequence[click.Command]:
    """Offer `toolcharter service`."""
    return [command]
