"""The rules of the registry: who may register, replace and delete which record."""

import math
from typing import Any

import pytest
from tests.plugins.service.registry_sessions import NOW, OPERATOR, tool
from tests.rows import each_row

from toolcharter import Store
from toolcharter_service.registry.catalog import delete, find, read_catalog, register
from toolcharter_service.registry.records import ToolVersion
from toolcharter_service.registry.rules import (
    MAX_RECORD_BYTES,
    STATUS,
    Actor,
    RegistryReason,
    RegistryRefusal,
    parse_record,
)

ECHO = {"type": "cmd", "cmd": "echo", "args": ["{x}"]}
BOT, OTHER = Actor("token", "bot"), Actor("token", "other")


def refusal(work: Any, *args: Any) -> tuple[str, str]:
    with pytest.raises(RegistryRefusal) as found:
        work(*args)
    return str(found.value.reason), found.value.message


def test_what_a_record_leaves_out() -> None:
    """It is made by the system, now, and harmful as can be; a type has no case."""
    record = tool("t", exec={"type": "CMD", "cmd": "/bin/echo"}, created_by=None, safety_level="")

    assert record.model_dump(mode="json") == {
        "id": "t",
        "name": "",
        "description": "",
        "input_schema": {},
        "output_schema": {},
        "permissions": [],
        "safety_level": "high",
        "created_by": "system",
        "created_at": NOW,
        "exec": {"type": "cmd", "cmd": "/bin/echo", "args": [], "image": ""},
    }


@each_row(
    ("actor", "said", "made_by"),
    [
        pytest.param(OPERATOR, None, "system", id="omitted"),
        pytest.param(OPERATOR, "agent", "agent", id="an operator registers for an agent"),
        pytest.param(BOT, None, "agent", id="agent"),
        pytest.param(BOT, "system", "agent", id="an agent that claims to be the system"),
    ],
)
def test_who_has_made_it(actor: Actor, said: str | None, made_by: str) -> None:
    """An agent's records are an agent's, whatever it says."""
    assert tool("t", actor, created_by=said).created_by == made_by


@pytest.mark.parametrize("said", ["admin", "System", "agent ", 5, ["system"]])
@pytest.mark.parametrize("actor", [OPERATOR, BOT], ids=["operator", "agent"])
def test_other_words_are_refused(actor: Actor, said: Any) -> None:
    """For an agent, too: a wrong word is a mistake."""
    assert refusal(lambda: tool("t", actor, created_by=said))[0] == "created_by_unknown"


@each_row(
    ("values", "place"),
    [
        pytest.param({"id": ""}, "id", id="no id"),
        pytest.param({"id": "a/b"}, "id", id="a path"),
        pytest.param({"id": "a\u202eb"}, "id", id="a sign that turns the text"),
        pytest.param({"id": "x" * 65}, "id", id="a long id"),
        pytest.param({"id": "tool\n"}, "id", id="a newline at the end"),
        pytest.param({"exec": {"type": "code", "code": "1"}}, "exec.type", id="another type"),
        pytest.param({"exec": {"type": "cmd"}}, "exec", id="no program"),
        pytest.param({"exec": {"type": "cmd", "cmd": "../x"}}, "exec", id="a relative program"),
        pytest.param({"exec": {"type": "cmd", "cmd": "-x"}}, "exec", id="an option for a program"),
        pytest.param({"exec": {"type": "cmd", "cmd": "a", "image": "b"}}, "exec", id="program and image"),
        pytest.param({"exec": {"type": "image"}}, "exec", id="no image"),
        pytest.param({"exec": {"type": "image", "image": "-v/:/x"}}, "exec", id="an option for an image"),
        pytest.param({"exec": {"type": "cmd", "cmd": "a", "args": ["\0"]}}, "exec", id="NUL"),
        pytest.param({"exec": {"type": "cmd", "cmd": "a", "shell": True}}, "exec.shell", id="an unknown field below"),
        pytest.param({"owner": "me"}, "owner", id="an unknown field"),
        pytest.param({"permissions": ["FS:READ"]}, "permissions", id="no capability"),
        pytest.param({"permissions": "fs:read"}, "permissions", id="a text for a list"),
        pytest.param({"safety_level": "none"}, "safety_level", id="no level"),
        pytest.param({"input_schema": {"x": "strng"}}, "input_schema", id="no type"),
        pytest.param({"input_schema": {"x": {"$ref": "http://h/s"}}}, "input_schema", id="a schema from elsewhere"),
        pytest.param({"output_schema": {"x": "strng"}}, "output_schema", id="no type of an answer"),
        pytest.param({"name": 5}, "name", id="a number for a text"),
    ],
)
def test_strict(values: dict[str, Any], place: str) -> None:
    """Each fault is told with its place."""
    reason, message = refusal(lambda: parse_record({"id": "t", **values}, actor=OPERATOR, now=NOW))

    assert (reason, message.split(":")[0]) == ("invalid_record", place)


def test_a_huge_record_is_refused() -> None:
    """Also one whose every field is within its bounds; and what is no JSON."""
    schema = {f"p{number}": {"description": "x" * 4000} for number in range(99)}

    assert refusal(lambda: tool(input_schema=schema))[1] == f"The record is larger than {MAX_RECORD_BYTES} bytes."
    assert refusal(lambda: tool(input_schema={"x": {"minimum": math.nan}}))[0] == "invalid_record"
    assert refusal(lambda: tool(description="\ud800"))[0] == "invalid_record"


def test_every_reason_has_a_status() -> None:
    """Of HTTP."""
    assert STATUS.keys() == set(RegistryReason)


def test_the_owner_updates_and_former_versions_are_kept(store: Store) -> None:
    """What it runs stays; when it was made, too."""
    first = register(store, tool("t", BOT, exec=ECHO, description="one"), BOT, NOW)
    second = register(store, tool("t", BOT, exec=ECHO, description="two", created_at="2027"), BOT, "later")
    again = register(store, tool("t", BOT, exec=ECHO, description="two", created_at="2028"), BOT, "later still")

    kept = store.page(ToolVersion, where={"id": "t"}).records
    assert (first.is_new, second.is_new, second.version, again.version) == (True, False, 2, 2)
    assert (second.record.description, second.record.created_at) == ("two", NOW)
    assert [(one.record.number, one.record.record.description, one.record.replaced_at) for one in kept] == [
        ("0000000001", "one", "later")
    ]


@pytest.mark.parametrize(
    ("owner", "actor", "change"),
    [
        pytest.param(OPERATOR, BOT, {}, id="an agent takes a tool of the system"),
        pytest.param(OPERATOR, BOT, {"created_by": "system"}, id="an agent that claims to be the system"),
        pytest.param(BOT, OTHER, {}, id="an agent takes another agent's"),
        pytest.param(BOT, OPERATOR, {}, id="an operator makes an agent's the system's"),
        pytest.param(BOT, BOT, {"exec": {**ECHO, "cmd": "printf"}}, id="another program"),
        pytest.param(BOT, BOT, {"exec": {**ECHO, "args": ["{x}", "{x}"]}}, id="other words"),
        pytest.param(BOT, BOT, {"exec": None}, id="no program any more"),
        pytest.param(OPERATOR, OPERATOR, {"created_by": "agent"}, id="a tool of the system made deletable"),
    ],
)
def test_else_it_exists(store: Store, owner: Actor, actor: Actor, change: dict[str, Any]) -> None:
    """And stays as it was."""
    before = register(store, tool("t", owner, exec=ECHO), owner, NOW).record

    assert refusal(register, store, tool("t", actor, **{"exec": ECHO, **change}), actor, NOW)[0] == "exists"
    assert read_catalog(store).tools == (before,)


def test_deletion(store: Store) -> None:
    """Of agents' records only: by the agent, or by an operator."""
    for name, actor in (("ours", OPERATOR), ("bots", BOT), ("also", BOT)):
        register(store, tool(name, actor, exec=ECHO), actor, NOW)

    refused = [
        refusal(delete, store, name, actor, NOW)[0]
        for name, actor in (("ours", OPERATOR), ("ours", BOT), ("bots", OTHER), ("nope", OPERATOR), ("nope", BOT))
    ]
    delete(store, "bots", BOT, NOW)
    delete(store, "also", OPERATOR, NOW)

    assert refused == ["not_owner", "not_owner", "not_owner", "unknown_tool", "unknown_tool"]
    assert [one.id for one in read_catalog(store).tools] == ["ours"]
    assert store.count(ToolVersion) == 2


def test_a_name_that_was_deleted_is_free(store: Store) -> None:
    """Whoever registers it next owns it; its former versions do not get in the way."""
    for owner in (BOT, OTHER, BOT):
        register(store, tool("t", owner, exec=ECHO), owner, NOW)
        known = find(store, "t")
        assert known is not None
        assert known.owner == owner.owner
        delete(store, "t", owner, NOW)


def test_sorted_and_unreadable_ones_are_skipped_and_told(store: Store, engine: Any) -> None:
    """What somebody else has written into the store hides no other record."""
    for name in ("zz", "Bb", "aa"):
        register(store, tool(name), OPERATOR, NOW)
    scope, _, _ = next(iter(engine.content.rows))
    for name, text in (("mm", '{"id":"mm","exec":{"type":"cmd","cmd":"../x"}}'), ("nn", '{"id":"nn","more":1}')):
        row, version, seq = engine.content.rows[scope, "tool", ("aa",)]
        written = row._replace(key=(name,), document=text)
        engine.content.rows[scope, "tool", (name,)] = (written, version, seq)

    found = read_catalog(store)

    assert [one.id for one in found.tools] == ["Bb", "aa", "zz"]
    assert [note.split(":")[0] for note in found.notes] == ["The record 'mm' is skipped", "The record 'nn' is skipped"]
    assert refusal(register, store, tool("mm"), OPERATOR, NOW)[0] == "exists"


def test_a_record_of_another_writer(store: Store, engine: Any) -> None:
    """One with the least that HDN writes is read; it belongs to whom it says has made it."""
    register(store, tool("aa"), OPERATOR, NOW)
    scope = next(iter(engine.content.rows))[0]
    row, version, seq = engine.content.rows[scope, "tool", ("aa",)]
    text = '{"id":"x","name":"X","input_schema":null,"permissions":null,"safety_level":"","created_by":"agent"}'
    engine.content.rows[scope, "tool", ("x",)] = (row._replace(key=("x",), document=text), version, seq)

    delete(store, "x", OPERATOR, NOW)

    assert [one.id for one in read_catalog(store).tools] == ["aa"]
