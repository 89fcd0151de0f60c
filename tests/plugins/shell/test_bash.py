"""`bash`: what a line is given, how long it may take, and what its end becomes."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.rows import each_row

from toolcharter import Tool
from toolcharter_shell import register_tools
from toolcharter_shell.bash import SPEC, BashPolicy
from toolcharter_shell.environment import SYSTEM_PATH

Build = Callable[..., Tool]


def data(**changed: Any) -> dict[str, Any]:
    plain = {"stdout": "", "stderr": "", "exit_code": 0, "signal": None, "timed_out": False, "truncated": False}
    return {**plain, **changed}


def test_a_line_is_run_in_the_workspace(build_tool: Build, workspace: Path) -> None:
    """The line runs where the harness says, in a clean environment."""
    result = build_tool(SPEC)(command="pwd; echo $PATH; echo $HOME")

    printed = f"{workspace}\n{SYSTEM_PATH}\n/nonexistent\n"
    assert (result.outcome, result.text, result.data) == ("ok", printed, data(stdout=printed))


def test_both_streams_are_shown(build_tool: Build) -> None:
    """What went to standard error follows a marker."""
    result = build_tool(SPEC)(cmd="echo out; echo err >&2")

    assert result.text == "out\n\n--- stderr ---\nerr\n"
    assert result.data == data(stdout="out\n", stderr="err\n")


@pytest.mark.parametrize(
    ("command", "message", "code", "signal"),
    [
        pytest.param("echo out; exit 3", "The program ended with status 3.", 3, None, id="status"),
        pytest.param("echo out; kill -KILL $$", "The program ended by SIGKILL.", -9, "SIGKILL", id="signal"),
        pytest.param("echo out; kill -35 $$", "The program ended by SIG35.", -35, "SIG35", id="real-time signal"),
    ],
)
def test_a_failure_is_an_error_with_its_output(
    build_tool: Build, command: str, message: str, code: int, signal: str | None
) -> None:
    """The model reads how it ended and what it printed."""
    result = build_tool(SPEC)(command=command)

    assert (result.outcome, result.reason, result.message, result.exit_code) == ("error", "nonzero_exit", message, code)
    assert result.text == f"ERROR: nonzero_exit\n{message}\nout\n"
    assert result.data == data(stdout="out\n", exit_code=code, signal=signal)


def test_a_failure_without_output_is_told(build_tool: Build) -> None:
    """No line is left empty where nothing was printed."""
    assert build_tool(SPEC)(command="false").text == "ERROR: nonzero_exit\nThe program ended with status 1."


def test_silence_is_told(build_tool: Build) -> None:
    """A model is not left with an empty text."""
    result = build_tool(SPEC)(command="true")

    assert (result.text, result.exit_code) == ("The program ended with status 0 and printed nothing.", 0)


@pytest.mark.parametrize("command", ["", "  ", "\t\n"])
def test_an_empty_line_is_malformed(build_tool: Build, command: str) -> None:
    """There is nothing to run."""
    result = build_tool(SPEC)(command=command)

    assert (result.outcome, result.reason) == ("error", "invalid_arguments")


@pytest.mark.parametrize("command", ["-x", "--version", "-c ls", "-i"])
def test_a_line_that_begins_with_a_dash_is_no_option(build_tool: Build, command: str) -> None:
    """The shell takes the line for a command, as the guard did."""
    result = build_tool(SPEC)(command=command)

    assert (result.reason, result.exit_code) == ("nonzero_exit", 127)
    assert "command not found" in result.data["stderr"]


def test_bytes_that_are_no_text_are_replaced(build_tool: Build) -> None:
    """Output is text, whatever a program prints."""
    assert build_tool(SPEC)(command=r"printf '\377'").text == "\ufffd"


def test_a_line_over_its_time_is_ended_with_all_that_it_started(build_tool: Build, workspace: Path) -> None:
    """What was printed so far is returned, and no grandchild goes on."""
    marker = f"86{os.getpid()}"
    line = f"echo early; sh -c '(sleep {marker}; touch late) & sleep {marker}' | cat; echo never"

    # On a busy machine the time may be over before the line has begun.
    for timeout_ms in (300, 3000, 30_000):
        result = build_tool(SPEC)(command=line, timeout_ms=timeout_ms)
        if result.data["stdout"]:
            break

    said = f"ERROR: timed_out\nThe program took longer than {timeout_ms / 1000:g} s and was ended.\nearly\n"
    assert (result.outcome, result.reason, result.retryable, result.text) == ("error", "timed_out", True, said)
    assert (result.data["timed_out"], result.data["stdout"]) == (True, "early\n")
    assert marker not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert not (workspace / "late").exists()


@each_row(
    ("policy", "is_sandboxed", "asked_ms", "seconds"),
    [
        pytest.param({}, False, None, 30, id="default"),
        pytest.param({}, False, 60_000, 60, id="host, at the limit"),
        pytest.param({}, False, 60_001, 60, id="host, past it"),
        pytest.param({}, True, 300_000, 300, id="sandbox, at the limit"),
        pytest.param({}, True, 300_001, 300, id="sandbox, past it"),
        pytest.param({"default_timeout_s": 90.0}, False, None, 60, id="default past the limit"),
        pytest.param({"max_host_timeout_s": 5.0}, False, 6_000, 5, id="the policy's limit"),
    ],
)
def test_the_time_of_a_line_is_limited(
    policy: dict[str, Any],
    is_sandboxed: bool,  # noqa: FBT001 - a column of the table
    asked_ms: int | None,
    seconds: float,
) -> None:
    """A call may ask for more time in a sandbox than on the host."""

    class Runtime:
        deadline = float("inf")

    runtime: Any = Runtime()
    runtime.is_sandboxed = is_sandboxed

    assert BashPolicy.from_profile(policy).timeout_s(runtime, asked_ms) == seconds


def test_a_call_over_its_own_time_still_shows_what_was_printed(build_tool: Build) -> None:
    """The program ends a little before the call does."""
    # On a busy machine the time may be over before the line has begun.
    for timeout_s in (2.0, 10.0, 60.0):
        result = build_tool(SPEC, timeout_s=timeout_s)(command="echo early; sleep 600", timeout_ms=300_000)
        if (result.data or {}).get("stdout"):
            break

    assert (result.reason, result.data["stdout"]) == ("timed_out", "early\n")


def test_output_past_the_limit_is_cut_at_a_line(build_tool: Build) -> None:
    """A line that is cut could hold half a secret, which nobody would recognise."""
    result = build_tool(SPEC, {"max_output_bytes": 10})(
        command="printf 'one\\ntwo\\nthree\\n'; echo 'no line break' >&2"
    )

    assert result.data == data(stdout="one\ntwo\n", stderr="no line br", truncated=True)
    assert result.text.endswith("\n\n[output truncated: the first 10 bytes of each stream]")
    assert result.truncated


def test_input_is_refused_unless_the_policy_lets_calls_give_it(build_tool: Build) -> None:
    """By default no call feeds its programs."""
    result = build_tool(SPEC)(command="cat", stdin="text")

    assert (result.outcome, result.reason) == ("denied", "stdin_not_allowed")


@pytest.mark.parametrize(
    ("stdin", "seen"),
    [
        pytest.param("a\nb\n", "a\nb\n", id="lines"),
        pytest.param("a", "a", id="without a line break"),
        pytest.param("", "", id="empty"),
        pytest.param("$HOME `id` $(id) \\ '\n", "$HOME `id` $(id) \\ '\n", id="nothing is expanded"),
        pytest.param("a\0b", "a\0b", id="NUL"),
    ],
)
def test_input_reaches_the_line_as_it_is(build_tool: Build, stdin: str, seen: str) -> None:
    """The input is text, not shell."""
    result = build_tool(SPEC, {"stdin": True})(command="cat", stdin=stdin)

    assert result.data == data(stdout=seen)


def test_variables_are_those_of_the_policy(build_tool: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the harness's own a program sees what the policy names."""
    monkeypatch.setenv("PASSED", "one")
    monkeypatch.setenv("KEPT", "two")
    policy = {"env_names": ["PASSED", "ABSENT"], "environment": {"FIXED": "three"}}

    result = build_tool(SPEC, policy)(command='echo "$PASSED $KEPT $FIXED ${ABSENT-none}"')

    assert result.text == "one  three none\n"


@each_row("name", ["PATH", "BASH_ENV", "BASH_FUNC_ls", "ENV", "SHELLOPTS", "LD_PRELOAD", "GIT_DIR", "IFS", "PS4"])
@each_row("field", ["env_names", "environment"])
def test_variables_that_change_what_a_line_means_are_refused(field: str, name: str) -> None:
    """The line was judged without them."""
    with pytest.raises(ValidationError, match="would change the meaning of a line"):
        BashPolicy.from_profile({field: [name] if field == "env_names" else {name: "x"}})


@each_row(
    ("policy", "said"),
    [
        pytest.param({"env_names": ["a b"]}, "no name of a variable", id="name"),
        pytest.param({"environment": {"A": "\0"}}, "holds NUL", id="NUL"),
        pytest.param({"allow": ["ls *"]}, "no rule on commands", id="rule"),
        pytest.param({"path": ["bin"]}, "not an absolute path", id="relative folder"),
        pytest.param({"path": ["/a:/b"]}, "not an absolute path", id="two folders"),
    ],
)
def test_what_cannot_be_passed_is_refused(policy: dict[str, Any], said: str) -> None:
    """A profile's mistake stops the start, not a call."""
    with pytest.raises(ValidationError, match=said):
        BashPolicy.from_profile(policy)


def test_programs_of_a_further_folder_are_found_after_the_systems(build_tool: Build, tmp_path: Path) -> None:
    """A folder of programs adds some and replaces none."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("greet", "ls"):
        (folder / name).write_text("#!/bin/sh\necho hello\n")
        (folder / name).chmod(0o755)

    result = build_tool(SPEC, {"path": [str(folder)]})(command="greet; ls")

    assert result.text == "hello\n"


def test_a_folder_of_programs_in_the_workspace_is_denied(build_tool: Build, workspace: Path, tmp_path: Path) -> None:
    """Whoever writes to the workspace would choose what its programs do; a link is judged by where it leads."""
    (tmp_path / "link").symlink_to(workspace)

    result = build_tool(SPEC, {"path": [str(tmp_path / "link")]})(command="ls")

    assert (result.outcome, result.reason) == ("denied", "protected_path")


def test_limits_hold(build_tool: Build) -> None:
    """A program gets no more memory than the policy says."""
    tool = build_tool(SPEC, {"max_memory_bytes": 200_000_000})

    result = tool(command="python3 -c 'x = bytearray(400_000_000)'")

    assert "MemoryError" in result.data["stderr"]


def test_rules_of_the_policy_are_on_commands() -> None:
    """In the language of the profile."""
    assert BashPolicy.from_profile({"allow": ["bash:ls *", "BASH:git log"]}).allow == ("bash:ls *", "BASH:git log")


def test_the_spec_says_what_the_tool_is() -> None:
    """The names by which agents know it, and that its arguments are programs."""
    assert (SPEC.name, SPEC.kind, SPEC.safety, SPEC.staged) == ("bash", "bash", "high", True)
    assert SPEC.aliases == ("exec", "tool_exec")
    assert SPEC.argument_aliases == {"cmd": "command"}


def test_the_distribution_has_two_tools() -> None:
    """Under the names that its entry points have."""
    assert [spec.name for spec in register_tools()] == ["bash", "execute_code"]
