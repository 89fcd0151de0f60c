"""The events of a call as whole lists: fields, order, levels and default texts, sync and async."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from toolcharter.api.call import Call, Caller, Invocation
from toolcharter.errors import ToolError
from toolcharter.profile.model import Events, Limits

from .conftest import spec_of, spec_with_runtime

# Written out once more: an order that only the code knew could change unseen.
BASE = [
    "event",
    "level",
    "ts",
    "seq",
    "call_id",
    "parent_id",
    "session",
    "agent",
    "user",
    "project",
    "group",
    "provider",
    "depth",
    "profile",
    "profile_digest",
    "runner",
    "tool",
    "action",
    "plugin",
    "args",
]
DENY_FIELDS = ["reason", "message", "rule", "stage"]
AFTER_FIELDS = [
    "status",
    "outcome",
    "reason",
    "message",
    "rule",
    "stage",
    "elapsed_ms",
    "output_chars",
    "truncated",
    "redactions",
    "fields",
]
AFTER = [*BASE, *AFTER_FIELDS]


def greet(name: str, action: str = "wave") -> str:
    return f"Hello, {name}!"


def refuse(rt):
    def tool(name: str):
        return rt.start("refuse").deny("name_not_allowed", "Not this one.", listed=3)

    return tool


async def call(toolbox: Any, way: str, name: str, args: dict[str, Any]) -> Any:
    return await toolbox.acall(name, args) if way == "async" else await asyncio.to_thread(toolbox.call, name, args)


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_an_ok_call(way, make_toolbox, events) -> None:
    """Before, policy.before and after, each with its fields in their order."""
    toolbox = make_toolbox(
        spec_of(greet), caller=Caller("reviewer-1", "aws", "dev", "s-7", "ann", "shop", 1), runner="host"
    )

    result = await call(toolbox, way, "greet", {"name": "Ann", "action": " WAVE "})

    assert [list(event) for event in events] == [BASE, BASE, AFTER]
    assert [(event["event"], event["level"]) for event in events] == [
        ("hook.tool.before", "info"),
        ("hook.policy.before", "info"),
        ("hook.tool.after", "info"),
    ]
    constant = {key: events[0][key] for key in BASE if key not in {"event", "ts", "seq"}}
    assert constant == {
        "level": "info",
        "call_id": result.call_id,
        "parent_id": None,
        "session": "s-7",
        "agent": "reviewer-1",
        "user": "ann",
        "project": "shop",
        "group": "dev",
        "provider": "aws",
        "depth": 1,
        "profile": "test",
        "profile_digest": toolbox.digest,
        "runner": "host",
        "tool": "greet",
        "action": "wave",
        "plugin": "toolcharter-test",
        "args": {"name": "Ann", "action": "wave"},
    }
    assert all({key: event[key] for key in constant} == constant for event in events)
    assert {key: events[2][key] for key in AFTER_FIELDS} == {
        "status": "ok",
        "outcome": "ok",
        "reason": None,
        "message": None,
        "rule": None,
        "stage": None,
        "elapsed_ms": result.elapsed_ms,
        "output_chars": 11,
        "truncated": False,
        "redactions": 0,
        "fields": {},
    }


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_denied_call(way, make_toolbox, events) -> None:
    """A denial adds policy.deny, and both it and its after are warnings."""
    toolbox = make_toolbox(spec_with_runtime(refuse))

    result = await call(toolbox, way, "refuse", {"name": "Bob"})

    assert [(event["event"], event["level"]) for event in events] == [
        ("hook.tool.before", "info"),
        ("hook.policy.before", "info"),
        ("hook.policy.deny", "warning"),
        ("hook.tool.after", "warning"),
    ]
    assert [list(event) for event in events] == [BASE, BASE, [*BASE, *DENY_FIELDS], AFTER]
    verdict = {"reason": "name_not_allowed", "message": "Not this one.", "rule": None, "stage": "tool"}
    assert {key: events[2][key] for key in DENY_FIELDS} == verdict
    assert {key: events[3][key] for key in AFTER_FIELDS} == {
        "status": "error",
        "outcome": "denied",
        **verdict,
        "elapsed_ms": result.elapsed_ms,
        "output_chars": len("ERROR: denied_by_policy reason=name_not_allowed\nNot this one."),
        "truncated": False,
        "redactions": 0,
        "fields": {"listed": 3},
    }
    assert str(result) == "ERROR: denied_by_policy reason=name_not_allowed\nNot this one."


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("how", ["records", "raises"])
async def test_an_error_in_the_body(how, way, make_toolbox, events) -> None:
    """An error leaves the events of an ok call, and its after is an error by the tool."""

    def fail(rt):
        def tool(name: str):
            ctx = rt.start("fail", name=name)
            if how == "raises":
                raise ToolError("no such shop", reason="shop_not_found")
            return ctx.error("no such shop", reason="shop_not_found", exit_code=2)

        return tool

    toolbox = make_toolbox(spec_with_runtime(fail))

    result = await call(toolbox, way, "fail", {"name": "Bob"})

    assert [(event["event"], event["level"]) for event in events] == [
        ("hook.tool.before", "info"),
        ("hook.policy.before", "info"),
        ("hook.tool.after", "error"),
    ]
    assert [list(event) for event in events] == [BASE, BASE, AFTER]
    assert {key: events[2][key] for key in AFTER_FIELDS} == {
        "status": "error",
        "outcome": "error",
        "reason": "shop_not_found",
        "message": "no such shop",
        "rule": None,
        "stage": "tool",
        "elapsed_ms": result.elapsed_ms,
        "output_chars": len(result.text),
        "truncated": False,
        "redactions": 0,
        "fields": {},
    }
    assert result.text == "ERROR: no such shop"


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_fault_and_a_thread_left_behind(way, make_toolbox, events) -> None:
    """The two rare fields stand last, and only where they are set."""
    go_on = threading.Event()

    def hang(rt):
        def tool():
            go_on.wait()

        return tool

    def twice(rt):
        def tool():
            ctx = rt.start("twice")
            ctx.ok("once")
            return ctx.ok("twice")

        return tool

    toolbox = make_toolbox(
        spec_with_runtime(hang, isolate=True), spec_with_runtime(twice), tool_limits={"hang": Limits(timeout_s=0.01)}
    )

    await call(toolbox, way, "hang", {})
    await call(toolbox, way, "twice", {})
    go_on.set()

    assert [list(event) for event in events] == [
        BASE,
        BASE,
        [*AFTER, "abandoned"],
        BASE,
        BASE,
        [*AFTER, "fault"],
    ]
    assert (events[2]["level"], events[2]["stage"], events[2]["abandoned"]) == ("error", "limit", True)
    assert (events[5]["level"], events[5]["stage"], events[5]["fault"]) == ("info", None, ["ended_twice"])


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_invalid_arguments(way, make_toolbox, events) -> None:
    """A malformed call never reaches policy: before and after alone, and the after is an error."""
    toolbox = make_toolbox(spec_of(greet))

    result = await call(toolbox, way, "greet", {"nam": "Ann"})

    assert [(event["event"], event["level"]) for event in events] == [
        ("hook.tool.before", "info"),
        ("hook.tool.after", "error"),
    ]
    assert [list(event) for event in events] == [BASE, AFTER]
    assert events[0]["args"] == {"nam": "Ann"}
    assert result.text == ("ERROR: invalid_arguments\nname: required\nnam: no such argument. Did you mean 'name'?")
    assert (events[1]["outcome"], events[1]["reason"], events[1]["stage"]) == (
        "error",
        "invalid_arguments",
        "arguments",
    )


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_an_unknown_tool(way, make_toolbox, events) -> None:
    """A name the profile does not have is denied with all events, and the nearest name is a hint."""
    toolbox = make_toolbox(spec_of(greet))

    result = await call(toolbox, way, "great", {"name": "Ann"})

    assert [event["event"] for event in events] == [
        "hook.tool.before",
        "hook.policy.before",
        "hook.policy.deny",
        "hook.tool.after",
    ]
    assert (result.outcome, result.reason, result.hint) == ("denied", "unknown_tool", "Did you mean 'greet'?")
    assert (
        result.text
        == "ERROR: denied_by_policy reason=unknown_tool\nThere is no tool named 'great'.\nHint: Did you mean 'greet'?"
    )
    assert (events[0]["tool"], events[0]["plugin"], events[0]["args"]) == ("great", None, {"name": "Ann"})
    assert events[2]["stage"] == "name"


def test_an_unbounded_tool_needs_an_allow_rule(make_toolbox, events) -> None:
    """Until a profile can say `allow`, a tool whose arguments are programs is denied."""
    toolbox = make_toolbox(spec_of(greet, kind="custom"))

    result = toolbox.call("greet", {"name": "Ann"})

    assert (result.outcome, result.reason, events[-1]["stage"]) == ("denied", "not_in_allow", "mode")


def test_the_numbers_of_events_grow_without_gaps(make_toolbox, events) -> None:
    """`seq` counts the toolbox's events in the order in which they are made."""
    toolbox = make_toolbox(spec_of(greet), spec_with_runtime(refuse))

    for name, args in [("greet", {"name": "A"}), ("refuse", {"name": "B"}), ("nope", {}), ("greet", {})]:
        toolbox.call(name, args)

    assert [event["seq"] for event in events] == list(range(1, 14))


@pytest.mark.parametrize(
    ("detail", "shown"),
    [
        ("full", {"name": "Ann" * 200, "action": "wave"}),
        ("shape", {"name": "str[600]", "action": "str[4]"}),
        ("none", None),
    ],
)
def test_the_detail_of_arguments_in_events(detail, shown, make_toolbox, events) -> None:
    """A profile says how much of the arguments is shown; long strings are cut in any case."""
    toolbox = make_toolbox(spec_of(greet), event_settings=Events(args=detail))

    toolbox.call("greet", {"name": "Ann" * 200, "action": "wave"})

    if detail == "full":
        shown["name"] = shown["name"][:400] + "...<truncated>"
    assert [event["args"] for event in events] == [shown] * 3


def test_secrets_in_arguments_output_data_and_fields_are_gone(make_toolbox, events) -> None:
    """One scrubber stands in front of the result and of every event."""
    secret = "gh" + "p_" + "a1B2" * 9

    def leak(rt):
        def tool(token: str) -> str:
            return rt.start("leak").ok(f"got {token}", data={"said": token}, user_text=f"see {token}", note=token)

        return tool

    toolbox = make_toolbox(spec_with_runtime(leak))

    result = toolbox.call("leak", {"token": secret})

    assert secret not in repr(result) + repr(events)
    assert (result.text, result.data) == ("got [REDACTED]", {"said": "[REDACTED]"})
    assert result.redactions == events[-1]["redactions"] == 3


def test_fields_given_before_the_checks_are_on_the_after(make_toolbox, events) -> None:
    """`ctx.policy_before` emits nothing; its fields go to the after's, beside those of the outcome."""

    def checking(rt):
        def tool() -> str:
            ctx = rt.start("checking")
            ctx.policy_before(looked_at=3)
            return ctx.ok("done", listed=2)

        return tool

    toolbox = make_toolbox(spec_with_runtime(checking))

    toolbox.call("checking", {})

    assert [list(event) for event in events] == [BASE, BASE, AFTER]
    assert events[-1]["fields"] == {"looked_at": 3, "listed": 2}


def test_child_calls_are_named_and_closed_before_their_parent(make_toolbox, events) -> None:
    """Another name, or a second start, is a child call; one that never ends is closed as a fault."""

    def parent(rt):
        def tool():
            ctx = rt.start("parent")
            rt.start("child", step=1).ok("done")
            rt.start("parent", step=2)
            return ctx.ok("all done")

        return tool

    toolbox = make_toolbox(spec_with_runtime(parent))

    result = toolbox.call("parent", {})

    seen = [
        (event["event"].removeprefix("hook."), event["tool"], event["args"], event["parent_id"]) for event in events
    ]
    top = result.call_id
    assert seen == [
        ("tool.before", "parent", {}, None),
        ("policy.before", "parent", {}, None),
        ("tool.before", "child", {"step": 1}, top),
        ("policy.before", "child", {"step": 1}, top),
        ("tool.after", "child", {"step": 1}, top),
        ("tool.before", "parent", {"step": 2}, top),
        ("policy.before", "parent", {"step": 2}, top),
        ("tool.after", "parent", {"step": 2}, top),
        ("tool.after", "parent", {}, None),
    ]
    assert (events[4]["outcome"], events[7]["outcome"], events[7]["reason"]) == ("ok", "error", "unexpected_failure")
    assert events[7]["fault"] == ["not_ended"]


def test_a_tool_that_calls_another_is_its_parent(make_toolbox, events) -> None:
    """`rt.call` goes through the whole gate, and the result may be handed on as it is."""

    def outer(rt):
        def tool(name: str):
            return rt.call("refuse", {"name": name})

        return tool

    toolbox = make_toolbox(spec_with_runtime(outer), spec_with_runtime(refuse))

    result = toolbox.call("outer", {"name": "Bob"})

    assert [(event["event"].removeprefix("hook."), event["tool"]) for event in events] == [
        ("tool.before", "outer"),
        ("policy.before", "outer"),
        ("tool.before", "refuse"),
        ("policy.before", "refuse"),
        ("policy.deny", "refuse"),
        ("tool.after", "refuse"),
        ("policy.deny", "outer"),
        ("tool.after", "outer"),
    ]
    assert (result.outcome, result.reason) == ("denied", "name_not_allowed")
    assert {event["parent_id"] for event in events[2:6]} == {result.call_id}


def test_calls_that_call_themselves_end(make_toolbox, events) -> None:
    """A tool that calls itself for ever is stopped by the gate, and each of its calls is closed."""

    def again(rt):
        def tool():
            return rt.call("again", {})

        return tool

    toolbox = make_toolbox(spec_with_runtime(again))

    result = toolbox.call("again", {})

    assert (result.outcome, result.reason) == ("error", "tool_error")
    assert result.message == "Calls are nested more than 16 deep."
    names = Counter(event["event"] for event in events)
    assert names["hook.tool.before"] == names["hook.tool.after"] == 18


async def test_a_thousand_tasks_and_sixteen_threads_lose_nothing(make_toolbox, tmp_path) -> None:
    """Concurrent calls leave whole lines, each call its own three, in their order."""
    log = tmp_path / "events.jsonl"

    async def nap(n: int) -> str:
        await asyncio.sleep(0)
        return str(n)

    def double(n: int) -> str:
        return str(2 * n)

    toolbox = make_toolbox(spec_of(nap), spec_of(double), sinks=[f"file:{log}"])
    threads = [
        threading.Thread(target=lambda: [toolbox.call("double", {"n": n}) for n in range(100)]) for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    results = await asyncio.gather(*(toolbox.acall("nap", {"n": n}) for n in range(1000)))
    for thread in threads:
        await asyncio.to_thread(thread.join)
    toolbox.close()

    assert [result.text for result in results] == [str(n) for n in range(1000)]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    by_call: dict[str, list[str]] = {}
    for line in lines:
        by_call.setdefault(line["call_id"], []).append(line["event"])
    assert set(map(tuple, by_call.values())) == {("hook.tool.before", "hook.policy.before", "hook.tool.after")}
    assert len(by_call) == 2600
    assert sorted(line["seq"] for line in lines) == list(range(1, 7801))


def test_a_killed_process_leaves_its_first_half(tmp_path: Path) -> None:
    """The first half is on disk before the body runs, so that a crash cannot hide a call."""
    log = tmp_path / "events.jsonl"
    program = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from toolcharter.gate.build.open import Plan, open_toolbox
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.load import LoadedPlugins, LoadedTool
from toolcharter.profile.model import Profile
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec

def hang() -> str:
    print("in the body", flush=True)
    time.sleep(60)

spec = ToolSpec("hang", ToolPolicy, lambda *_: hang)
loaded = LoadedPlugins({"hang": LoadedTool(spec, "test", "1")}, {}, {}, {}, new_manager(), (), {})
plan = Plan(Profile("p"), loaded, {"hang": ToolPolicy()}, {})
open_toolbox(plan, workspace=".", caller=None, sinks=["file:" + sys.argv[2]]).call("hang", {})
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(Path(__file__).parents[3] / "core"), str(log)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the body\n"
        process.send_signal(signal.SIGKILL)

    assert [json.loads(line)["event"] for line in log.read_text().splitlines()] == [
        "hook.tool.before",
        "hook.policy.before",
    ]


def by_default(action: str = "look", target: str = "") -> str:
    return action


def by_target(args: Any) -> Invocation:
    if args["target"] == "?":
        raise ValueError("secret detail")
    return Invocation(f"aim-at-{args['target']}")


@pytest.mark.parametrize(
    ("invocation", "args", "action"),
    [
        pytest.param(None, {}, "look", id="a-default"),
        pytest.param(None, {"action": " GO "}, "go", id="as-given"),
        pytest.param(by_target, {"target": "x"}, "aim-at-x", id="by-the-spec's-own-word"),
    ],
)
def test_the_action_of_a_call_is_told_after_its_defaults(invocation, args, action, make_toolbox, events) -> None:
    """Rules, checks and events see the action that the body will see."""
    seen: list[Call] = []
    spec = spec_of(by_default, invocation=invocation, capabilities={action: {"fs:read"}})

    def look(call: Call) -> None:
        seen.append(call)

    make_toolbox(spec, checks={"a": look}).call("by_default", args)

    assert {event["action"] for event in events} == {action}
    assert (seen[0].action, seen[0].capabilities) == (action, frozenset({"fs:read"}))


def test_a_call_whose_action_cannot_be_told_is_denied(make_toolbox, events) -> None:
    """What policy cannot understand does not run."""
    toolbox = make_toolbox(spec_of(by_default, invocation=by_target))

    result = toolbox.call("by_default", {"target": "?"})

    assert (result.outcome, result.reason) == ("denied", "not_understood")
    assert result.message == "The effect of the call is unknown: ValueError."
    assert [event["event"] for event in events][2:] == ["hook.policy.deny", "hook.tool.after"]
