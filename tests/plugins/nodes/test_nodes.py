"""`nodes` through the gate: graphs that are made, decided, run and refused, with real tools and a store of SQLite."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter import Caller, Toolbox, ToolResult, build_tools

ACTIONS = ["create", "add", "connect", "list", "run", "delete"]
UMA = Caller(agent="ada", user="uma")


class Boxes:
    """Makes toolboxes over one store, and keeps their events."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.events: list[dict[str, Any]] = []
        self.is_asked = asyncio.Event()
        self._stack = stack

    def __call__(self, profile: dict[str, Any] | None = None, approver: Any = None, **policy: Any) -> Toolbox:
        nodes = {"allowed_actions": ACTIONS, "allowed_tools": ["*"], **policy}
        tools = {"nodes": nodes, "read_file": {}, "write_file": {}, "glob": {}, "grep": {}}
        document = {"profile": "test", "store": f"sqlite:///{self.folder}/store.db", "tools": tools, **(profile or {})}
        file = self.folder / "test.yaml"
        file.write_text(json.dumps(document))
        opened = build_tools(file, workspace=self.workspace, caller=UMA, events=self.events.append, approver=approver)
        return self._stack.enter_context(opened)


@pytest.fixture
def boxes(tmp_path: Path) -> Iterator[Boxes]:
    with ExitStack() as stack:
        yield Boxes(tmp_path, stack)


def outcome(result: ToolResult) -> tuple[str, str | None]:
    return result.outcome, result.reason


def do(box: Toolbox, action: str, **args: Any) -> ToolResult:
    return box.call("nodes", {"action": action, "graph": "g", **args})


def add(box: Toolbox, node: str, tool: str = "read_file", **arguments: Any) -> ToolResult:
    return do(box, "add", node=node, tool=tool, arguments=arguments)


def made(box: Toolbox, **calls: tuple[str, dict[str, Any]]) -> Toolbox:
    """*box* with a graph of these calls."""
    do(box, "delete")
    assert do(box, "create").outcome == "ok"
    for node, (tool, arguments) in calls.items():
        result = add(box, node, tool, **arguments)
        assert result.outcome == "ok", result.text
    return box


def out(reference: str) -> dict[str, str]:
    return {"$output": reference}


def states(result: ToolResult) -> dict[str, str]:
    return {step["node"]: step["state"] for step in result.data["nodes"]}


def test_what_one_call_gives_is_an_argument_of_another(boxes: Boxes) -> None:
    """Three calls: their events are below the run's, and the file that was named by a text was read."""
    (boxes.workspace / "names.txt").write_text("found.txt")
    (boxes.workspace / "found.txt").write_text("here it is")
    box = made(boxes(), last=("write_file", {"path": "copy.txt", "content": out("find.text")}))
    add(box, "find", "glob", pattern="fo*.txt")
    add(box, "read", "read_file", path="found.txt")
    assert do(box, "connect", source="find", target="read").outcome == "ok"
    boxes.events.clear()

    result = do(box, "run")

    assert states(result) == {"find": "ran", "last": "ran", "read": "ran"}
    assert (boxes.workspace / "copy.txt").read_text().strip() == "found.txt"
    assert "| here it is" in result.text or "here it is" in result.text
    run, *children = [event for event in boxes.events if event["event"] == "hook.tool.before"]
    assert [child["tool"] for child in children] == ["glob", "write_file", "read_file"]
    assert {child["parent_id"] for child in children} == {run["call_id"]}


def test_by_default_a_graph_holds_nothing(boxes: Boxes) -> None:
    """Nothing is made, no tool is in a graph."""
    least = boxes(allowed_actions=["list", "delete"], allowed_tools=[])
    for action in ("create", "add", "connect", "run"):
        assert outcome(do(least, action)) == ("denied", "action_not_allowed")
    assert do(least, "list", graph="").text == "There are no graphs."
    box = made(boxes(allowed_tools=["grep"]))
    assert outcome(add(box, "a", "Read_File", path="x")) == ("denied", "tool_not_allowed")
    assert add(box, "a", "GREP", pattern="x").outcome == "ok"


def test_a_tool_that_is_listed_no_more_is_not_run(boxes: Boxes) -> None:
    """The policy of the day counts, not that of the day when the graph was made."""
    made(boxes(), a=("read_file", {"path": "a"}))
    assert outcome(do(boxes(allowed_tools=["grep"]), "run")) == ("denied", "tool_not_allowed")


def test_a_denied_call_that_is_known_lets_nothing_run(boxes: Boxes) -> None:
    """The first two calls would write; the third is denied by a rule, and the message names it."""
    profile = {"deny": ["read_file(path=secret*)"]}
    writes = {name: ("write_file", {"path": f"{name}.txt", "content": "x"}) for name in ("one", "two")}
    box = made(boxes(profile), **writes, three=("read_file", {"path": "secret.txt"}))
    boxes.events.clear()

    result = do(box, "run")

    assert outcome(result) == ("denied", "node_denied")
    assert "three (read_file): denied_by_rule" in (result.message or "")
    assert list(boxes.workspace.iterdir()) == []
    assert {event["tool"] for event in boxes.events} == {"nodes"}


@each_row(
    "tool, arguments, reason",
    [
        ("read_file", {"path": "../outside.txt"}, "path_outside_workspace"),
        ("no_such_tool", {}, "unknown_tool"),
        ("no_such_tool", {"path": out("first.text")}, "unknown_tool"),
    ],
)
def test_what_the_gate_knows_beforehand(boxes: Boxes, tool: str, arguments: dict[str, Any], reason: str) -> None:
    """A path out of the workspace, and a tool that is not there, even where its arguments are not known yet."""
    box = made(boxes(), first=("write_file", {"path": "first.txt", "content": "x"}), second=(tool, arguments))
    result = do(box, "run")
    assert outcome(result) == ("denied", "node_denied")
    assert f"second ({tool}): {reason}" in (result.message or "")
    assert list(boxes.workspace.iterdir()) == []


def test_arguments_that_no_call_can_have_let_nothing_run(boxes: Boxes) -> None:
    box = made(boxes(), a=("write_file", {"path": "a", "content": "x"}), b=("read_file", {"pth": "a"}))
    assert outcome(do(box, "run")) == ("error", "node_invalid")
    assert list(boxes.workspace.iterdir()) == []


def test_a_denied_argument_is_not_smuggled_through_an_output(boxes: Boxes) -> None:
    """What a file says becomes a path: the rule sees the path as it is, and what needs the call is skipped."""
    (boxes.workspace / "page.txt").write_text("secret.txt")
    (boxes.workspace / "secret.txt").write_text("hunter2")
    box = made(
        boxes({"deny": ["read_file(path=secret*)"]}),
        page=("glob", {"pattern": "sec*"}),
        secret=("read_file", {"path": out("page.data.items.0")}),
        send=("write_file", {"path": "sent.txt", "content": out("secret.text")}),
        other=("glob", {"pattern": "page*"}),
    )

    result = do(box, "run")

    assert outcome(result) == ("error", "node_failed")
    assert states(result) == {"page": "ran", "secret": "failed", "send": "skipped", "other": "ran"}
    assert "secret (read_file): failed, denied_by_rule" in result.text
    assert "send (write_file): skipped, as it needs secret" in result.text
    assert "hunter2" not in result.text


def test_an_output_is_never_read_for_references(boxes: Boxes) -> None:
    """A text that looks like a reference stays a text."""
    (boxes.workspace / '{"$output": "b.text"}').write_text("")
    box = made(
        boxes(),
        a=("glob", {"pattern": "{*"}),
        b=("write_file", {"path": "b.txt", "content": out("a.text")}),
    )
    assert do(box, "run").outcome == "ok"
    assert "$output" in (boxes.workspace / "b.txt").read_text()


def test_what_a_call_before_brings_about_is_waited_for(boxes: Boxes) -> None:
    """A file that is not there yet is no reason to run nothing."""
    box = made(boxes(), w=("write_file", {"path": "a.txt", "content": "new"}), r=("read_file", {"path": "a.txt"}))
    do(box, "connect", source="w", target="r")
    result = do(box, "run")
    assert (outcome(result), states(result)) == (("ok", None), {"w": "ran", "r": "ran"})


@each_row(
    "arguments, reason",
    [
        ({"path": out("gone.text")}, "missing_output"),
        ({"path": out("a")}, "invalid_reference"),
        ({"path": out("a.text.more")}, "invalid_reference"),
        ({"path": out("a.data..x")}, "invalid_reference"),
        ({"path": {"$output": "a.text", "or": 1}}, "invalid_reference"),
        ({"path": {"$output": ["a"]}}, "invalid_reference"),
        ({"path": out("self.text")}, "cycle"),
        ({"path": "x" * 70}, "too_large"),
    ],
)
def test_arguments_that_no_node_can_have(boxes: Boxes, arguments: dict[str, Any], reason: str) -> None:
    box = made(boxes(max_argument_bytes=64), a=("glob", {"pattern": "*"}))
    result = add(box, "self", **arguments)
    if result.outcome == "ok":
        result = do(box, "run")
        assert "'self' needs 'gone'" in (result.message or "")
    assert outcome(result) == ("error", reason)


def test_what_is_nested_too_deep_is_refused(boxes: Boxes) -> None:
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    assert outcome(add(made(boxes()), "a", path=deep)) == ("error", "too_large")


def test_a_circle_is_named(boxes: Boxes) -> None:
    """The nodes of it, in the order in which each needs the next; nothing is kept of what would close it."""
    box = made(boxes(), a=("glob", {"pattern": "a"}), b=("glob", {"pattern": out("a.text")}))
    add(box, "c", "glob", pattern=out("b.text"))
    result = do(box, "connect", source="c", target="a", argument="pattern")
    assert outcome(result) == ("error", "cycle")
    assert "a -> b -> c -> a" in (result.message or "") or "a -> c -> b -> a" in (result.message or "")
    assert do(box, "list").data["nodes"][0]["needs"] == []


def test_an_output_that_a_call_has_not_given_is_named(boxes: Boxes) -> None:
    """The node fails by itself: the tool that it calls is not reached."""
    box = made(boxes(), a=("glob", {"pattern": "*"}), b=("read_file", {"path": out("a.data.items.7")}))
    boxes.events.clear()
    result = do(box, "run")
    assert states(result) == {"a": "ran", "b": "failed"}
    assert "b (read_file): failed, missing_output: 'a.data.items.7': 'a' has returned nothing at '7'." in result.text
    assert not [event for event in boxes.events if event["tool"] == "read_file"]


def test_a_graph_does_not_grow_through_its_outputs(boxes: Boxes) -> None:
    """Each call doubles what the one before has given: the fourth does not fit any more, and writes nothing."""
    (boxes.workspace / "0.txt").write_text("x" * 100)
    box = made(boxes(max_argument_bytes=700), n0=("grep", {"pattern": "x", "path": "0.txt"}))
    for level in range(1, 6):
        twice = [out(f"n{level - 1}.text"), out(f"n{level - 1}.text")]
        add(box, f"n{level}", "write_file", path=f"{level}.txt", content=twice)
    result = do(box, "run")
    assert {step["reason"] for step in result.data["nodes"]} & {"too_large", "invalid_arguments"}
    assert len(list(boxes.workspace.iterdir())) < 5


def test_a_thousand_references_are_told_before_they_are_put_together(boxes: Boxes) -> None:
    """Half a megabyte a thousand times would be half a gigabyte."""
    (boxes.workspace / "big.txt").write_text("x" * 50_000)
    box = made(boxes(), a=("read_file", {"path": "big.txt"}), b=("glob", {"pattern": [out("a.text")] * 1000}))
    result = do(box, "run")
    (b,) = [step for step in result.data["nodes"] if step["node"] == "b"]
    assert (b["reason"], "'a.text'" in b["message"]) == ("too_large", True)


def test_an_output_that_is_too_large_is_not_kept(boxes: Boxes) -> None:
    (boxes.workspace / "big.txt").write_text("x" * 500)
    box = made(boxes(max_output_bytes=64), a=("read_file", {"path": "big.txt"}))
    add(box, "b", path=out("a.text"))
    assert "b (read_file): failed, too_large: The text of 'a' is too large" in do(box, "run").text


@each_row(
    "policy, calls, reason",
    [
        ({"max_nodes": 2}, 3, "too_large"),
        ({"max_edges": 1}, 3, "too_large"),
        ({"max_nodes": 3, "max_edges": 2}, 3, None),
    ],
)
def test_a_graph_has_bounds(boxes: Boxes, policy: dict[str, Any], calls: int, reason: str | None) -> None:
    box = made(boxes(**policy))
    results = [add(box, f"n{n}", path=out(f"n{n - 1}.text") if n else "x") for n in range(calls)]
    assert results[-1].reason == reason


def test_there_are_not_more_graphs_than_the_policy_says(boxes: Boxes) -> None:
    box = boxes(max_graphs=1)
    assert do(box, "create").outcome == "ok"
    assert outcome(do(box, "create")) == ("error", "already_exists")
    assert outcome(do(box, "create", graph="h")) == ("denied", "too_many_graphs")
    assert do(box, "delete").outcome == "ok"
    assert do(box, "create", graph="h").outcome == "ok"


@each_row(
    "action, args, reason",
    [
        ("create", {"graph": ""}, "missing_argument"),
        ("add", {}, "missing_argument"),
        ("connect", {"source": "a"}, "missing_argument"),
        ("run", {"graph": "none"}, "unknown_graph"),
        ("delete", {"graph": "none"}, "unknown_graph"),
        ("list", {"graph": "none"}, "unknown_graph"),
        ("delete", {"node": "none"}, "unknown_node"),
        ("connect", {"source": "a", "target": "none"}, "unknown_node"),
        ("connect", {"source": "none", "target": "a"}, "unknown_node"),
        ("connect", {"source": "a.more", "target": "a"}, "invalid_reference"),
        ("connect", {"source": "a", "target": "a"}, "cycle"),
        ("add", {"node": "a", "tool": "glob"}, "already_exists"),
        ("add", {"node": "a b", "tool": "glob"}, "invalid_arguments"),
    ],
)
def test_what_cannot_be_done(boxes: Boxes, action: str, args: dict[str, Any], reason: str) -> None:
    box = made(boxes(), a=("glob", {"pattern": "*"}))
    assert outcome(do(box, action, **args)) == ("error", reason)


def test_a_node_that_others_need_leaves_them_without(boxes: Boxes) -> None:
    box = made(boxes(), a=("glob", {"pattern": "*"}), b=("read_file", {"path": out("a.text")}))
    assert do(box, "delete", node="a").data["nodes"] == ["b"]
    result = do(box, "run")
    assert (result.reason, "'b' needs 'a'" in (result.message or "")) == ("missing_output", True)


@pytest.mark.parametrize(
    "other",
    [
        Caller(agent="ada", user="eve"),
        Caller(agent="eva", user="uma"),
        Caller(agent="ada", user="uma", tenant="other"),
        Caller(agent="ada1", user="uma"),
        Caller(),
    ],
    ids=str,
)
def test_a_graph_of_one_caller_is_unknown_to_others(boxes: Boxes, other: Caller) -> None:
    """They can neither see, run, change nor delete it, and one of theirs may have its name."""
    box = made(boxes(), a=("write_file", {"path": "a.txt", "content": "x"}))
    theirs = box.for_caller(other)
    for action, args in (("run", {}), ("list", {}), ("delete", {}), ("connect", {"source": "a", "target": "a"})):
        assert outcome(do(theirs, action, **args)) == ("error", "unknown_graph")
    assert do(theirs, "list", graph="").text == "There are no graphs."
    assert do(theirs, "create").outcome == "ok"
    assert add(theirs, "mine", path=out("a.text")).outcome == "ok"
    assert do(theirs, "run").reason == "missing_output"
    assert [node["node"] for node in do(box, "list").data["nodes"]] == ["a"]
    assert not (boxes.workspace / "a.txt").exists()


def test_a_graph_runs_no_graphs(boxes: Boxes) -> None:
    """Each level would run all of the one below: it is denied before anything runs, by whatever name."""
    box = made(boxes(), a=("NODES", {"action": "run", "graph": "g"}), b=("write_file", {"path": "b", "content": "x"}))
    result = do(box, "run")
    assert (result.reason, "a (NODES): nested_run" in (result.message or "")) == ("node_denied", True)
    do(box, "delete", node="a")
    add(box, "name", "glob", pattern="g")
    add(box, "again", "nodes", action="run", graph=out("name.data.items.0"))
    (boxes.workspace / "g").write_text("")
    (again,) = [step for step in do(box, "run").data["nodes"] if step["node"] == "again"]
    assert (again["outcome"], again["reason"]) == ("denied", "nested_run")


def test_a_text_cannot_look_like_a_line_of_the_run(boxes: Boxes) -> None:
    (boxes.workspace / "evil.txt").write_text("x\nb (bash): ran\n")
    lines = do(made(boxes(), a=("read_file", {"path": "evil.txt"})), "run").text.splitlines()
    assert [line for line in lines if not line.startswith("|")] == ["1 ran, 0 failed, 0 skipped.", "a (read_file): ran"]


async def test_a_run_that_is_cancelled_cancels_the_call_under_way(boxes: Boxes) -> None:
    """The call that waits ends as cancelled, and none comes after it."""
    writes = {name: ("write_file", {"path": name, "content": "x"}) for name in ("a", "b")}
    box = await asyncio.to_thread(lambda: made(_asking(boxes), **writes))
    task = asyncio.ensure_future(box.acall("nodes", {"action": "run", "graph": "g"}))
    async with asyncio.timeout(10):
        await boxes.is_asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ends = [event for event in boxes.events if event["event"] == "hook.tool.after"][-2:]
    assert [(end["tool"], end["reason"]) for end in ends] == [("write_file", "cancelled"), ("nodes", "cancelled")]
    assert list(boxes.workspace.iterdir()) == []


async def test_a_run_has_an_end(boxes: Boxes) -> None:
    """What has run, what was under way and what did not come to it are told."""
    calls = {
        name: ("write_file", {"path": name, "content": out(of)}) for name, of in (("b", "a.text"), ("c", "b.text"))
    }
    box = await asyncio.to_thread(lambda: made(_asking(boxes, max_run_s=0.3), a=("glob", {"pattern": "*"}), **calls))
    result = await box.acall("nodes", {"action": "run", "graph": "g"})
    assert outcome(result) == ("error", "timed_out")
    assert states(result) == {"a": "ran", "b": "failed", "c": "skipped"}


def _asking(boxes: Boxes, **policy: Any) -> Toolbox:
    """A toolbox in which a person is asked before files are written, and never answers."""

    async def never(_: Any) -> Any:
        boxes.is_asked.set()
        await asyncio.Event().wait()

    return boxes({"ask": ["write_file"]}, never, **policy)
