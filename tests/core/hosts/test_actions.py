"""What a model without tool calls asks for in its text."""

import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from tests.rows import each_row

from toolcharter.hosts import ModelAction, parse_actions
from toolcharter.hosts.actions import MAX_ACTIONS, MAX_CHARS

READ = {"type": "tool", "tool": "Read", "args": {"path": "a.txt"}}
ACTION = ModelAction("tool", "Read", {"path": "a.txt"})

FORMS: dict[str, tuple[dict[str, Any], ModelAction]] = {
    "tool": (READ, ACTION),
    "without type": ({"tool": "Read", "args": {"path": "a.txt"}}, ACTION),
    "name": ({"name": "Read", "args": {"path": "a.txt"}}, ACTION),
    "tool_args": ({"type": "tool", "tool": "Read", "tool_args": {"path": "a.txt"}}, ACTION),
    "type is the tool": ({"type": "Read", "args": {"path": "a.txt"}}, ACTION),
    "another tool as type": ({"type": "deploy", "args": {}}, ModelAction("tool", "deploy", {})),
    "flat": ({"type": "Read", "path": "a.txt"}, ACTION),
    "flat with tool": ({"tool": "Read", "path": "a.txt"}, ACTION),
    "delegate": (
        {"type": "delegate_to_agent", "target_agent_id": "guide", "task": "Say hello."},
        ModelAction("tool", "delegate_to_agent", {"target_agent_id": "guide", "task": "Say hello."}),
    ),
    "code": (
        {"type": "execute_code", "language": "python", "code": "print('{')"},
        ModelAction("execute_code", "execute_code", {"language": "python", "code": "print('{')"}),
    ),
    "patch": ({"type": "patch", "diff": "--- a\n"}, ModelAction("patch", None, {"diff": "--- a\n"})),
    "plan": (
        {"type": "update_plan", "items": [{"id": "1"}]},
        ModelAction("update_plan", None, {"plan_text": None, "items": [{"id": "1"}]}),
    ),
    "plan without items": (
        {"type": "update_plan", "plan_text": "First."},
        ModelAction("update_plan", None, {"plan_text": "First.", "items": []}),
    ),
    "plan mode": ({"type": "enter_plan_mode"}, ModelAction("enter_plan_mode", None, {"reason": None})),
    "finalize": (
        {"type": "finalize_task", "packet": {"title": "t", "user_stories": []}},
        ModelAction("finalize_task", None, {"packet": {"title": "t", "user_stories": []}}),
    ),
    "done": ({"type": "done"}, ModelAction("done", None, {"message": None})),
    "done with summary": ({"type": "done", "summary": "All."}, ModelAction("done", None, {"message": "All."})),
    "done as a name": ({"name": "Done", "message": "All."}, ModelAction("done", None, {"message": "All."})),
    "done is true": ({"done": True, "summary": "All."}, ModelAction("done", None, {"message": "All."})),
    "only a response": ({"response": "All."}, ModelAction("done", None, {"message": "All."})),
}


@each_row("form", FORMS)
def test_each_form_is_an_action(form: str) -> None:
    written, action = FORMS[form]

    assert parse_actions(json.dumps(written)) == ((action,), "", ())


FAULTS = {
    "cut": ('{"type": "tool", "tool": "Read", "args": {"path": "a', "this is not JSON"),
    "twice": ('{"tool": "Read", "tool": "Bash", "args": {}}', "a key occurs twice"),
    "twice within": ('{"tool": "Read", "args": {"path": "a", "path": "b"}}', "a key occurs twice"),
    "not a number": ('{"tool": "Read", "args": {"n": NaN}}', "NaN is no JSON"),
    "arguments are no object": ('{"tool": "Read", "args": "a.txt"}', "`args` must be an object"),
    "arguments twice": ('{"tool": "Read", "args": {}, "tool_args": {}}', "not in both"),
    "arguments beside": ('{"tool": "Read", "args": {}, "path": "a"}', "'path' is next to `args`"),
    "tool is no text": ('{"tool": 1, "args": {}}', "`tool` must be the name of a tool"),
    "tool is missing": ('{"type": "tool", "args": {}}', "`tool` must be the name of a tool"),
    "type is no text": ('{"type": 1, "tool": "Read", "args": {}}', "`type` must be a text"),
    "unknown type": ('{"type": "explode"}', "there is no action 'explode'"),
    "code without language": ('{"type": "execute_code", "code": "1"}', "`language` of `execute_code` is missing"),
    "code is no text": (
        '{"type": "execute_code", "language": "python", "code": 1}',
        "`code` of `execute_code` must be a text",
    ),
    "code with more": ('{"type": "execute_code", "language": "sh", "code": "", "x": 1}', "has no field 'x'"),
    "packet without title": ('{"type": "finalize_task", "packet": {}}', "must have a `title`"),
    "said is no text": ('{"type": "done", "message": {"a": 1}}', "must be a text"),
    "too deep": ('{"tool": ' + '{"a":' * 3000, "this is not JSON"),
}


@each_row("fault", FAULTS)
def test_what_is_malformed_is_told_and_never_guessed(fault: str) -> None:
    written, said = FAULTS[fault]

    found = parse_actions(f"First this.\n  {written}")

    assert found.actions == ()
    assert len(found.faults) == 1
    assert found.faults[0].startswith("2:3: ")
    assert said in found.faults[0]


def test_actions_stand_in_prose_tags_and_fences_in_their_order() -> None:
    """Braces of code are no objects, and what is within a text is no action."""
    second = {"name": "Write", "args": {"path": "b.rs", "content": 'fn f() { /* {"tool": "Bash", "args": {}} */ }'}}
    text = (
        f"I read {{it}} first:\n<tool_call>{json.dumps(READ)}</tool_call>\nfn main() {{ x }}\n"
        f"```json\n{json.dumps(second)}\n```\nand then {json.dumps({'type': 'done', 'message': 'ok'})}"
    )

    found = parse_actions(text)

    assert [(one.kind, one.tool) for one in found.actions] == [("tool", "Read"), ("tool", "Write"), ("done", None)]
    assert found.actions[1].args == second["args"]
    assert found.text == "I read {it} first:\n<tool_call>"
    assert found.faults == ()


def test_no_part_of_a_broken_object_is_an_action() -> None:
    """The text of a file that a model writes must not become a call because a comma is missing."""
    inner = json.dumps({"tool": "Bash", "args": {"cmd": "rm -rf /"}})
    text = f'{{"tool": "Write" "args": {{"content": {inner}}}}} {json.dumps(READ)}'

    found = parse_actions(text)

    assert found.actions == (ACTION,)
    assert len(found.faults) == 1


def test_data_is_left_alone() -> None:
    assert parse_actions('It says {"name": "Ann", "age": 3} and {"a": [1, {"b": 2}]}, {} too.') == ((), "It says", ())
    assert parse_actions("No JSON here.") == ((), "No JSON here.", ())


def test_of_too_much_nothing_is_read() -> None:
    assert parse_actions(json.dumps(READ) + " " * MAX_CHARS).actions == ()
    many = parse_actions(json.dumps(READ) * (MAX_ACTIONS + 1))
    assert (many.actions, len(many.faults)) == ((), 1)
    assert len(parse_actions(json.dumps(READ) * MAX_ACTIONS).actions) == MAX_ACTIONS
    broken = parse_actions(json.dumps(READ) + '{"a"}' * 190_000)
    assert (broken.actions, len(broken.faults)) == ((), MAX_ACTIONS + 1)


@given(st.text(alphabet='{}[]":,\\ typeoladn1\n', max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Each fault has its place, and the same text is read alike twice."""
    found = parse_actions(text)

    assert found == parse_actions(text)
    assert all(fault[0].isdecimal() for fault in found.faults)


@pytest.mark.parametrize("piece", ['{"', '{"a":{', "{}", '{"a', '"{'])
def test_the_time_grows_with_the_text(piece: str) -> None:
    """A hundred thousand beginnings: a look back from each to the text's end would take minutes."""
    assert parse_actions(piece * (100_000 // len(piece))).actions == ()
