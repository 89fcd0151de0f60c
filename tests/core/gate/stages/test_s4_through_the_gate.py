"""Stage 4 through a toolbox: what rules allow by its letters is looked at in the world; in which modes, and for whom."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.core.gate.conftest import MakeToolbox, spec_of, spec_with_runtime

from toolcharter.api.call import Invocation
from toolcharter.api.tool import ToolSpec

SECRET = "'link' leads out of the workspace."


def shell() -> ToolSpec[Any]:
    def bash(command: str) -> str:
        return command

    return spec_of(bash, kind="bash", invocation=lambda args: Invocation(commands=(args["command"],)))


@pytest.fixture(autouse=True)
def _space(tmp_path: Path) -> None:
    """A workspace with a link that leads out."""
    (tmp_path / "a").write_text("a")
    (tmp_path / "link").symlink_to("/etc/passwd")


@pytest.mark.parametrize("command", ["cat link", "cat l*k", 'for f in l*; do cat "$f"; done', "sh -c 'cat link'"])
def test_a_link_is_judged_by_where_it_leads(
    make_toolbox: MakeToolbox, events: list[dict[str, Any]], command: str
) -> None:
    """A denial of the guard, before the body: in a call as in a dry run, with the events of a denial."""
    toolbox = make_toolbox(shell(), allow=["bash:cat *", "bash:ls", "bash:sh *"])

    result = toolbox.call("bash", {"command": command})
    decision = toolbox.decide("bash", {"command": command})

    assert (result.outcome, result.reason, result.message) == ("denied", "path_outside_workspace", SECRET)
    assert (decision.outcome, decision.stage, decision.reason) == ("deny", "guard", "path_outside_workspace")
    names = ["hook.tool.before", "hook.policy.before", "hook.policy.deny", "hook.tool.after"]
    assert [event["event"] for event in events] == names
    assert events[-1]["stage"] == "guard"


def test_the_world_is_looked_at_for_each_call(make_toolbox: MakeToolbox, tmp_path: Path) -> None:
    """The decision by letters is remembered; where a path leads is not."""
    toolbox = make_toolbox(shell(), allow=["bash:cat *"])
    first = toolbox.call("bash", {"command": "cat a"}).outcome
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("/etc/passwd")

    assert (first, toolbox.call("bash", {"command": "cat a"}).reason) == ("ok", "path_outside_workspace")


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        ({"allow": ["bash:cat *"]}, "deny"),
        ({"allow": ["bash:cat *"], "mode": "restrict"}, "deny"),
        ({"allow": ["bash:cat *"], "mode": "ask"}, "deny"),
        ({"mode": "ask"}, "ask"),
        ({"allow": ["bash:cat *", "bash:*"]}, "allow"),
        ({"allow": ["bash"]}, "allow"),
        ({"mode": "dangerous"}, "allow"),
        ({"mode": "dangerous", "allow": ["bash:cat *"]}, "allow"),
    ],
)
def test_only_what_a_rule_allows_by_its_letters_is_confined(
    make_toolbox: MakeToolbox, settings: dict[str, Any], outcome: str
) -> None:
    """`bash:*`, a person and the mode dangerous allow a command as it is."""
    toolbox = make_toolbox(shell(), **settings)

    assert toolbox.decide("bash", {"command": "cat link"}).outcome == outcome


@pytest.mark.needs_program("git")
def test_a_repository_is_looked_at(make_toolbox: MakeToolbox, tmp_path: Path) -> None:
    """Before git runs in it."""
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    toolbox = make_toolbox(shell(), allow=["bash:git status"])
    plain = toolbox.decide("bash", {"command": "git status"})
    subprocess.run(["git", "config", "filter.x.clean", "touch pwned"], cwd=tmp_path, check=True)

    decision = toolbox.decide("bash", {"command": "git status"})

    assert (plain.outcome, decision.stage, decision.reason) == ("allow", "guard", "protected_path")


def test_explain_tells_of_the_world(make_toolbox: MakeToolbox) -> None:
    """Each command with the paths that it looks at, and the guard as what decides."""
    found = make_toolbox(shell(), allow=["bash:cat *"]).explain("bash", {"command": "cat link"})

    note, guard = found.parse[0], next(step for step in found.steps if step.stage == "guard")
    assert (note.form, note.confined, note.said, note.decides) == (
        "cat link",
        ("link",),
        "covered by 'bash:cat *' at p.yaml:1:5",
        False,
    )
    assert guard.decides
    assert guard.looked_at == "where the paths and programs of the commands lead; session guards: none"


@pytest.mark.parametrize(
    ("kind", "runner", "expected"),
    [
        ("builtin", None, ("host", False, "ok")),
        ("builtin", "host", ("host", False, "ok")),
        ("bash", "host", ("host", False, "ok")),
        ("bash", None, ("", False, "denied")),
        ("cli", None, ("", False, "denied")),
    ],
)
def test_a_tool_knows_where_its_programs_run(
    make_toolbox: MakeToolbox, kind: Any, runner: str | None, expected: tuple[str, bool, str]
) -> None:
    """Nowhere, if nothing bounds what they are and the profile names no runner."""
    seen: list[Any] = []

    def probe(rt: Any) -> Any:
        def run() -> str:
            seen.extend((rt.runner, rt.is_sandboxed))
            return str(rt.run(["echo", "hi"]).stdout)

        return run

    toolbox = make_toolbox(spec_with_runtime(probe, kind=kind), mode="dangerous", runner=runner)

    result = toolbox.call("probe", {})

    assert (*seen, result.outcome) == expected
    assert result.reason == (None if result.outcome == "ok" else "sandbox_unavailable")


def test_a_runner_goes_with_its_toolbox(make_toolbox: MakeToolbox) -> None:
    """What a tool has spawned ends when the toolbox closes."""
    running: list[Any] = []

    def probe(rt: Any) -> Any:
        def run() -> str:
            running.append(rt.spawn(["sleep", "60"]))
            return "started"

        return run

    toolbox = make_toolbox(spec_with_runtime(probe, kind="bash"), mode="dangerous", runner="host")
    result = toolbox.call("probe", {})
    goes_on = running[0].exit_code
    toolbox.close()

    assert (result.outcome, goes_on) == ("ok", None)
    assert running[0].wait(60) is not None
