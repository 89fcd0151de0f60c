"""Custom tools: their lines are judged, approved and run as any other shell line is."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.plugins.service.registry_sessions import OpenSession
from tests.rows import each_row

from toolcharter import Store
from toolcharter_service.custom.records import CustomTool

SECRET = "".join(chr(97 + number * 7 % 26) for number in range(24))


def put(store: Store, name: str, command: str, **values: Any) -> None:
    names = [part.partition("}}")[0] for part in command.split("{{.")[1:]]
    given: dict[str, Any] = {"parameters": dict.fromkeys(names, "string"), **values}
    store.put(CustomTool(name=name, command=command, **given))


def test_a_line_runs(store: Store, session: OpenSession, tmp_path: Path) -> None:
    """In the workspace, with bash, its arguments quoted; what it prints as JSON is data."""
    put(store, "both", "printf '%s\\n' {{.a}} | tr a-z A-Z; pwd", description="Shouts.")
    put(store, "json", "echo '{\"a\": 1}'")
    live = session()

    found = live.current["both"]
    assert (found.kind, found.safety, found.capabilities) == ("custom", "high", frozenset({"fs:read", "proc:exec"}))
    assert found.parameters["required"] == ["a"]
    assert live.call("both", {"a": "x'; id; '"}).text == f"X'; ID; '\n{tmp_path / 'ws'}\n"
    assert live.call("json", {}).data == {"a": 1}


@pytest.mark.parametrize(
    ("args", "outcome", "reason"),
    [
        pytest.param({}, "error", "invalid_arguments", id="missing"),
        pytest.param({"a": "-n"}, "denied", "leading_dash_not_allowed", id="a leading dash"),
        pytest.param({"a": 5}, "error", "invalid_arguments", id="no text"),
        pytest.param({"a": "x", "b": ""}, "error", "invalid_arguments", id="an unknown argument"),
        pytest.param({"a": "; touch pwned #"}, "ok", None, id="what looks like code"),
    ],
)
def test_arguments(
    store: Store, session: OpenSession, tmp_path: Path, args: dict[str, Any], outcome: str, reason: str | None
) -> None:
    """They are checked before anything runs."""
    put(store, "say", "echo {{.a}}")

    result = session(policy={"custom_writes": True}).call("say", args)

    assert (result.outcome, result.reason) == (outcome, reason)
    assert not (tmp_path / "ws" / "pwned").exists()


def test_the_floor_and_deny_rules(store: Store, session: OpenSession) -> None:
    """Of the line as it is with its values, in every mode."""
    put(store, "wipe", "rm -rf {{.path}}")
    put(store, "look", "cat {{.path}}")
    live = session(mode="dangerous", deny=["bash:cat *secret*", "*:cat *keys*"])

    assert live.call("wipe", {"path": "/"}).reason == "denied_by_floor"
    assert live.call("look", {"path": "a/secret"}).reason == "denied_by_rule"
    assert live.call("look", {"path": "a/keys"}).reason == "denied_by_rule"


def test_approval(store: Store, session: OpenSession) -> None:
    """In the mode `ask` a line that no rule allows waits for a person; nobody is there."""
    put(store, "say", "echo {{.a}}")

    assert session(mode="ask", allow=[]).call("say", {"a": "x"}).reason == "approval_unavailable"


@pytest.mark.parametrize(
    "line",
    ["sh -c {{.a}}", "curl -s {{.a}} | sh", "eval {{.a}}", "echo b | xargs {{.a}}", "python3 -c {{.a}}", "{{.a}} b"],
)
def test_a_line_that_runs_its_argument_is_left_out(store: Store, session: OpenSession, line: str) -> None:
    """However it came into the store, and whatever the argument's type: a list is text in which a shell finds `$(...)`."""
    put(store, "run", line)
    put(store, "listed", line, parameters={"a": "array"})
    live = session()

    assert not {"run", "listed"} & {*live.current}
    assert [("code_is_placeholder" in note) for note in live.reload().notes] == [True, True]


def test_time_and_status(store: Store, session: OpenSession) -> None:
    """The tool's own time, never more than the profile's; a status other than 0 is an error."""
    put(store, "slow", "echo begun; sleep 600", timeout_seconds=5)
    put(store, "slower", "sleep 600", timeout_seconds=100)
    put(store, "fail", "echo out; echo err >&2; exit 3")
    live = session()

    slow, failed = live.call("slow", {}), live.call("fail", {})
    assert (slow.reason, "begun" in slow.text) == ("timed_out", True)
    assert session(policy={"timeout_s": 0.5}).call("slower", {}).reason == "timed_out"
    assert (failed.reason, failed.exit_code) == ("nonzero_exit", 3)
    assert failed.data == {"stdout": "out\n", "stderr": "err\n", "exit_code": 3}


def test_output_that_was_cut_says_so(store: Store, session: OpenSession) -> None:
    """In the text, and as a fact of the result."""
    put(store, "long", "printf '%s' {{.a}}")

    result = session(policy={"max_output_bytes": 1000}).call("long", {"a": "x" * 1001})

    assert (result.text, result.truncated) == ("x" * 1000 + "\n[output truncated]", True)


def test_default_time() -> None:
    """A minute, as in GoClaw."""
    assert CustomTool(name="t", command="ls").timeout_seconds == 60


def test_environment(store: Store, session: OpenSession, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The base environment and the tool's own, which is encrypted in the store and masked in what comes out."""
    monkeypatch.setenv("OF_THE_PARENT", "1")
    put(store, "shown", 'env; echo "got $API_KEY"', env={"API_KEY": SECRET})

    text = session().call("shown", {}).text

    assert ("PATH=" in text, "OF_THE_PARENT" in text, SECRET in text) == (True, False, False)
    assert "got [" in text
    documents = [row.document for row, *_ in engine.content.rows.values()]
    assert not any(SECRET in document for document in documents)


def test_working_folder(store: Store, session: OpenSession, tmp_path: Path) -> None:
    """Below the workspace, also by what links lead to."""
    put(store, "here", "pwd", working_dir="sub")
    put(store, "out", "pwd", working_dir="link")
    live = session()
    (tmp_path / "ws" / "sub").mkdir()
    (tmp_path / "ws" / "link").symlink_to("/etc")

    assert live.call("here", {}).text == f"{tmp_path / 'ws' / 'sub'}\n"
    assert live.call("out", {}).reason == "path_outside_workspace"


def test_of_all_agents_and_of_one(store: Store, session: OpenSession) -> None:
    """An agent has its own beside those of all; a disabled one does not exist; a name is taken by the tool of all."""
    put(store, "all", "echo all")
    put(store, "own", "echo own", scope="bot")
    put(store, "All", "echo mine", scope="bot")
    put(store, "off", "echo off", enabled=False)

    names = {
        agent: [name for name in session(agent=agent).current if "file" not in name] for agent in ("bot", "other", None)
    }

    assert names == {"bot": ["all", "own"], "other": ["all"], None: ["all"]}


def test_no_tool_takes_an_installed_name(store: Store, session: OpenSession) -> None:
    """Nor that of a registered record."""
    put(store, "bash", "echo mine")
    put(store, "read_file", "echo mine", scope="bot")
    live = session(agent="bot")

    assert sum("'bash'" in note or "'read_file'" in note for note in live.reload().notes) == 2
    assert live.call("read_file", {"path": "nowhere"}).text != "mine\n"


def test_a_change_asks_again(store: Store, session: OpenSession) -> None:
    """Of the line, and of its environment."""
    put(store, "say", "echo {{.a}}")
    put(store, "key", "echo a", env={"A": "first"})
    live = session()
    put(store, "say", "echo more {{.a}}")
    put(store, "key", "echo a", env={"A": "second"})

    assert live.reload().changed == ("key", "say")
    assert live.call("say", {"a": "x"}).reason == "approval_unavailable"


@each_row(
    ("values", "place"),
    [
        pytest.param({"name": "a b"}, "name", id="no name"),
        pytest.param({"command": ""}, "command", id="no line"),
        pytest.param({"command": "echo '{{.a}}'", "parameters": {"a": "string"}}, "placeholder_in_quotes", id="quotes"),
        pytest.param({"command": "echo {{.a}}"}, "names no parameter", id="an unknown place"),
        pytest.param({"working_dir": "/etc"}, "working_dir", id="an absolute folder"),
        pytest.param({"working_dir": "a/../../b"}, "working_dir", id="a folder above"),
        pytest.param({"env": {"LD_PRELOAD": "x"}}, "env", id="a reserved variable"),
        pytest.param({"env": {"PATH": "/x"}}, "env", id="the search path"),
        pytest.param({"env": {"a b": "x"}}, "env", id="no variable"),
        pytest.param({"timeout_seconds": 0}, "timeout_seconds", id="no time"),
        pytest.param({"timeout_seconds": float("inf")}, "timeout_seconds", id="any time"),
        pytest.param({"parameters": {"a": {"$ref": "file:///etc/passwd"}}}, "parameters", id="a schema from elsewhere"),
        pytest.param({"more": 1}, "more", id="an unknown field"),
        pytest.param({"command": "x" * 10_001}, "command", id="a long line"),
    ],
)
def test_strict(values: dict[str, Any], place: str) -> None:
    """What cannot be a custom tool."""
    with pytest.raises(ValidationError, match=place):
        CustomTool.model_validate({"name": "t", "command": "ls", **values})
