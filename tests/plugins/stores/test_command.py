"""`toolcharter store` on real stores: archives whole or not at all, into any engine, and keys that are replaced."""

import gzip
import hashlib
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pydantic import Field
from tests.plugins.stores.store_servers import PostgresqlServer, RedisServer, SqliteFolder

from toolcharter import CORE_RECORDS, RecordKind, SecretRecord, Store, StoreHandle, StoreRecord, open_store
from toolcharter_stores import archive
from toolcharter_stores.command import command

pytestmark = pytest.mark.slow
KEYS = ["11" * 32, "22" * 32]


class Note(StoreRecord):
    store_kind = RecordKind("note", ("id",), indexed=("author",), full_text=("text",), secret=("hidden",))

    id: str
    author: str = ""
    text: str = ""
    hidden: dict[str, str] = Field(default_factory=dict)


class PlainNote(StoreRecord):
    """The same for stores without full text."""

    store_kind = RecordKind("note", ("id",), indexed=("author",), secret=("hidden",))

    id: str
    author: str = ""
    text: str = ""
    hidden: dict[str, str] = Field(default_factory=dict)


def run(*args: str, typed: str | None = None, keys: str = KEYS[0]) -> Result:
    return CliRunner().invoke(command, args, input=typed, env={"TOOLCHARTER_STORE_KEY": keys})


@pytest.fixture
def url(places: "PostgresqlServer | RedisServer | SqliteFolder", monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TOOLCHARTER_STORE_KEY", KEYS[0])
    return places.new()


def filled(handle: StoreHandle, count: int = 300) -> Store:
    """Records with secrets, a list and a lease, of two tenants."""
    model = Note if handle.has_full_text else PlainNote
    for tenant in ("acme", "globex"):
        store = handle.bound(tenant, "acme-tests")
        store.transact(
            lambda change, tenant=tenant: [  # type: ignore[misc]
                change.put(model(id=f"n{i}", author=tenant, text="plain words", hidden={"a": f"s{i}", "b": "t"}))
                for i in range(count)
            ]
        )
        for i in range(5):
            store.push("log", {"i": i}, cap=3)
    store = handle.bound("acme", "acme-tests")
    store.put(model(id="n0", author="changed", hidden={"a": "s0"}))
    lease = store.lease("work", holder="me", ttl_s=60)
    assert lease is not None
    return store


def content(url: str, *, is_searched: bool = True) -> Any:
    with open_store(url) as handle:
        store = handle.bound("acme", "acme-tests")
        model: type[Note | PlainNote] = Note if handle.has_full_text else PlainNote
        notes = [(one.record.model_dump(), one.version) for one in store.page(model, limit=1_000).records]
        if handle.has_full_text and is_searched:
            found = {one.record.id for one in store.search(Note, "plain words", limit=1_000)}
            assert found == {note["id"] for note, _ in notes if "plain words" in note["text"]}
        return notes, store.items("log"), handle.bound("globex", "acme-tests").count(model)


def test_an_archive_goes_into_any_engine(
    url: str, sqlite: SqliteFolder, postgresql: PostgresqlServer, tmp_path: Path
) -> None:
    """With versions, lists, full text and fencing numbers; what is secret is not readable in it."""
    file = tmp_path / "a.gz"
    with open_store(url) as handle:
        filled(handle)
    assert run("backup", str(file), "--store", url).output == "607 lines.\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert b'"s17"' not in gzip.decompress(file.read_bytes())

    for target in (sqlite.new(), postgresql.new()):
        restored = run("restore", str(file), "--store", target)
        assert (restored.exit_code, restored.output) == (0, "607 lines.\n")
        assert content(target, is_searched="redis" not in url) == content(url)
        with open_store(target) as handle:
            lease = handle.bound("acme", "acme-tests").lease("work", holder="you", ttl_s=60)
            assert lease is not None
            assert lease.fence > 1
        checked = json.loads(run("check", "--json", "--store", target).output)
        assert (checked["secrets"], checked["items"], checked["faults"]) == (1_199, 6, [])


def test_a_backup_is_of_one_moment(url: str, sqlite: SqliteFolder, tmp_path: Path) -> None:
    """While others write: of a pair that is always written together, both or neither are as they were."""
    with open_store(url) as handle:
        store = filled(handle, 100)
        model = Note if handle.has_full_text else PlainNote
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                pair = [model(id=f"pair{side}", author=str(number)) for side in "ab"]
                store.transact(lambda change, pair=pair: [change.put(one) for one in pair])  # type: ignore[misc]

        writing = threading.Thread(target=write)
        writing.start()
        try:
            for number in range(3):
                file = tmp_path / f"{number}.gz"
                assert run("backup", str(file), "--store", url).exit_code == 0
                target = sqlite.new()
                assert run("restore", str(file), "--store", target).exit_code == 0
                pair = {
                    note["author"] for note, _ in content(target, is_searched=False)[0] if note["id"].startswith("pair")
                }
                assert len(pair) <= 1
        finally:
            stop.set()
            writing.join()


def test_an_archive_of_an_older_version_is_restored(
    sqlite: SqliteFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By each step from its form to the present one, in order; the version that wrote it refuses what the later one writes."""
    monkeypatch.setenv("TOOLCHARTER_STORE_KEY", KEYS[0])
    first, target, files = sqlite.new(), sqlite.new(), [tmp_path / name for name in ("older.gz", "newer.gz")]
    with open_store(first) as handle:
        handle.bound("acme", "acme-tests").put(Note(id="a", author="0", hidden={"k": "kept"}))
    run("backup", str(files[0]), "--store", first)

    def step(number: str) -> Any:
        def upgraded(value: dict[str, Any]) -> dict[str, Any]:
            document = json.loads(value["row"]["document"])
            document["author"] += number
            row = value["row"] | {"document": json.dumps(document), "indexed": {"author": document["author"]}}
            return value | {"row": row}

        return upgraded

    with monkeypatch.context() as later:
        later.setattr(archive, "FORM", archive.FORM + 2)
        later.setattr(archive, "UPGRADES", {archive.FORM - 2: step("1"), archive.FORM - 1: step("2")})
        assert run("restore", str(files[0]), "--store", target).exit_code == 0
        run("backup", str(files[1]), "--store", target)
    refused = run("restore", str(files[1]), "--store", target)

    with open_store(target) as handle:
        [found] = handle.bound("acme", "acme-tests").page(Note, where={"author": "012"}).records
    assert found.record == Note(id="a", author="012", hidden={"k": "kept"})
    assert (refused.exit_code, "of a newer version" in refused.output) == (1, True)


def rewritten(file: Path, change: Any) -> None:
    """An archive whose lines were changed, and which says that it is whole."""
    *lines, _ = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    lines = change(lines)
    last = {"lines": len(lines), "sha256": hashlib.sha256(b"".join(lines)).hexdigest()}
    file.write_bytes(gzip.compress(b"".join(lines) + json.dumps(last).encode() + b"\n"))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        pytest.param(lambda file: file.write_bytes(file.read_bytes()[:-200]), "cut off or damaged", id="cut"),
        pytest.param(lambda file: file.write_bytes(b"no archive"), "cut off or damaged", id="no archive"),
        pytest.param(
            lambda file: file.write_bytes(
                gzip.compress(gzip.decompress(file.read_bytes()).replace(b"plain", b"PLAIN", 1))
            ),
            "was changed",
            id="one word",
        ),
        pytest.param(
            lambda file: file.write_bytes(
                gzip.compress(b"".join(gzip.decompress(file.read_bytes()).splitlines(keepends=True)[:-1]))
            ),
            "cut off",
            id="no last line",
        ),
        pytest.param(
            lambda file: rewritten(file, lambda lines: [b'{"toolcharter_store": 99}\n', *lines[1:]]),
            "newer",
            id="newer",
        ),
        pytest.param(lambda file: rewritten(file, lambda lines: [b"{}\n", *lines]), "no archive", id="other file"),
        pytest.param(
            lambda file: rewritten(file, lambda lines: [*lines, b'{"row": 1, "of": ["", "d"]}\n']),
            "no row",
            id="no row",
        ),
    ],
)
def test_what_is_not_whole_changes_nothing(url: str, tmp_path: Path, damage: Any, said: str) -> None:
    """The store is as it was, and the message says where."""
    file = tmp_path / "a.gz"
    with open_store(url) as handle:
        filled(handle, 20)
    run("backup", str(file), "--store", url)
    before = content(url)
    damage(file)

    failed = run("restore", str(file), "--store", url)
    assert failed.exit_code == 1
    assert said in failed.output
    assert content(url) == before


def test_an_archive_from_elsewhere_needs_a_word(sqlite: SqliteFolder, tmp_path: Path) -> None:
    """One that was changed, that has the signature of another, that another key has signed, or none; a key that was replaced signs on."""
    url, target = sqlite.new(), sqlite.new()
    files = {name: tmp_path / name for name in ("ours", "older", "changed", "moved", "theirs", "bare")}
    run("backup", str(files["older"]), "--store", url)
    with open_store(url) as handle:
        handle.bound("acme", "acme-tests").put(PlainNote(id="n", author="ann", hidden={}))
    for name, keys in (("ours", KEYS[0]), ("changed", KEYS[0]), ("moved", KEYS[0]), ("theirs", KEYS[1]), ("bare", "")):
        assert run("backup", str(files[name]), "--store", url, keys=keys).output.endswith("1 lines.\n")
    rewritten(files["changed"], lambda lines: [each.replace(b"ann", b"eve") for each in lines])
    signature = json.loads(gzip.decompress(files["older"].read_bytes()).splitlines()[-1])["signed"]
    *lines, last = gzip.decompress(files["moved"].read_bytes()).splitlines(keepends=True)
    moved = json.dumps({**json.loads(last), "signed": signature}).encode() + b"\n"
    files["moved"].write_bytes(gzip.compress(b"".join(lines) + moved))

    both = f"{KEYS[1]},{KEYS[0]}"
    assert run("restore", str(files["ours"]), "--store", target, keys=both).exit_code == 0
    told = {}
    for name in ("changed", "moved", "theirs", "bare"):
        refused = run("restore", str(files[name]), "--store", target)
        told[name] = refused.exit_code, refused.output.removeprefix(f"{files[name]}: ").partition(".")[0]
        assert content(target)[0][0][0]["author"] == "ann"
    assert told == {
        "changed": (1, "it is not signed"),
        "moved": (1, "its signature belongs to another archive"),
        "theirs": (1, "no key of this store has signed it"),
        "bare": (1, "it is not signed"),
    }
    assert run("restore", str(files["ours"]), "--store", target, keys="").output.count("There is no key") == 1
    assert run("restore", str(files["changed"]), "--store", target, "--from-elsewhere").exit_code == 0


def test_a_file_that_is_there_is_not_overwritten(url: str, tmp_path: Path) -> None:
    """Nor a link followed; --force replaces it."""
    file, other = tmp_path / "a.gz", tmp_path / "other"
    other.write_text("precious")
    file.symlink_to(other)

    refused = run("backup", str(file), "--store", url)
    assert (refused.exit_code, "--force" in refused.output) == (1, True)
    assert run("backup", str(file), "--force", "--store", url).exit_code == 0
    assert (other.read_text(), file.is_symlink()) == ("precious", False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gz", "other"]


def test_a_store_is_copied_into_an_empty_one(url: str, sqlite: SqliteFolder) -> None:
    """Of whichever kind; what is there is replaced only if that is said."""
    target = sqlite.new()
    with open_store(url) as handle:
        filled(handle, 50)

    assert run("copy", target, "--store", url).exit_code == 0
    assert content(target, is_searched="redis" not in url) == content(url)
    refused = run("copy", target, "--store", url)
    assert (refused.exit_code, "is not empty" in refused.output) == (1, True)
    assert run("copy", target, "--force", "--store", url).exit_code == 0


def test_keys_are_replaced(url: str) -> None:
    """After the rotation the old key is of no use any more; a key that is missing is told, and nothing is lost."""
    with open_store(url) as handle:
        filled(handle, 40)
    before = content(url)
    rotated = run("rotate-key", "--store", url, keys=f"{KEYS[1]},{KEYS[0]}")
    assert (rotated.exit_code, rotated.output) == (0, "80 records.\n")

    assert run("check", "--store", url, keys=KEYS[1]).exit_code == 0
    old = run("check", "--store", url, keys=KEYS[0])
    assert old.exit_code == 1
    assert "no key fits" in old.output
    os.environ["TOOLCHARTER_STORE_KEY"] = KEYS[1]
    after = content(url)
    assert [note for note, _ in after[0]] == [note for note, _ in before[0]]
    failed = run("rotate-key", "--store", url, keys=KEYS[0])
    assert failed.exit_code == 1
    assert content(url) == after


def test_secrets_are_kept_and_never_shown(url: str) -> None:
    """Put from standard input; listed by name."""
    value = f"value-{os.getpid()}"
    assert (
        run("secret", "put", "github", "--tenant", "acme", "--store", url, typed=f"{value}\n").output
        == "secret:github\n"
    )
    assert run("secret", "list", "--tenant", "acme", "--store", url).output == "github\n"
    assert run("secret", "list", "--store", url).output == ""
    with open_store(url) as handle:
        kept = handle.bound("acme", CORE_RECORDS).get(SecretRecord, "github")
        assert kept is not None
        assert kept.record.value == value
    assert run("secret", "delete", "github", "--tenant", "acme", "--store", url).exit_code == 0
    assert run("secret", "delete", "github", "--tenant", "acme", "--store", url).exit_code == 1
    assert run("secret", "put", "x", "--store", url, typed="\n").exit_code == 2


def test_faults_are_told(url: str) -> None:
    """A URL that no plugin opens, a store that was never migrated, a secret that was changed."""
    assert run("check", "--store", "nothing:").exit_code == 2
    with open_store(url) as handle:
        filled(handle, 3)
    assert run("migrate", "--store", url).output == "The store has the current format.\n"


def test_a_store_in_another_form_is_not_read(places: "PostgresqlServer | RedisServer | SqliteFolder") -> None:
    """What was never migrated says what to do; `migrate` does it."""
    new = places.new(migrated=False)

    assert run("check", "--store", new).exit_code == 1
    assert run("migrate", "--store", new).exit_code == 0
    assert run("check", "--store", new).exit_code == 0
