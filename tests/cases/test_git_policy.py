"""What sample set 003 does with git, row by row, against real repositories."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.samples import row_params, sample_rows

from toolcharter import ConfigurationError, Toolbox, ToolResult, build_tools

# Rows that the design decides otherwise, each with the sentence that does and what happens instead.
SUPERSEDED = {
    "003-git-policy-047": (
        "error",
        "invalid_since_format",
        "design, section 7: malformed is error, forbidden is denied.",
    ),
    "003-git-policy-054": (
        "error",
        "invalid_since_format",
        "design, section 7: malformed is error, forbidden is denied.",
    ),
    "003-git-policy-176": ("denied", "remote_not_allowed", "design, section 3: defaults let the least through."),
}

# The row's call is answered as the row says; its policy names an action that there is not, and that stops the start.
CLOSED = "003-git-policy-022"

# The source's positional arguments, by our names.
ARGUMENTS = {
    "log": ("ref", "max_count"),
    "show": ("ref",),
    "rev_parse": ("ref",),
    "diff": ("ref", "head_ref"),
    "diff_since": ("since",),
    "create_branch": ("branch",),
    "checkout": ("branch",),
    "commit": ("message",),
    "push": ("remote", "branch"),
}
OUTCOMES = {"ok": "ok", "deny": "denied", "error": "error"}


def rows(name: str = "003-git-policy") -> list[dict[str, Any]]:
    return sample_rows(f"seeds/{name}")


def wanted(row: dict[str, Any]) -> dict[str, Any]:
    unified = row.get("unified", {})
    kept = {key: value for key, value in row["expect"].items() if not (key == "not_reason" and "reason" in unified)}
    return {**kept, **unified}


def params(chosen: Callable[[dict[str, Any]], bool]) -> list[Any]:
    return row_params([row for row in rows() if chosen(row)])


def is_call(row: dict[str, Any]) -> bool:
    return "repo" in row["input"]


def git(folder: Path, *args: str) -> str:
    environment = {"PATH": os.defpath, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    argv = ["git", *identity, *args]
    return subprocess.run(argv, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def make_repository(folder: Path, facts: dict[str, Any]) -> None:
    if not facts.get("repo", True):
        return
    git(folder, "init", "-q", "-b", "main")
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("print()\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "First")
    for branch in ("feature/x", "agent/main", facts.get("branch", "main")):
        if branch != "main":
            git(folder, "branch", "-f", branch)
    git(folder, "checkout", "-q", *(["--detach"] if facts.get("detached") else [facts.get("branch", "main")]))
    if not facts.get("clean", True):
        (folder / "src" / "a.py").write_text("changed\n")


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Callable[[dict[str, Any]], Toolbox]]:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    with ExitStack() as stack:

        def build(tools: dict[str, Any]) -> Toolbox:
            profile = tmp_path / "profile.yaml"
            profile.write_text(json.dumps({"profile": "cases", "tools": tools}))
            return stack.enter_context(build_tools(profile, workspace=workspace, events=[lambda _: None]))

        yield build


def use(row: dict[str, Any], folder: Path, build: Callable[[dict[str, Any]], Toolbox]) -> ToolResult:
    make_repository(folder, row["input"]["repo"])
    action, *rest = row["input"]["args"]
    # The source's tool trims and lowers; its own names tell what each argument is.
    named = dict(zip(ARGUMENTS.get(action.strip().lower(), ()), rest, strict=False))
    return build({"git": row["input"]["policy"]}).call("git", {"action": action, **named})


@pytest.mark.parametrize("row", params(lambda row: is_call(row) and row["id"] not in {*SUPERSEDED, CLOSED}))
def test_a_call_comes_out_as_the_source_or_the_unified_design_says(row: dict[str, Any], tmp_path: Path, build) -> None:
    """Outcome, reason, text and what git is asked for."""
    result = use(row, tmp_path / "ws", build)

    expected = wanted(row)
    if "outcome" in expected:
        assert result.outcome == OUTCOMES[expected["outcome"]], result
    if "reason" in expected:
        assert result.reason == expected["reason"]
    if "not_reason" in expected:
        assert result.reason != expected["not_reason"]
    if "message" in row["expect"]:
        assert result.text == row["expect"]["message"]
    if "current_branch" in expected:
        assert repr(expected["current_branch"]) in str(result.message)
    if "branch" in expected:
        assert git(tmp_path / "ws", "branch", "--show-current") == expected["branch"]
    if "git_args" in expected and "outcome" not in expected:
        assert (result.outcome, result.data) == ("ok", {"branch": expected["git_args"][-1]})


@pytest.mark.parametrize("row", params(lambda row: row["id"] in SUPERSEDED))
def test_a_row_that_the_design_supersedes(row: dict[str, Any], tmp_path: Path, build) -> None:
    """What happens instead of the row's expectation is as certain."""
    outcome, reason, _ = SUPERSEDED[row["id"]]

    result = use(row, tmp_path / "ws", build)

    assert (result.outcome, result.reason) == (outcome, reason)


@pytest.mark.parametrize("row", params(lambda row: row["id"] == CLOSED))
def test_an_action_that_there_is_not_stops_the_start_and_fails_a_call(
    row: dict[str, Any], tmp_path: Path, build
) -> None:
    """A typing error in a policy is a fault of the profile; one in a call is the row's error, whatever is allowed."""
    with pytest.raises(ConfigurationError, match=r"tools\.git\.allowed_actions\.0: expected one of 'status'"):
        build({"git": row["input"]["policy"]})

    result = use({**row, "input": {**row["input"], "policy": {}}}, tmp_path / "ws", build)

    assert (result.outcome, result.reason, result.text) == (
        row["expect"]["outcome"],
        row["expect"]["reason"],
        row["expect"]["message"],
    )


@pytest.mark.parametrize("row", params(lambda row: "message_contains" in row["expect"]))
def test_a_denial_does_not_dump_the_policy(row: dict[str, Any], tmp_path: Path, build) -> None:
    """The model reads the reason and a hint."""
    result = use(row, tmp_path / "ws", build)

    assert result.text.splitlines()[0] == "ERROR: denied_by_policy reason=action_not_allowed"
    assert "allow_push" not in result.text


@pytest.mark.parametrize("row", params(lambda row: "raises" in row["expect"]))
def test_a_bad_policy_names_its_field(row: dict[str, Any], build) -> None:
    """The profile is refused where it stands, before anything is built."""
    with pytest.raises(ConfigurationError, match=r"tools\.git\.(allowed_)?ref_pattern"):
        build({"git": row["input"]["policy"]})


@pytest.mark.parametrize("row", params(lambda row: "unified" in row["expect"]))
def test_context_lines_are_clamped(row: dict[str, Any], tmp_path: Path, build) -> None:
    """A number out of range means the nearest one within."""
    make_repository(tmp_path / "ws", {})
    (tmp_path / "ws" / "src" / "a.py").write_text("print()\nmore\n")

    result = build({"git": row["input"]["policy"]}).call("git", {"action": "diff"})

    assert row["expect"]["unified"] == 0
    assert "@@ -1,0 +2 @@" in result.text


def test_every_row_is_covered() -> None:
    """Each row is a call, a policy that is refused, or the clamped number."""
    others = [row["id"] for row in rows() if not is_call(row)]

    assert others == ["003-git-policy-065", "003-git-policy-105"]


def test_tools_keep_the_order_of_the_profile(build) -> None:
    """Row 003-build-and-logging-005, with our name for `list_dir`."""
    assert list(build({"read_file": {}, "git": {}, "list_files": {}})) == ["read_file", "git", "list_files"]


def test_a_number_given_as_text_is_refused(build) -> None:
    """Row 003-build-and-logging-008; design, section 3: the text "5" is no number."""
    with pytest.raises(ConfigurationError, match=r"tools\.git\.max_files"):
        build({"git": {"max_files": "5"}})
