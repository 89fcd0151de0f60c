"""`toolbox.open` and `toolbox.close` around the events of calls, and what they say; identifiers without secrets."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import toolcharter
from toolcharter import build_tools
from toolcharter.api.call import Caller
from toolcharter.events.contract import BASE_FIELDS, CLOSE_FIELDS, OPEN_FIELDS
from toolcharter.gate.live import open_live

from .conftest import spec_of, spec_with_runtime

SECRET = "gh" + "p_" + "a1B2" * 9
OF_A_CALL = ("call_id", "parent_id", "tool", "action", "plugin", "args")


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    (tmp_path / "parent.yaml").write_text("profile: parent\ntools: {list_files: {}}\n")
    file = tmp_path / "child.yaml"
    file.write_text("profile: child\nextends: [parent]\nrunner: host\n")
    return file


def test_a_toolbox_says_what_it_is_made_of(profile, tmp_path: Path) -> None:
    """The first line names files, digest, versions, workspace, machine, runner and for whom; the last ends the frame."""
    events: list[dict[str, Any]] = []
    caller = Caller("planner", "aws", "dev", "s-1", "ann", "shop", 2)

    with build_tools(profile, workspace=tmp_path, caller=caller, events=events.append) as toolbox:
        toolbox.for_caller(Caller("other")).call("list_files", {})

    opened, closed = events[0], events[-1]
    assert [event["event"].partition(".")[0] for event in events] == ["toolbox", "hook", "hook", "hook", "toolbox"]
    assert [event["seq"] for event in events] == [1, 2, 3, 4, 5]
    assert [list(opened), list(closed)] == [[*BASE_FIELDS, *OPEN_FIELDS], [*BASE_FIELDS, *CLOSE_FIELDS]]
    constant = {key: opened[key] for key in BASE_FIELDS if key not in {"event", "ts", "seq"}}
    assert {key: closed[key] for key in constant} == constant
    assert constant == {
        "level": "info",
        **dict.fromkeys(OF_A_CALL),
        "session": "s-1",
        "agent": "planner",
        "user": "ann",
        "project": "shop",
        "group": "dev",
        "provider": "aws",
        "depth": 2,
        "profile": "child",
        "profile_digest": toolbox.digest,
        "runner": "host",
    }
    system = os.uname()
    assert {key: opened[key] for key in OPEN_FIELDS} == {
        "files": [str(tmp_path / "child.yaml"), str(tmp_path / "parent.yaml")],
        "workspace": str(tmp_path),
        "versions": {
            "toolcharter": toolcharter.__version__,
            "toolcharter-files": opened["versions"]["toolcharter-files"],
        },
        "host": {
            "name": system.nodename,
            "python": ".".join(map(str, sys.version_info[:3])),
            "platform": f"{system.sysname} {system.release} {system.machine}",
        },
        "hidden_from_programs": False,
    }
    assert closed["lost"] == 0
    assert closed["elapsed_ms"] > 0


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param("runner: host", False, id="the host"),
        pytest.param("runner: bwrap", True, id="a sandbox"),
        pytest.param("runner: bwrap\nhidden: []", None, id="nothing hidden"),
        pytest.param("", None, id="no runner"),
    ],
)
def test_the_opening_says_whether_programs_see_hidden_files(
    tmp_path: Path, lines: str, *, expected: bool | None
) -> None:
    """On the host they do."""
    (tmp_path / "p.yaml").write_text(f"profile: p\ntools: {{list_files: {{}}}}\n{lines}\n")
    events: list[dict[str, Any]] = []

    with build_tools(tmp_path / "p.yaml", workspace=tmp_path, events=events.append) as toolbox:
        toolbox.call("list_files", {})

    assert events[0]["hidden_from_programs"] is expected


def test_a_toolbox_without_calls_leaves_nothing(profile, tmp_path: Path) -> None:
    """What is only looked at, or decided, frames no call."""
    events: list[dict[str, Any]] = []

    with build_tools(profile, workspace=tmp_path, events=events.append) as toolbox:
        toolbox.decide("list_files", {"path": ".."})

    assert events == []


def test_what_no_sink_takes_opens_no_frame(profile, tmp_path: Path) -> None:
    """The opening line is written with the first lines that are taken: a log never begins in the middle."""
    taken: list[str] = []

    class Recovering:
        is_full = True

        def write(self, lines: bytes) -> None:
            if self.is_full:
                raise OSError("disk full")
            taken.extend(json.loads(line)["event"] for line in lines.splitlines())

        def close(self) -> None:
            """Nothing is held."""

    sink = Recovering()
    with build_tools(profile, workspace=tmp_path, events=sink) as toolbox:
        toolbox.call("list_files", {})
        sink.is_full = False
        toolbox.call("list_files", {})

    assert taken == ["toolbox.open", "hook.tool.before", "hook.policy.before", "hook.tool.after", "toolbox.close"]


def test_of_two_sinks_the_good_one_gets_one_opening_line(profile, tmp_path: Path) -> None:
    """A sink that fails does not make the other repeat itself."""
    events: list[dict[str, Any]] = []

    def failing(_: dict[str, Any]) -> None:
        raise OSError("gone")

    with build_tools(profile, workspace=tmp_path, events=[failing, events.append]) as toolbox:
        toolbox.call("list_files", {})
        toolbox.call("list_files", {})

    assert [event["event"] for event in events].count("toolbox.open") == 1
    assert (events[-1]["event"], events[-1]["lost"]) == ("toolbox.close", 7)


def test_a_session_is_framed_once(profile, tmp_path: Path) -> None:
    """A live toolbox that finds no other tools has one frame."""
    events: list[dict[str, Any]] = []

    with open_live(profile, workspace=tmp_path, events=events.append) as live:
        live.call("list_files", {})
        live.reload()
        live.call("list_files", {})

    names = [event["event"] for event in events]
    assert (names[0], names[-1], names.count("toolbox.open"), names.count("toolbox.close")) == (
        "toolbox.open",
        "toolbox.close",
        1,
        1,
    )


@pytest.mark.parametrize("name", ["nope", "greet", "refuse"])
def test_identifiers_and_names_of_a_host_show_no_secret(name, make_toolbox, events) -> None:
    """Whatever a host hands over to name a call or a caller is masked on every event and in the result."""

    def greet() -> str:
        return "hello"

    def refuse(rt):
        def tool() -> str:
            rt.start("refuse")
            rt.start("child").ok("done")
            raise RuntimeError("broken")

        return tool

    facts = ("agent", "provider", "group", "session", "user", "project")
    caller = Caller(**{fact: f"{fact}-{SECRET}" for fact in facts})  # type: ignore[arg-type] # no number among them
    toolbox = make_toolbox(spec_of(greet), spec_with_runtime(refuse), caller=caller)

    result = toolbox.call(name, {}, call_id=f"call-{SECRET}", parent_id=f"parent-{SECRET}")

    assert SECRET not in repr(result) + repr(events)
    assert result.call_id == events[0]["call_id"] == "call-[REDACTED]"
    assert (events[0]["parent_id"], events[0]["session"], events[0]["agent"]) == (
        "parent-[REDACTED]",
        "session-[REDACTED]",
        "agent-[REDACTED]",
    )
    assert len({event["call_id"] for event in events}) == (2 if name == "refuse" else 1)


@pytest.mark.parametrize(
    "given",
    [
        "call_abcDEF0123456789abcdef012345",
        "toolu_01A09q90qw90lq917835lq9abc",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "chatcmpl-tool-4f8911d39a0c0305e82c33013f2504e0",
        "1",
        "x" * 200,
    ],
)
def test_identifiers_of_the_usual_hosts_stay_as_they_are(given, make_toolbox, events) -> None:
    """What providers and protocols number their calls with is no secret."""

    def greet() -> str:
        return "hello"

    result = make_toolbox(spec_of(greet)).call("greet", {}, call_id=given, parent_id=given)

    assert {(event["call_id"], event["parent_id"]) for event in events} == {(given, given)}
    assert result.call_id == given
