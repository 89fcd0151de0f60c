"""Parses actions that a model without tool calls writes into its text: JSON objects in prose, tags or code fences."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

ActionKind = Literal["tool", "execute_code", "patch", "update_plan", "enter_plan_mode", "finalize_task", "done"]

MAX_CHARS = 1_000_000
"""A longer text is not parsed, in characters."""
MAX_ACTIONS = 100
"""A text with more actions, or with more faults, gives no actions."""

_OBJECT = re.compile(r'\{(?=\s*["}])')
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}]', re.DOTALL)
_MESSAGE_KEYS = ("message", "summary", "text", "content", "response", "answer")
"""Fields in which models write their final message, when they are done."""
_FLAT_TOOLS = frozenset(
    [
        "read",
        "grep",
        "write",
        "edit",
        "glob",
        "bash",
        "task",
        "capture_screenshot",
        "lock_paths",
        "unlock_paths",
        "delegate_to_agent",
    ]
)
"""Tools whose arguments may be next to `type`, instead of in `args`."""


class ModelAction(NamedTuple):
    """One action that the model requests."""

    kind: ActionKind
    tool: str | None
    """For `tool` and `execute_code`, the tool's name as the model wrote it; the toolbox resolves aliases."""
    args: Mapping[str, Any]
    """The arguments of `tool` and `execute_code`. Other actions have fields: `patch` has `diff`, `update_plan` has
    `plan_text` and `items`, `enter_plan_mode` has `reason`, `finalize_task` has `packet`, `done` has `message`. A text
    that the model omitted is None."""


class ParsedActions(NamedTuple):
    """The actions in a text."""

    actions: tuple[ModelAction, ...]
    """In the order of the text."""
    text: str
    """The prose before the first JSON object; the whole text if there is none."""
    faults: tuple[str, ...]
    """The malformed actions, each with `LINE:COLUMN`, as sentences for the model."""


class _Malformed(Exception):
    """An object is no valid action; the exception's text says why."""


def parse_actions(text: str) -> ParsedActions:
    """Parse the actions in a model's text.

    Args:
        text: Prose, tags and code fences around any number of JSON objects, such as
            `{"type": "tool", "tool": "Read", "args": {"path": "a.txt"}}`, `{"name": "Read", "args": {}}`,
            `{"type": "execute_code", "language": "python", "code": "..."}` or `{"type": "done", "message": "..."}`.

    Returns:
        The actions, in order. Nothing is repaired: no part of a broken object is used, and each malformed action is a
        fault. Objects that name neither an action nor a tool are data, and are left out.

    Source: linggen, `src/engine/actions.rs`, and its page on tools, which has `execute_code`.
    """
    if len(text) > MAX_CHARS:
        return ParsedActions((), text, (f"1:1: the text has more than {MAX_CHARS} characters; it was not parsed",))
    actions: list[ModelAction] = []
    faults: list[str] = []
    first = len(text)
    for start, found in _find_objects(text):
        first = min(first, start)
        try:
            if isinstance(found, _Malformed):
                raise found
            action = _to_action(found)
        except _Malformed as error:
            line = text.count("\n", 0, start) + 1
            faults.append(f"{line}:{start - text.rfind(chr(10), 0, start)}: {error}")
        else:
            actions += [] if action is None else [action]
        if max(len(actions), len(faults)) > MAX_ACTIONS:
            told = f"1:1: there are more than {MAX_ACTIONS} actions or faults; no action was used"
            return ParsedActions((), text[:first].strip(), (*faults[:MAX_ACTIONS], told))
    return ParsedActions(tuple(actions), text[:first].strip(), tuple(faults))


def _find_objects(text: str) -> Iterator[tuple[int, dict[str, Any] | _Malformed]]:
    """Yield each outermost JSON object with its start. A broken object ends at its closing brace, or with the text."""
    end = 0
    while (begun := _OBJECT.search(text, end)) is not None:
        start = begun.start()
        try:
            found, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            said = error.msg if isinstance(error, json.JSONDecodeError) else f"{error}"[:100]
            end = _end_of_broken(text, start)
            yield start, _Malformed(f"this is not JSON: {said}")
        else:
            yield start, found


def _end_of_broken(text: str, start: int) -> int:
    depth = 0
    for token in _STRING_OR_BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key occurs twice")
    return fields


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_reject_duplicates, parse_constant=_reject_constant)


def _to_action(found: Mapping[str, Any]) -> ModelAction | None:
    """Return the action in *found*; None if it is data.

    Raises:
        _Malformed: It names an action or a tool, but does not have the form of that action.
    """
    kind = found.get("type")
    tool = found.get("tool", found.get("name") if "args" in found or "tool_args" in found or _is_done(found) else None)
    if kind is not None and not isinstance(kind, str):
        raise _Malformed("`type` must be a text")
    if kind in _ACTION_FIELDS:
        return ModelAction(kind, "execute_code" if kind == "execute_code" else None, _argument_fields(found, kind))  # type: ignore[arg-type]
    if kind == "done" or (kind is None and (_is_done(found) or (tool is None and found.keys() & set(_MESSAGE_KEYS)))):
        return _done_action(found)
    if kind == "tool" or (kind is None and tool is not None):
        return _tool_action(found, tool, may_be_flat="tool" in found)
    if kind is None:
        return None
    if tool is None and (kind.lower() in _FLAT_TOOLS or "args" in found or "tool_args" in found):
        return _tool_action(found, kind, may_be_flat=kind.lower() in _FLAT_TOOLS)
    raise _Malformed(f"there is no action {kind[:60]!r}; write a tool's arguments in `args`")


def _is_done(found: Mapping[str, Any]) -> bool:
    name = found.get("tool", found.get("name"))
    return found.get("done") is True or (isinstance(name, str) and name.lower() == "done")


def _done_action(found: Mapping[str, Any]) -> ModelAction:
    said = [found[key] for key in _MESSAGE_KEYS if found.get(key) is not None]
    if any(not isinstance(one, str) for one in said):
        raise _Malformed("the final message must be a text")
    return ModelAction("done", None, {"message": said[0] if said else None})


def _tool_action(found: Mapping[str, Any], tool: Any, *, may_be_flat: bool) -> ModelAction:
    if not isinstance(tool, str) or not tool.strip():
        raise _Malformed("`tool` must be the name of a tool")
    given = [key for key in ("args", "tool_args") if key in found]
    if len(given) > 1:
        raise _Malformed("write arguments in `args` or in `tool_args`, not in both")
    beside = {key: value for key, value in found.items() if key not in {"type", "tool", "name", *given}}
    if not given and not may_be_flat:
        raise _Malformed("`args` is missing")
    args = found[given[0]] if given else beside
    if not isinstance(args, dict):
        raise _Malformed(f"`{given[0]}` must be an object")
    if given and beside:
        raise _Malformed(f"{next(iter(beside))[:60]!r} is next to `{given[0]}`; write arguments in it")
    return ModelAction("tool", tool, args)


_TYPES: Mapping[str, type] = {"a text": str, "a list": list, "an object": dict}
_ACTION_FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "execute_code": {"language": ("a text", True), "code": ("a text", True)},
    "patch": {"diff": ("a text", True)},
    "update_plan": {"plan_text": ("a text", False), "items": ("a list", False)},
    "enter_plan_mode": {"reason": ("a text", False)},
    "finalize_task": {"packet": ("an object", True)},
}
"""The fields of each action that is no tool call, each with its type and whether it is required."""


def _argument_fields(found: Mapping[str, Any], kind: str) -> dict[str, Any]:
    form = _ACTION_FIELDS[kind]
    for key in found:
        if key != "type" and key not in form:
            raise _Malformed(f"`{kind}` has no field {key[:60]!r}")
    fields: dict[str, Any] = {}
    for key, (named, is_needed) in form.items():
        value = found.get(key)
        if value is None and is_needed:
            raise _Malformed(f"`{key}` of `{kind}` is missing")
        if value is not None and not isinstance(value, _TYPES[named]):
            raise _Malformed(f"`{key}` of `{kind}` must be {named}")
        fields[key] = [] if value is None and named == "a list" else value
    if kind == "finalize_task" and not isinstance(fields["packet"].get("title"), str):
        raise _Malformed("`packet` of `finalize_task` must have a `title`")
    return fields
