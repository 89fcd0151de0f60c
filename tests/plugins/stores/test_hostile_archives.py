"""What a stranger has written into an archive or a store: restored whole or not at all, and told in one sentence."""

import gzip
import hashlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from tests.plugins.stores.store_servers import PostgresqlServer, RedisServer, Rows, SqliteFolder
from tests.plugins.stores.store_servers import row as new_row

from toolcharter import Scope, StoreEngine, StoreUnavailable, open_store
from toolcharter_stores.archive import ArchiveError, restore
from toolcharter_stores.command import command
from toolcharter_stores.entries import MAX_NUMBER

pytestmark = pytest.mark.slow
SERVICE = "toolcharter-service"
ENVIRONMENT = {"TOOLCHARTER_STORE_KEY": "11" * 32}


def archive(file: Path, *values: Any, form: object = 1) -> Path:
    """A file that says that it is whole."""
    lines = [json.dumps(each).encode() + b"\n" for each in ({"toolcharter_store": form}, *values)]
    last = {"lines": len(lines), "sha256": hashlib.sha256(b"".join(lines)).hexdigest()}
    file.write_bytes(gzip.compress(b"".join(lines) + json.dumps(last).encode() + b"\n"))
    return file


def record(*key: Any, of: Any = ("acme", SERVICE), kind: Any = "tool", at: Any = (1, 1), **fields: Any) -> Any:
    content = {"key": key or ("a",), "document": "{}", "indexed": {}, "full_text": "", "secret": ()} | fields
    return {"row": content, "of": of, "kind": kind, "at": at}


def item(name: str, tenant: str = "") -> Any:
    return {"item": "1", "of": [tenant, SERVICE], "list": name}


def fence(number: object, name: str = "job") -> Any:
    return {"fence": number, "of": ["acme", SERVICE], "lease": name}


HOSTILE: dict[str, tuple[str, tuple[Any, ...]]] = {
    "one key twice": ("Nothing is replaced", (record(at=(1, 1)), record(at=(1, 2)))),
    "one number twice": ("Nothing is replaced", (record("a"), record("b"))),
    "a change that leaves no number": ("line 2: versions", (record(at=(1, (1 << 63) - 1)),)),
    "a version that leaves no number": ("line 2: versions", (record(at=(MAX_NUMBER, 1)),)),
    "a version of nothing": ("line 2: versions", (record(at=(0, 1)),)),
    "a change before the first": ("line 2: versions", (record(at=(1, -3)),)),
    "a fence that leaves no number": ("line 2: versions", (fence((1 << 63) - 1),)),
    "a fence that is no number": ("line 2: it is no row", (fence(1.5),)),
    "a tenant with a colon": ("line 2: its tenant, distribution or kind", (record(of=("a:b", SERVICE)),)),
    "a tenant that is a path": ("line 2: its tenant, distribution or kind", (record(of=("../a", SERVICE)),)),
    "a distribution": ("line 2: its tenant, distribution or kind", (record(of=("acme", "A B")),)),
    "a kind with a colon": ("line 2: its tenant, distribution or kind", (record(kind="tool:x"),)),
    "no key": ("line 2: it is no record", (record(key=[]),)),
    "a key that is text": ("line 2: it is no row", (record(key="abc"),)),
    "an empty key": ("line 2: it is no row", (record(""),)),
    "a long key": ("line 2: it is no record", (record("a" * 600),)),
    "an indexed list": ("line 2: it is no row", (record(indexed={"a": [1]}),)),
    "an indexed fraction": ("line 2: it is no row", (record(indexed={"a": 1.5}),)),
    "a long indexed text": ("line 2: an indexed field", (record(indexed={"a": "x" * 600}),)),
    "a large indexed number": ("line 2: an indexed field", (record(indexed={"a": 1 << 63}),)),
    "many indexed fields": ("line 2: it is no record", (record(indexed={f"a{n}": 1 for n in range(100)}),)),
    "a field that is none": ("line 2: it is no name of a field", (record(secret=["a b"]),)),
    "a list without a name": ("line 2: a list or lease", (item(""),)),
    "a long lease": ("line 2: a list or lease", (fence(1, "a" * 600),)),
    "a second line that breaks off": ("line 3: it is no row", (record(), {"of": ["acme", SERVICE]})),
}
IN_REDIS: dict[str, tuple[Any, ...]] = {
    "a list as the set of tools": (record(of=("", SERVICE)), item("tools:registry")),
    "a list as the set of scopes": (item("toolcharter:scopes"),),
    "a list as the lock": (item("toolcharter:lock"),),
    "a tool as another tenant's set": (record("tools:registry", of=("", SERVICE)), record(of=("tool", SERVICE))),
}


def refused(engine: StoreEngine, file: Path, said: str, before: list[Any]) -> str:
    """What is wrong with how a restore of *file* was refused; empty if nothing is."""
    try:
        restore(file, engine, from_elsewhere=True)
    except (ArchiveError, StoreUnavailable) as error:
        told = str(error)
    except Exception as error:  # noqa: BLE001 - what it is, is what is asked
        return repr(error)
    else:
        return "it was restored"
    with engine.export() as export:
        if [*export] != before:
            return f"the store has changed: {told}"
    return "" if said in told and "\n" not in told else told


def test_a_hostile_archive_changes_nothing(
    places: PostgresqlServer | RedisServer | SqliteFolder, tmp_path: Path
) -> None:
    """One sentence says what and in which line; the store can be read and written as before."""
    table = {
        name: (said, archive(tmp_path / f"{n}", *lines)) for n, (name, (said, lines)) in enumerate(HOSTILE.items())
    }
    for number, form in enumerate((0, -5, True, "1", 1.0)):
        table[f"form {form!r}"] = "line 1: it is no archive", archive(tmp_path / f"form{number}", record(), form=form)
    if isinstance(places, RedisServer):
        for number, (name, lines) in enumerate(IN_REDIS.items()):
            table[name] = "Nothing is replaced", archive(tmp_path / f"redis{number}", *lines)
    os.mkfifo(tmp_path / "fifo")
    table["a pipe"] = "is no regular file", tmp_path / "fifo"
    table["a device"] = "is no regular file", Path("/dev/zero")

    with open_store(places.new()) as handle:
        rows = Rows(handle.engine, Scope("acme", SERVICE))
        rows.put("note", new_row("there"))
        with handle.engine.export() as export:
            before = [*export]
        wrong = {name: refused(handle.engine, file, said, before) for name, (said, file) in table.items()}
        rows.put("note", new_row("later"))

    assert {name: what for name, what in wrong.items() if what} == {}


def test_large_records_are_not_held_together(sqlite: SqliteFolder, redis: RedisServer, tmp_path: Path) -> None:
    """An archive of 140 kB that unpacks to 140 MB needs a fraction of them, into a file and into a server."""
    large = [record(str(n), at=(1, n + 1), document=json.dumps({"x": "x" * 4_000_000})) for n in range(35)]
    file = archive(tmp_path / "a", *large)
    told = [
        subprocess.run(
            [sys.executable, "-m", "toolcharter", "store", "restore", str(file), "--store", url, "--from-elsewhere"],
            check=True,
            stdout=subprocess.PIPE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (140_000_000, 140_000_000)),
        ).stdout
        for url in (sqlite.new(), redis.new())
    ]

    assert told == [b"35 lines.\n"] * 2


def test_what_another_program_wrote_is_told(sqlite: SqliteFolder, tmp_path: Path) -> None:
    """No backup that could not be restored is made; `check` and `rotate-key` name the record."""
    url = sqlite.new()
    with open_store(url) as handle:
        Rows(handle.engine, Scope("acme", SERVICE)).put("note", new_row("there")._replace(secret=("hidden",)))
    database = sa.create_engine(url.replace("sqlite://", "sqlite:///"))
    good = {"document": "{}", "indexed": "{}", "secret": '["hidden"]', "kind": "note", "version": 1}
    hostile: dict[str, tuple[dict[str, object], set[str]]] = {
        "a secret that is a number": ({"document": '{"hidden": 5}'}, {"check", "rotate-key"}),
        "secrets that are lists": ({"document": '{"hidden": {"a": [1]}}'}, {"check", "rotate-key"}),
        "no JSON": ({"document": "<script>"}, {"check", "rotate-key"}),
        "fields that are no JSON": ({"indexed": "{"}, {"check", "rotate-key", "backup"}),
        "secret fields that are a number": ({"secret": "5"}, {"check", "rotate-key", "backup"}),
        "a kind": ({"kind": "a:b"}, {"backup"}),
        "a version": ({"version": (1 << 63) - 1}, {"backup"}),
        "more than a line holds": ({"document": "x" * 9_000_000}, {"backup", "check", "rotate-key"}),
    }
    wrong: dict[str, object] = {}
    for name, (change, fails) in hostile.items():
        with database.begin() as connection:
            columns = {**good, **change}
            setting = ", ".join(f"{column} = :{column}" for column in columns)
            connection.execute(sa.text(f"UPDATE toolcharter_records SET {setting}"), columns)
        for each in ("check", "rotate-key", "backup"):
            file = tmp_path / f"{len(wrong)}{name}{each}"
            result = CliRunner().invoke(
                command, [each, *([str(file)] * (each == "backup")), "--store", url], env=ENVIRONMENT
            )
            is_told = result.exit_code == 1 and isinstance(result.exception, SystemExit)
            if is_told != (each in fails) or (is_told and file.exists()):
                wrong[f"{name}, {each}"] = result.exit_code, result.output[:300], result.exception
    database.dispose()

    assert wrong == {}


def test_one_hostile_record_keeps_no_other_from_a_new_key(sqlite: SqliteFolder) -> None:
    """A cipher text that another program has moved from one tenant to another stays, and is named; no tenant reads it."""
    url, keys = sqlite.new(), ["11" * 32, "22" * 32]
    for tenant in ("a", "b", "c"):
        put = ["secret", "put", "x", "--tenant", tenant, "--store", url]
        assert CliRunner().invoke(command, put, input=f"value {tenant}", env=ENVIRONMENT).exit_code == 0
    database = sa.create_engine(url.replace("sqlite://", "sqlite:///"))
    with database.begin() as connection:
        moved = "UPDATE toolcharter_records SET document = (SELECT document FROM toolcharter_records WHERE id = 2) WHERE id = 1"
        connection.execute(sa.text(moved))
    database.dispose()

    both = {"TOOLCHARTER_STORE_KEY": f"{keys[1]},{keys[0]}"}
    rotated = CliRunner().invoke(command, ["rotate-key", "--store", url], env=both)

    assert rotated.exit_code == 1
    assert rotated.output.startswith("1 records are unchanged. toolcharter of a: x: The secret field 'value'")
    checked = CliRunner().invoke(command, ["check", "--store", url], env={"TOOLCHARTER_STORE_KEY": keys[1]})
    assert checked.output.count("cannot be decrypted") == 1
