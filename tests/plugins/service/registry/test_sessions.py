"""Records as tools: found in the store, held to the profile, run on its runner."""

from pathlib import Path
from typing import Any

import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.registry_sessions import NOW, OPERATOR, OpenSession, tool

from toolcharter import Store, StoreUnavailable
from toolcharter_service.registry.catalog import delete, register
from toolcharter_service.registry.rules import Actor


def put(store: Store, tool_id: str, **values: Any) -> None:
    register(store, tool(tool_id, **values), OPERATOR, NOW)


def cmd(program: str, *args: str) -> dict[str, Any]:
    return {"type": "cmd", "cmd": program, "args": list(args)}


def test_a_record_becomes_a_tool(store: Store, session: OpenSession) -> None:
    """With its schema, capabilities and level; a reload finds what has come, and a deletion takes it away."""
    put(
        store,
        "greet",
        description="Greets.",
        input_schema={"name": "string", "times": "int"},
        permissions=["fs:read"],
        safety_level="medium",
        exec=cmd("echo", "hello {name}", "{times}"),
    )
    live = session()

    found = live.current["greet"]
    assert (found.kind, found.description, found.safety) == ("custom", "Greets.", "medium")
    assert found.capabilities == frozenset({"fs:read", "proc:exec"})
    assert found.parameters["required"] == ["name", "times"]
    assert {name: one.get("type") for name, one in found.parameters["properties"].items()} == {
        "name": "string",
        "times": "integer",
        "stdin": "string",
    }
    assert live.call("greet", {"name": "Ann; id", "times": 2}).text == "hello Ann; id 2\n"

    put(store, "later", exec=cmd("cat"))
    assert live.reload().new == ("later",)
    assert live.call("later", {"stdin": '{"a": 1}'}).data == {"a": 1}
    delete_as_agent(store, "later")
    assert live.reload().gone == ()


def delete_as_agent(store: Store, name: str) -> None:
    """What the system has made stays."""
    with pytest.raises(Exception, match="was not made by an agent"):
        delete(store, name, OPERATOR, NOW)


def test_values(store: Store, session: OpenSession) -> None:
    """One pass: a value that looks like a place is a value; text is raw, anything else JSON; each stays one word."""
    put(store, "show", exec=cmd("printf", "[%s]", "{a}", "x{b}y{a}", "{{.a}}", "{ a }"), permissions=["fs:read"])

    result = session().call("show", {"a": "{b}", "b": {"k": [1, True, None, "é"]}})

    assert result.text == '[{b}][x{"k":[1,true,null,"é"]}y{b}][{{.a}}][{ a }]'


@pytest.mark.parametrize(
    ("args", "outcome", "reason"),
    [
        pytest.param({}, "error", "invalid_arguments", id="missing"),
        pytest.param({"a": None}, "error", "invalid_arguments", id="null"),
        pytest.param({"a": "-n"}, "denied", "leading_dash_not_allowed", id="a leading dash"),
        pytest.param({"a": -1}, "denied", "leading_dash_not_allowed", id="a negative number"),
        pytest.param({"a": "x\0y"}, "denied", "not_understood", id="NUL"),
        pytest.param({"a": "x", "b": "y"}, "error", "invalid_arguments", id="an unknown argument"),
        pytest.param({"a": "a-b --c"}, "ok", None, id="a dash further on"),
    ],
)
def test_arguments(store: Store, session: OpenSession, args: dict[str, Any], outcome: str, reason: str | None) -> None:
    """What no program gets."""
    put(store, "show", exec=cmd("echo", "{a}"))

    result = session().call("show", args)

    assert (result.outcome, result.reason) == (outcome, reason)


def test_floor_and_rules_see_what_runs(store: Store, session: OpenSession) -> None:
    """The catastrophic is denied in every mode; a `deny` rule on commands covers a record that runs them."""
    put(store, "wipe", exec=cmd("rm", "-rf", "{path}"))
    put(store, "look", exec=cmd("cat", "{path}"))
    live = session(mode="dangerous", deny=["bash:cat *secret*"])

    assert live.call("wipe", {"path": "/"}).reason == "denied_by_floor"
    assert live.call("look", {"path": "a/secret.txt"}).reason == "denied_by_rule"


def test_a_record_that_runs_its_argument_is_left_out(store: Store, session: OpenSession) -> None:
    """Such a record would be a shell by another name."""
    put(store, "run", exec=cmd("sh", "-c", "{line}"))
    put(store, "python", exec=cmd("python3", "-c", "{code}"))
    live = session()

    notes = " ".join(live.reload().notes)
    assert (list(live.current), notes.count("code_is_placeholder")) == (["read_file", "write_file"], 2)


def test_a_record_needs_an_allow_rule(store: Store, session: OpenSession) -> None:
    """As every unbounded tool; and without `extend` it does not exist."""
    put(store, "show", exec=cmd("echo", "{a}"))

    assert session(allow=[]).call("show", {"a": "x"}).reason == "not_in_allow"
    assert session(allow=["custom:show"], missing_ok=["show"]).call("show", {"a": "x"}).outcome == "ok"
    assert session(allow=["*"]).call("show", {"a": "x"}).reason == "not_in_allow"
    assert session(policy={"extend": False}).call("show", {"a": "x"}).reason == "unknown_tool"


def test_permissions_are_capabilities(store: Store, session: OpenSession) -> None:
    """The profile's restriction holds, and so does its highest level."""
    put(store, "net", permissions=["net:read"], exec=cmd("echo", "a"))
    put(store, "plain", permissions=["fs:read"], safety_level="low", exec=cmd("echo", "a"))
    live = session(capabilities={"allow": ["fs:*", "proc:exec"], "max_safety": "high"})

    assert live.call("net", {}).reason == "capability_not_allowed"
    assert live.call("plain", {}).outcome == "ok"
    assert session(capabilities={"max_safety": "medium"}).call("net", {}).reason == "safety_too_high"


def test_a_change_asks_again(store: Store, session: OpenSession) -> None:
    """The hash of the record is the tool's fingerprint; nobody is there to agree."""
    put(store, "show", exec=cmd("echo", "{a}"))
    live = session()
    assert live.call("show", {"a": "x"}).outcome == "ok"
    put(store, "show", exec=cmd("echo", "{a}"), permissions=["net:read"])

    assert live.reload().changed == ("show",)
    assert live.call("show", {"a": "x"}).reason == "approval_unavailable"


@pytest.mark.parametrize("name", ["read_file", "READ_FILE", "tool_file_read", "bash", "git", "Write"])
def test_no_record_takes_the_name_of_an_installed_tool(store: Store, session: OpenSession, name: str) -> None:
    """Whether the profile has that tool or not, and whatever its case; it is told."""
    put(store, name, exec=cmd("echo", "mine"))
    live = session()

    assert any(repr(name) in note for note in live.reload().notes)
    assert live.call(name, {}).text != "mine\n"


def test_two_records_that_differ_in_case(store: Store, session: OpenSession) -> None:
    """The first by order of their letters exists, the other one is told."""
    put(store, "Show", exec=cmd("echo", "big"))
    put(store, "show", exec=cmd("echo", "small"))
    live = session()

    assert live.call("show", {}).text == "big\n"
    assert "'show'" in live.reload().notes[0]


def test_images_need_docker(store: Store, session: OpenSession) -> None:
    """On any other runner nothing runs; no program of the host takes the image's place."""
    put(store, "boxed", permissions=["docker"], exec={"type": "image", "image": "alpine:3", "cmd": "echo"})

    result = session().call("boxed", {})

    assert (result.outcome, result.reason) == ("denied", "sandbox_unavailable")


def test_failures_and_time(store: Store, session: OpenSession) -> None:
    """A status other than 0 is an error with both streams; what takes too long is ended."""
    put(store, "fail", exec=cmd("ls", "{path}"))
    put(store, "slow", exec=cmd("sleep", "30"))

    failed = session().call("fail", {"path": "nowhere"})
    timed_out = session(policy={"timeout_s": 0.3}).call("slow", {})

    assert (failed.reason, failed.exit_code, failed.data["exit_code"]) == ("nonzero_exit", 2, 2)
    assert "nowhere" in failed.data["stderr"]
    assert timed_out.reason == "timed_out"


def test_nothing_of_the_parents_environment(
    store: Store, session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs of records see the base environment."""
    monkeypatch.setenv("OF_THE_PARENT", "1")
    put(store, "shown", exec=cmd("env"))

    assert "OF_THE_PARENT" not in session().call("shown", {}).text


def test_a_store_that_is_away(store: Store, session: OpenSession, engine: Any) -> None:
    """At the start the profile's own tools are there all the same; later what was found stays."""
    put(store, "show", exec=cmd("echo", "a"))
    engine.failure = StoreUnavailable("It is gone.")
    live = session()
    assert list(live.current) == ["read_file", "write_file"]
    engine.failure = None
    assert live.reload().new == ("show",)
    engine.failure = StoreUnavailable("It is gone.")

    assert live.reload().gone == ()
    assert live.call("show", {}).text == "a\n"
    assert "store_unavailable" in live.reload().notes[0]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        pytest.param({}, None, id="nothing more"),
        pytest.param({"permissions": ["net:write"]}, "capability_not_allowed", id="it touches more"),
        pytest.param({"safety_level": "high"}, "safety_too_high", id="it is more harmful"),
        pytest.param({"safety_level": "low", "permissions": []}, None, id="it claims to be harmless"),
        pytest.param({"input_schema": {"path": "string"}}, None, id="the argument"),
        pytest.param(
            {"input_schema": {"path": {"type": "string", "pattern": "^docs/"}}}, "not_as_registered", id="narrower"
        ),
        pytest.param({"input_schema": {"path": {"type": "string"}, "more": "int"}}, None, id="an argument it has not"),
    ],
)
def test_without_exec_it_only_tightens(
    store: Store, session: OpenSession, tmp_path: Path, values: dict[str, Any], reason: str | None
) -> None:
    """Whoever calls the installed tool, by whatever name: of each fact the stricter counts."""
    put(store, "tool_file_read", **{"safety_level": "low", **values})
    live = session(capabilities={"allow": ["fs:*"], "max_safety": "medium"})
    (tmp_path / "ws" / "a.txt").write_text("content")

    assert [live.call(name, {"path": "a.txt"}).reason for name in ("read_file", "tool_file_read")] == [reason, reason]


@pytest.mark.parametrize("text", ["{", '{"id":"tool_file_read","safety_level":"grave"}'], ids=["no JSON", "no record"])
def test_record_that_cannot_be_read_closes_its_tool(
    store: Store, engine: MemoryEngine, session: OpenSession, tmp_path: Path, text: str
) -> None:
    """What it has forbidden, nobody knows."""
    put(store, "tool_file_read", safety_level="high")
    (scope,) = {scope for scope, kind, _ in engine.content.rows if kind == "tool"}
    row, version, seq = engine.content.rows[scope, "tool", ("tool_file_read",)]
    engine.content.rows[scope, "tool", ("tool_file_read",)] = (row._replace(document=text), version, seq)
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("content")

    live = session(capabilities={"allow": ["fs:*"], "max_safety": "medium"})

    assert live.call("read_file", {"path": "a.txt"}).reason == "not_as_registered"
    assert live.call("write_file", {"path": "b.txt", "content": "b"}).outcome == "ok"


def test_what_it_widens_has_no_effect(store: Store, session: OpenSession) -> None:
    """A record that says less than the tool takes nothing from the profile's own restriction."""
    put(store, "tool_file_write", safety_level="low", permissions=[])

    denied = session(capabilities={"max_safety": "low"}).call("write_file", {"path": "a", "content": "b"})

    assert denied.reason == "safety_too_high"


def test_agents_own_what_they_register(store: Store, session: OpenSession) -> None:
    """A tool of another agent is there, too: records are for all agents of a tenant."""
    register(store, tool("show", Actor("t", "bot"), exec=cmd("echo", "a")), Actor("t", "bot"), NOW)

    assert session(agent="other").call("show", {}).text == "a\n"
