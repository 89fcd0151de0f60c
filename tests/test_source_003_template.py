"""The template of sample set 003 works as it stands but for its import lines, with Strands' `@tool` and without.

`SHAPE` is the template without its comments.
Strands itself is met in an environment of its own, `.venvs/strands`, where the plugin for it is tested, too.
"""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from environment import ROOT, prepare_host
from toolcharter.testing import toolbox_of

SHAPE = """
from pathlib import Path
from strands.tools import tool

from .core import ToolPolicy, ToolRuntime, ToolSpec


class ExamplePolicy(ToolPolicy):
    allowed_actions: list[str] = ["read"]
    max_output_chars: int = 5000


def tool_constructor(repo_root: Path, policy: ToolPolicy, rt: ToolRuntime):
    assert isinstance(policy, ExamplePolicy)
    allowed = {a.strip().lower() for a in policy.allowed_actions if a.strip()}

    @tool
    def example(action: str, arg1: str = "") -> str:
        action = (action or "").strip().lower()
        ctx = rt.start("example", action=action, arg1=arg1)
        ctx.policy_before()
        if action not in allowed:
            return ctx.deny("action_not_allowed")
        try:
            out = f"example output for {arg1}"
        except Exception as e:
            return ctx.error(f"ERROR: {e}", reason="unexpected_failure")
        if len(out) > policy.max_output_chars:
            out = out[: policy.max_output_chars]
        return ctx.ok(out)

    return example


SPEC = ToolSpec("example", ExamplePolicy, tool_constructor)
"""

FAILING = SHAPE.replace('f"example output for {arg1}"', "1 / 0")

CORE = "from toolcharter import ToolPolicy, ToolRuntime, ToolSpec"
IMPORTS = {
    "plain": {"from strands.tools import tool": "from builtins import staticmethod as tool", "from .core import": CORE},
    "strands": {"from strands.tools import tool": "from strands import tool", "from .core import": CORE},
    "strands.tools": {"from .core import": CORE},
}
"""What stands instead of an import line that begins so. `staticmethod` wraps a function and sets `__wrapped__` too."""


def with_imports(template: str, kind: str) -> str:
    """*template* with nothing but its import lines changed."""
    lines = template.splitlines()
    for start, new in IMPORTS[kind].items():
        (place,) = (number for number, line in enumerate(lines) if line.startswith(start))
        lines[place] = new
    return "\n".join(lines) + "\n"


def spec_in(template: str) -> Any:
    names: dict[str, Any] = {"__name__": "example_tool"}
    exec(compile(with_imports(template, "plain"), "example_tool.py", "exec"), names)
    return names["SPEC"]


BEFORE = ["hook.tool.before", "hook.policy.before"]
CALLS: list[tuple[str, dict[str, Any], dict[str, str], tuple[Any, ...], list[str]]] = [
    (
        "allowed",
        {},
        {"action": " READ ", "arg1": "x"},
        ("ok", None, "example output for x"),
        [*BEFORE, "hook.tool.after"],
    ),
    (
        "denied",
        {},
        {"action": "write"},
        ("denied", "action_not_allowed", "ERROR: denied_by_policy reason=action_not_allowed"),
        [*BEFORE, "hook.policy.deny", "hook.tool.after"],
    ),
    (
        "by-policy",
        {"allowed_actions": [" Write "], "max_output_chars": 7},
        {"action": "write"},
        ("ok", None, "example"),
        [*BEFORE, "hook.tool.after"],
    ),
    (
        "malformed",
        {},
        {},
        ("error", "invalid_arguments", "ERROR: invalid_arguments\naction: required"),
        ["hook.tool.before", "hook.tool.after"],
    ),
]


@pytest.mark.parametrize(
    ("policy", "args", "outcome", "names"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS]
)
def test_template_through_the_gate(tmp_path: Path, policy, args, outcome, names) -> None:
    """Each way out of the template gives its result and its events, with nothing in it rewritten."""
    events: list[dict[str, Any]] = []
    toolbox = toolbox_of(spec_in(SHAPE), workspace=tmp_path, policies={"example": policy}, events=events.append)

    with toolbox:
        result = toolbox.call("example", args)

    assert (result.outcome, result.reason, result.text) == outcome
    assert [event["event"] for event in events] == names
    assert events[-1]["status"] == ("ok" if result.outcome == "ok" else "error")


def test_template_reports_a_failure(tmp_path: Path) -> None:
    """The template's `except` reaches the caller as an error with its reason."""
    events: list[dict[str, Any]] = []

    with toolbox_of(spec_in(FAILING), workspace=tmp_path, events=events.append) as toolbox:
        result = toolbox.call("example", {"action": "read"})

    assert (result.outcome, result.reason, result.text) == ("error", "unexpected_failure", "ERROR: division by zero")
    assert [event["event"] for event in events] == [*BEFORE, "hook.tool.after"]


# With Strands


@pytest.fixture(scope="session")
def strands_python() -> Path:
    """The Python of the environment in which the plugin for Strands is tested."""
    return prepare_host(ROOT / "plugins" / "strands")


DRIVER = """
import importlib, json, sys, tempfile
from toolcharter.testing import toolbox_of

spec, calls, events = importlib.import_module(sys.argv[1]).SPEC, json.loads(sys.argv[2]), []
for policy, args in calls:
    with toolbox_of(spec, workspace=".", policies={spec.name: policy}, events=events.append) as toolbox:
        tool = toolbox[spec.name]
        result = tool(**args)
        print(json.dumps({
            "outcome": result.outcome, "reason": result.reason, "text": result.text,
            "events": [event["event"] for event in events],
            "description": tool.description, "parameters": tool.parameters,
        }))
    events.clear()
"""


def drive(python: Path, folder: Path, code: str, calls: list[tuple[Any, Any]]) -> list[SimpleNamespace]:
    """Call the tool that *code* specifies through the gate, beside Strands."""
    (folder / "example_tool.py").write_text(code)
    done = subprocess.run(
        [python, "-c", DRIVER, "example_tool", json.dumps(calls)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'core'}{os.pathsep}{folder}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [SimpleNamespace(**json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("kind", ["strands", "strands.tools"])
def test_template_with_strands(kind: str, strands_python: Path, tmp_path: Path) -> None:
    """What Strands' `@tool` has wrapped goes through the gate as the bare function does."""
    answers = drive(strands_python, tmp_path, with_imports(SHAPE, kind), [row[1:3] for row in CALLS])

    found = [((answer.outcome, answer.reason, answer.text), answer.events) for answer in answers]
    assert found == [row[3:] for row in CALLS]


DECORATED = '''
from typing import Annotated

from strands import tool
from toolcharter import ToolPolicy, ToolSpec


def build(workspace, policy, rt):
    {decorator}
    {kind} ship(order: str, count: int = 1) -> str:
        """Ship an order.

        Nothing else.

        Args:
            order: Its number.
            count: How many parcels.
        """
        return rt.start("ship", order=order).ok(f"{{order}} x {{count}}")

    return ship


SPEC = ToolSpec("ship", ToolPolicy, build)
'''
PARAMETERS = {
    "type": "object",
    "additionalProperties": False,
    "required": ["order"],
    "properties": {
        "order": {"type": "string", "description": "Its number."},
        "count": {"type": "integer", "default": 1, "description": "How many parcels."},
    },
}


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize(
    ("decorator", "description"),
    [("@tool", "Ship an order.\n\nNothing else."), ('@tool(description="Send it.")', "Send it.")],
    ids=["bare", "described"],
)
def test_names_and_descriptions_of_a_strands_tool(decorator, description, kind, strands_python, tmp_path) -> None:
    """The schema that the model is shown comes from below the decorator, or from what the decorator was told."""
    code = DECORATED.format(decorator=decorator, kind=kind)

    (answer,) = drive(strands_python, tmp_path, code, [({}, {"order": "7", "count": 2})])

    assert (answer.outcome, answer.text, answer.events) == ("ok", "7 x 2", [*BEFORE, "hook.tool.after"])
    assert (answer.description, answer.parameters) == (description, PARAMETERS)
