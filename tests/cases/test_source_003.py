"""What sample set 003 does in a call's life cycle, when tools are built, and in its log lines."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.samples import row_params, sample_rows

from toolcharter import ToolPolicy, ToolResult, ToolSpec, build_tools
from toolcharter.events.contract import MAX_FIELD_CHARS
from toolcharter.events.lines import cut
from toolcharter.testing import toolbox_of

# Rows that the design decides otherwise, each with the sentence that does.
SUPERSEDED = {
    "003-lifecycle-events-038": "design, section 6: switches change detail, never existence.",
    "003-lifecycle-events-041": "design, section 6: switches change detail, never existence.",
    "003-lifecycle-events-042": "design, section 6: switches change detail, never existence.",
    "003-build-and-logging-008": 'design, section 3: validated as strict JSON (..., `"5"` is no number).',
    "003-build-and-logging-030": "design, section 6 lists the fields of an event in the order they have.",
}
ELSEWHERE = {"003-build-and-logging-056", "003-build-and-logging-059"}  # In test_file_samples.py.
POLICY_BEFORE = "hook.policy.before"
"""Design, section 6: every call that is well formed has this event, whether its tool announces its checks or not."""
POLICY_FIELDS = "003-lifecycle-events-005"
"""Design, section 3: `ctx.policy_before()` emits nothing further; its fields go to the after's `fields`."""


def rows(name: str) -> list[dict[str, Any]]:
    return sample_rows(f"seeds/003-{name}")


LIFECYCLE = {row["id"]: row for row in rows("lifecycle-events")}
BUILDING = {row["id"]: row for row in rows("build-and-logging")}
OPEN = [row for row in (*LIFECYCLE.values(), *BUILDING.values()) if row["id"] not in {*SUPERSEDED, *ELSEWHERE}]


def params(wanted: Callable[[dict[str, Any]], Any]) -> list[Any]:
    return row_params([row for row in OPEN if wanted(row)])


def stepping(steps: list[list[Any]]) -> ToolSpec[ToolPolicy]:
    """A tool that accepts any argument and takes *steps* one after the other."""

    def build(_workspace: Any, _policy: Any, rt: Any) -> Callable[..., Any]:
        def t(**args: Any) -> Any:
            ctx, said = rt.start("t", **args), None
            for step, *given in steps:
                if step == "return":
                    return given[0]
                *values, fields = given
                said = getattr(ctx, step)(*values, **fields)
            return said

        return t

    return ToolSpec("t", ToolPolicy, build, parameters={"type": "object"})


def take(steps: list[list[Any]], args: dict[str, Any], workspace: Path) -> tuple[ToolResult, list[dict[str, Any]]]:
    events: list[dict[str, Any]] = []
    with toolbox_of(stepping(steps), workspace=workspace, events=events.append) as toolbox:
        return toolbox.call("t", args), events


def in_words_of_003(event: dict[str, Any], result: ToolResult) -> dict[str, Any]:
    """An event as the source writes it: arguments beside the event's own fields, the model's text as `error`."""
    own = {key: event[key] for key in ("event", "tool", "status", "reason") if key in event}
    return {**event["args"], **own, "level": event["level"].upper(), "error": result.text}


@pytest.mark.parametrize("row", params(lambda row: "steps" in row["input"] and "events" in row["expect"]))
def test_life_cycle(row: dict[str, Any], tmp_path: Path) -> None:
    """Each way out leaves the source's events in its order, or as `unified` has it, each with the source's fields."""
    expect = {**row["expect"], **row.get("unified", {})}
    expect = expect.get("or", expect)
    (_, _, args), *steps = row["input"]["steps"]

    result, events = take(steps, args, tmp_path)

    wanted = {event["event"]: dict(event) for event in expect["events"]}
    if row["id"] == POLICY_FIELDS:
        del wanted[POLICY_BEFORE]["b"], wanted["hook.tool.after"]["not"]
        assert events[-1]["fields"] == {"b": 2}
    assert [event["event"] for event in events if event["event"] != POLICY_BEFORE or POLICY_BEFORE in wanted] == [
        *wanted
    ]
    assert events[1]["event"] == POLICY_BEFORE
    found = {event["event"]: in_words_of_003(event, result) for event in events}
    assert [fields.items() - found[name].items() for name, fields in wanted.items()] == [set()] * len(wanted)
    assert result.text == expect.get("returns", result.text)


@pytest.mark.parametrize("row", params(lambda row: "events_ok" in row.get("unified", {})))
def test_reserved_name(row: dict[str, Any], tmp_path: Path) -> None:
    """An argument named like a field of an event lies under `args`, and the field keeps its meaning."""
    (_, _, args), (step, text, _) = row["input"]["steps"]

    result, events = take([[step, text, {}]], args, tmp_path)

    assert [event["event"] for event in events] == ["hook.tool.before", POLICY_BEFORE, "hook.tool.after"]
    assert [event["args"] for event in events] == [args] * 3
    assert (events[-1]["status"], events[-1]["reason"], result.text) == (
        {"ok": ("ok", None, text), "error": ("error", "tool_error", f"ERROR: {text}")}[step]
    )
    assert events[-1]["elapsed_ms"] == result.elapsed_ms


@pytest.mark.parametrize("row", params(lambda row: "elapsed_ms" in row["expect"]))
def test_elapsed_time(row: dict[str, Any], tmp_path: Path) -> None:
    """A number that is not negative, with two decimals at most."""
    result, events = take(row["input"]["steps"][1:], {}, tmp_path)

    assert result.elapsed_ms == events[-1]["elapsed_ms"] == round(result.elapsed_ms, 2) >= 0


@pytest.mark.parametrize("row", params(lambda row: "exit" in row["input"]))
def test_events_written(row: dict[str, Any], tmp_path: Path) -> None:
    """With every switch on, the source's list is ours."""
    _, events = take([["policy_before", {}], [row["input"]["exit"], "word", {}]], {}, tmp_path)

    assert [event["event"] for event in events] == row["expect"]["events"]


class ExamplePolicy(ToolPolicy):
    """The policy of the template."""

    allowed_actions: list[str] = ["read"]  # noqa: RUF012 - as the source's template has it


def example(_workspace: Any, policy: ExamplePolicy, rt: Any) -> Callable[..., str]:
    allowed = {action.strip().lower() for action in policy.allowed_actions}

    def example(action: str, arg1: str = "") -> str:
        ctx = rt.start("example", action=action, arg1=arg1)
        if action not in allowed:
            return ctx.deny("action_not_allowed")
        return ctx.ok(f"example output for {arg1}")

    return example


@pytest.mark.parametrize("row", params(lambda row: row["input"].get("tool") == "example"))
def test_example_tool(row: dict[str, Any], tmp_path: Path) -> None:
    """The source's example gives its outputs; a policy is frozen, so that a change after the build changes nothing."""
    kept: list[ExamplePolicy] = []

    def build(workspace: Any, policy: ExamplePolicy, rt: Any) -> Callable[..., str]:
        kept.append(policy)
        return example(workspace, policy, rt)

    with toolbox_of(ToolSpec("example", ExamplePolicy, build), workspace=tmp_path) as toolbox:
        for name, value in row["input"].get("change_policy_after_build", {}).items():
            with pytest.raises(ValidationError, match="frozen"):
                setattr(kept[0], name, value)
            getattr(kept[0], name)[:] = value
        result = toolbox.call("example", row["input"]["args"])

    assert result.text == row["expect"]["output"]


def profile(folder: Path, *tools: str) -> Path:
    path = folder / "profile.yaml"
    path.write_text("profile: cases\ntools:\n" + "".join(f"  {tool}\n" for tool in tools))
    return path


OURS = {"list_dir": "list_files"}


@pytest.mark.parametrize("row", params(lambda row: row["input"].get("tool") == "list_dir"))
def test_list_dir(row: dict[str, Any], tmp_path: Path) -> None:
    """`list_dir`, our `list_files`, leaves the events the source's tests look for."""
    events: list[dict[str, Any]] = []
    (tmp_path / "file.txt").write_text("x")
    with build_tools(profile(tmp_path, "list_files: {}"), workspace=tmp_path, events=events.append) as toolbox:
        result = toolbox.call(OURS[row["input"]["tool"]], {"path": row["input"]["args"][0]})

    found = [{key: event.get(key) for key in ("event", "tool", "status")} for event in events if event["tool"]]
    wanted = [{"status": None, **event, "tool": OURS[event["tool"]]} for event in row["expect"]["events"]]
    assert [event for event in found if event["event"] != POLICY_BEFORE] == wanted
    assert "file.txt" in result.text


@pytest.mark.parametrize("row", params(lambda row: "built" in row["expect"]))
def test_order(row: dict[str, Any], tmp_path: Path) -> None:
    """A toolbox lists its tools in the profile's order."""
    names = [OURS.get(name, name) for name in row["input"]["tools"]]
    path = profile(tmp_path, *(f"{name}: {{}}" for name in names))

    with build_tools(path, workspace=tmp_path, events=lambda _: None) as toolbox:
        assert list(toolbox) == [OURS.get(name, name) for name in row["expect"]["built"]]


@pytest.mark.parametrize("row", params(lambda row: "max_field_chars" in row["input"]))
def test_long_text_is_cut(row: dict[str, Any]) -> None:
    """A field is cut where the source cuts it, and ends as there."""
    limit, text = row["input"]["max_field_chars"], row["input"]["fields"]["x"]
    wanted = json.loads(row["expect"]["line"])["x"].replace(text[:limit], text[0] * MAX_FIELD_CHARS)

    assert cut({"x": text[0] * (MAX_FIELD_CHARS + len(text) - limit)}) == {"x": wanted}


def test_every_row_is_accounted_for() -> None:
    """No row of the two files is passed over in silence."""
    kinds = ("steps", "exit", "tool", "tools", "max_field_chars")

    assert {*SUPERSEDED, *ELSEWHERE} <= {*LIFECYCLE, *BUILDING}
    assert [row["id"] for row in OPEN if not any(kind in row["input"] for kind in kinds)] == []
